package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
)

// duck is what testdata/duckdb.js prints.
type duck struct {
	Sums struct {
		Rows         string `json:"rows"`
		RTTSum       string `json:"rtt_sum"`
		RTTMin       string `json:"rtt_min"`
		RTTMax       string `json:"rtt_max"`
		RTTNulls     string `json:"rtt_nulls"`
		SentNulls    string `json:"sent_nulls"`
		ServerNulls  string `json:"server_nulls"`
		ForwardNulls string `json:"forward_nulls"`
		Failures     string `json:"failures"`
		// The sums of the optional columns; empty where all are null.
		ClientSum    string `json:"client_sum"`
		ForwardSum   string `json:"forward_sum"`
		ReverseSum   string `json:"reverse_sum"`
		DNSSum       string `json:"dns_sum"`
		ConnectSum   string `json:"connect_sum"`
		TLSSum       string `json:"tls_sum"`
		FirstByteSum string `json:"first_byte_sum"`
		DueSum       string `json:"due_sum"`
		TimeMinUS    string `json:"time_min_us"`
		TimeMaxUS    string `json:"time_max_us"`
		TimeType     string `json:"time_type"`
	} `json:"sums"`
	Types []struct {
		Name string `json:"column_name"`
		Type string `json:"column_type"`
	} `json:"types"`
	Groups []struct {
		Rows        string `json:"row_group_num_rows"`
		Compression string `json:"compression"`
	} `json:"groups"`
	Targets []struct {
		Target string `json:"target"`
		N      string `json:"n"`
	} `json:"targets"`
}

// askDuckDB reads Parquet files together with an engine that is not ours.
func askDuckDB(t *testing.T, bodies ...[]byte) duck {
	t.Helper()
	root, err := azuritetest.Root()
	must(t, err)
	args, dir := []string{"testdata/duckdb.js", filepath.Join(root, "infra/local/node_modules")}, t.TempDir()
	for i, body := range bodies {
		file := filepath.Join(dir, fmt.Sprintf("samples-%d.parquet", i))
		must(t, os.WriteFile(file, body, 0o600))
		args = append(args, file)
	}
	cmd := exec.CommandContext(background(t), "node", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("asking DuckDB: %v\n%s", err, stderr.String())
	}
	var d duck
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("reading DuckDB's answer %s: %v", out, err)
	}
	return d
}

func TestDuckDBReadsTheSameNumbers(t *testing.T) {
	s, ctx := newStore(t), background(t)
	rs, id := results(s.environment, 18_000), idOf(s.environment, "westeurope") // two row groups
	name, _, err := s.PutSamples(ctx, "westeurope", slot0, id, rs)
	must(t, err)
	blobName, err := s.rawName(name, samplesFolder)
	must(t, err)
	body, _, _, err := s.get(ctx, s.rawContainer(), blobName, maxSamplesBytes)
	must(t, err)
	got := askDuckDB(t, body)

	var rows, sum, nulls, sentNulls, serverNulls, failures, due int64
	least, most := int64(1<<62), int64(0)
	first, last := time.Unix(1<<40, 0), time.Time{}
	for _, r := range rs {
		start := r.Run.PlannedStart
		if r.Run.Start != nil {
			start = *r.Run.Start
		}
		m := r.Run.Samples
		for i := range m.Len() {
			rows, due = rows+1, due+m.DueNS[i]
			at := start.Add(time.Duration(m.DueNS[i]))
			if at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
			if m.Failure[i] != "" {
				failures++
			}
			if m.SentNS[i] == wire.Null {
				sentNulls++
			}
			if m.ServerNS[i] == wire.Null {
				serverNulls++
			}
			if m.RTTNS[i] == wire.Null {
				nulls++
				continue
			}
			sum, least, most = sum+m.RTTNS[i], min(least, m.RTTNS[i]), max(most, m.RTTNS[i])
		}
	}
	want := got.Sums
	want.Rows, want.RTTSum, want.RTTMin, want.RTTMax = fmt.Sprint(rows), fmt.Sprint(sum), fmt.Sprint(least), fmt.Sprint(most)
	want.RTTNulls, want.SentNulls, want.ServerNulls, want.ForwardNulls = fmt.Sprint(nulls), fmt.Sprint(sentNulls), fmt.Sprint(serverNulls), fmt.Sprint(rows)
	want.Failures, want.DueSum = fmt.Sprint(failures), fmt.Sprint(due)
	want.TimeMinUS, want.TimeMaxUS, want.TimeType = fmt.Sprint(first.UnixMicro()), fmt.Sprint(last.UnixMicro()), "TIMESTAMP WITH TIME ZONE"
	if d := cmp.Diff(want, got.Sums); d != "" {
		t.Errorf("sums (-Go +DuckDB):\n%s", d)
	}
	var types []string
	for _, c := range got.Types {
		types = append(types, c.Name+" "+c.Type)
	}
	if d := cmp.Diff([]string{"target VARCHAR", "path VARCHAR", "time TIMESTAMP WITH TIME ZONE", "probe VARCHAR", "slot TIMESTAMP WITH TIME ZONE",
		"seq BIGINT", "due_ns BIGINT", "sent_ns BIGINT", "rtt_ns BIGINT", "server_ns BIGINT", "forward_ns BIGINT", "reverse_ns BIGINT",
		"client_ns BIGINT", "dns_ns BIGINT", "connect_ns BIGINT", "tls_ns BIGINT", "first_byte_ns BIGINT", "failure VARCHAR"}, types); d != "" {
		t.Errorf("columns (-want +DuckDB):\n%s", d)
	}
	if len(got.Groups) != 2 || got.Groups[0].Rows != fmt.Sprint(maxRowsPerRowGroup) || got.Groups[0].Compression != "ZSTD" {
		t.Errorf("row groups %+v", got.Groups)
	}
	if len(got.Targets) != 4 || got.Targets[0].Target != "brazilsouth" || got.Targets[0].N != "18000" {
		t.Errorf("targets %+v", got.Targets)
	}
}

func TestDuckDBReadsAFileWithoutSamples(t *testing.T) {
	body, n := encode(t, results("test", 0))
	if n != 0 {
		t.Errorf("%d rows", n)
	}
	if got := askDuckDB(t, body); got.Sums.Rows != "0" || len(got.Types) != 18 {
		t.Errorf("%+v", got)
	}
	if rows, err := DecodeSamples(body); err != nil || len(rows) != 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// The optional columns of every kind, half of their entries null, read back as they were measured,
// by us and by an engine that is not ours.
func TestEveryOptionalColumnIsReadBack(t *testing.T) {
	rs := results("test", 50)
	sums := map[string]int64{}
	want := map[string][]*int64{}
	for i := range rs {
		s := &rs[i].Run.Samples
		for j, c := range s.Columns() {
			if !c.Optional {
				continue
			}
			*c.Values = make(wire.Column, s.Len())
			for k := range *c.Values {
				v := wire.Null
				if k%2 == 0 {
					v = int64(j+1)*1_000_000_000 + int64(k)
					if c.Signed {
						v = -v
					}
					sums[c.Name] += v
				}
				(*c.Values)[k] = v
			}
			for _, v := range *c.Values {
				want[c.Name] = append(want[c.Name], nullable(v))
			}
		}
	}
	body, _ := encode(t, rs)
	rows, err := DecodeSamples(body)
	must(t, err)
	got := map[string][]*int64{}
	for _, r := range rows {
		for name, v := range map[string]*int64{"server_ns": r.ServerNS, "forward_ns": r.ForwardNS, "reverse_ns": r.ReverseNS, "client_ns": r.ClientNS,
			"dns_ns": r.DNSNS, "connect_ns": r.ConnectNS, "tls_ns": r.TLSNS, "first_byte_ns": r.FirstByteNS} {
			got[name] = append(got[name], v)
		}
	}
	for name := range want { // the runs of all targets have the same entries, in the order of their samples
		if d := cmp.Diff(want[name], got[name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	duck := askDuckDB(t, body).Sums
	for name, v := range map[string]string{"forward_ns": duck.ForwardSum, "reverse_ns": duck.ReverseSum, "client_ns": duck.ClientSum,
		"dns_ns": duck.DNSSum, "connect_ns": duck.ConnectSum, "tls_ns": duck.TLSSum, "first_byte_ns": duck.FirstByteSum} {
		if v != fmt.Sprint(sums[name]) {
			t.Errorf("%s: DuckDB's sum is %s, ours %d", name, v, sums[name])
		}
	}
}
