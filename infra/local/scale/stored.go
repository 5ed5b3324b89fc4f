package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/infra/local/bare"
	"isochrone/infra/local/simulated"
	"isochrone/sweep/archive"
	"isochrone/sweep/ledger"
)

// stored is what a sweep left in storage, in bytes.
type stored struct {
	tables map[string]int64 // by the first part of the table's name, as the service counts a row
	blobs  map[string]int64 // by container and first folder
}

// grown are the names of what grows with every sweep; the rest is replaced.
var grown = map[string]bool{"runs": true, "sweeps": true, "raw/documents": true, "raw/samples": true, "assignments/_sweeps": true}

// check counts what is stored: everything that was planned, nothing else, and the ledger says so.
func (o *round) check(ctx context.Context, r *rig, deliveries []simulated.Delivery) error {
	header, entries, _, err := r.rows.Sweep(ctx, r.slot)
	if err != nil {
		return err
	}
	runs := 0
	for _, e := range entries {
		if e.State == ledger.Received {
			runs += e.Runs
		}
	}
	rows, err := r.table(ctx, "runs")
	if err != nil {
		return err
	}
	latest, err := r.table(ctx, "latest")
	if err != nil {
		return err
	}
	documents, samples, quarantined := 0, 0, 0
	for _, c := range []struct {
		of archive.Kind
		n  *int
	}{{archive.Documents, &documents}, {archive.Samples, &samples}, {archive.Quarantined, &quarantined}} {
		for _, err := range r.blobs.Blobs(ctx, c.of, time.Time{}) {
			if err != nil {
				return err
			}
			*c.n++
		}
	}
	waiting, err := r.blobs.InboxSize(ctx)
	var faults []error
	for _, c := range []struct {
		what      string
		is, wants int
	}{
		{"assignments in the ledger", len(entries), o.assignments}, {"runs that the ledger has as received", runs, o.runs},
		{"planned runs", len(r.probers) * (len(r.probers) - 1) * 6, o.runs}, {"rows", rows.Count(), o.runs}, {"newest runs", latest.Count(), o.runs},
		{"documents delivered", len(deliveries), o.assignments}, {"documents stored", documents, o.assignments}, {"sample files", samples, o.assignments},
		{"documents in the inbox", waiting, 0}, {"documents in quarantine", quarantined, 0},
	} {
		if c.is != c.wants {
			faults = append(faults, fmt.Errorf("%s: %d, want %d", c.what, c.is, c.wants))
		}
	}
	if header.State != ledger.Complete {
		faults = append(faults, fmt.Errorf("the sweep is %q in the ledger, want %q", header.State, ledger.Complete))
	}
	if err := errors.Join(append(faults, err)...); err != nil {
		return fmt.Errorf("counting what is stored: %w\n%s", err, r.watch.told())
	}
	return nil
}

// periods are what the names of the tables that have a period end in.
var periods = map[string]string{"runs": "200601", "sweeps": "200601", "hours": "2006"}

// table reads a table. Those that only ingesting writes are read once.
func (r *rig) table(ctx context.Context, kind string) (bare.Rows, error) {
	if rows, ok := r.read[kind]; ok {
		return rows, nil
	}
	service, err := aztables.NewServiceClientFromConnectionString(r.server.Account().ConnectionString, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the tables: %w", err)
	}
	name := kind + environment
	if form, ok := periods[kind]; ok {
		name += r.slot.Format(form)
	}
	rows, err := bare.ReadRows(ctx, service.NewClient(name))
	if err == nil && (kind == "runs" || kind == "latest") {
		r.read[kind] = rows
	}
	return rows, err
}

// stored adds up what lies in storage.
func (r *rig) stored(ctx context.Context) (out stored, err error) {
	out = stored{tables: map[string]int64{}, blobs: map[string]int64{}}
	for _, kind := range []string{"runs", "latest", "series", "sweeps", "dirty", "probers", "hours", "profiles", "levels", "alerts"} {
		rows, err := r.table(ctx, kind)
		if err != nil {
			return out, err
		}
		for _, partition := range rows {
			for _, row := range partition {
				n, err := rowBytes(row)
				if err != nil {
					return out, err
				}
				out.tables[kind] += n
			}
		}
	}
	client, err := azblob.NewClientFromConnectionString(r.server.Account().ConnectionString, nil)
	if err != nil {
		return out, fmt.Errorf("opening the blobs: %w", err)
	}
	for _, container := range []string{"assignments", "raw", "probers"} {
		for pages := client.NewListBlobsFlatPager(container+"-"+environment, nil); pages.More(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return out, fmt.Errorf("listing %q: %w", container, err)
			}
			for _, b := range page.Segment.BlobItems {
				folder, _, _ := strings.Cut(*b.Name, "/")
				if container != "raw" && folder != "_sweeps" {
					folder = "*" // one a prober
				}
				out.blobs[container+"/"+folder] += *b.Properties.ContentLength
			}
		}
	}
	return out, nil
}

// rowBytes is what the table service counts for a row: 4 bytes, two a character of the keys, and for each
// property 8, two a character of its name, and the value, strings in UTF-16 with 4 for their length.
func rowBytes(row []byte) (int64, error) {
	var m map[string]any
	if err := json.Unmarshal(row, &m); err != nil {
		return 0, fmt.Errorf("measuring a row: %w", err)
	}
	n := int64(4)
	for name, value := range m {
		if strings.HasSuffix(name, "@odata.type") {
			continue
		}
		text, isText := value.(string)
		kind, _ := m[name+"@odata.type"].(string)
		if name == "PartitionKey" || name == "RowKey" {
			n += 2 * int64(len(utf16.Encode([]rune(text))))
			continue
		}
		n += 8 + 2*int64(len(utf16.Encode([]rune(name))))
		switch _, isBool := value.(bool); {
		case kind == "Edm.DateTime" || kind == "Edm.Double" || kind == "Edm.Int64":
			n += 8
		case isText:
			n += 4 + 2*int64(len(utf16.Encode([]rune(text))))
		case isBool:
			n++
		default:
			n += 4 // Edm.Int32
		}
	}
	return n, nil
}
