package main

import (
	"bytes"
	"context"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestARequestIsOfTheKindItIsChargedAs(t *testing.T) {
	for _, c := range []struct {
		method, url string
		table       bool
		want        kind
	}{
		{"POST", "/account/$batch", true, tableBatch},
		{"POST", "/account/runs", true, tableWrite},
		{"GET", "/account/runs()?$filter=x", true, tableRead},
		{"DELETE", "/account/dirty(PartitionKey='a',RowKey='b')", true, tableDelete},
		{"PUT", "/account/inbox/a.json.gz", false, blobWrite},
		{"GET", "/account/inbox/a.json.gz", false, blobRead},
		{"GET", "/account/inbox?restype=container&comp=list", false, blobList},
		{"PUT", "/account/inbox?restype=container", false, blobList},
		{"DELETE", "/account/inbox/a.json.gz", false, blobDelete},
		{"PUT", "/account/inbox/a.json.gz?comp=metadata", false, blobOther},
		{"HEAD", "/account/inbox/a.json.gz", false, blobOther},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := kindOf(c.method, u, c.table); got != c.want {
			t.Errorf("%s %s is among %s, want %s", c.method, c.url, kindNames[got], kindNames[c.want])
		}
	}
}

func TestARowHasTheBytesThatTheServiceCounts(t *testing.T) {
	row := `{"PartitionKey":"p","RowKey":"row","text":"abc","text2":"ü","when":"2026-11-30T00:00:00Z","when@odata.type":"Edm.DateTime",` +
		`"ratio":0.5,"ratio@odata.type":"Edm.Double","count":7,"yes":true}`
	// 4, keys 2·4; text 8+8+4+6, text2 8+10+4+2, when 8+8+8, ratio 8+10+8, count 8+10+4, yes 8+6+1.
	want := int64(4 + 8 + 26 + 24 + 24 + 26 + 22 + 15)
	if got, err := rowBytes([]byte(row)); err != nil || got != want {
		t.Errorf("%d bytes, %v; want %d", got, err, want)
	}
}

func TestAMonthCostsWhatItsPartsCost(t *testing.T) {
	o := &round{stored: stored{tables: map[string]int64{"runs": gigabyte, "latest": gigabyte, "hours": sweepsAnHour * gigabyte}, blobs: map[string]int64{"raw/documents": gigabyte}}}
	o.ingest.count[blobWrite], o.deliver.in = 10_000, gigabyte
	c := costOf(2, o)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s cost %g, want %g", what, got, want)
		}
	}
	near("the app's requests", c.appRequests, 4320*prices.request[blobWrite])
	near("the rows", c.rows, 4320*2*prices.tableGB) // runs, and a sixth of the hours; newest runs are replaced
	near("the blobs", c.blobs, 4320*prices.blobGB)
	near("data between regions", c.between, 4320*prices.betweenGB)
	near("the probers' requests", c.proberRequests, 2*(518_400*prices.request[blobRead]+86_400*(prices.request[blobRead]+prices.request[blobWrite]))/10_000)
}

// TestASweepOfTwoProbers goes the whole way, and fails where anything is lost.
func TestASweepOfTwoProbers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, complaints bytes.Buffer
	if code := run(ctx, []string{"-sizes", "2", "-rounds", "1", "-count", "10"}, &out, &complaints); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out.String(), complaints.String())
	}
	for _, want := range []string{"2 probers, 2 pairs, 12 runs", "| 2 | ingest |", "BENCH scale_2_lost_or_twice 0 rows 0 ok", "| 2 probers |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-sizes", "1"}, {"-sizes", "4,x"}, {"-sizes", "101"}, {"-rounds", "0"}, {"more"}} {
		var out, complaints bytes.Buffer
		if code := run(t.Context(), args, &out, &complaints); code != 2 || complaints.Len() == 0 {
			t.Errorf("%q: exit %d and %q; want 2, and why", args, code, complaints.String())
		}
	}
}
