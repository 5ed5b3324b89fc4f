package archive

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

var update = flag.Bool("update", false, "write the golden files")

func encode(t testing.TB, rs []result.Result) ([]byte, int) {
	t.Helper()
	body, rows, err := EncodeSamples(rs)
	must(t, err)
	return body, rows
}

func TestTheSameSamplesGiveTheSameBytes(t *testing.T) {
	rs := results("test", 700)
	first, n := encode(t, rs)
	if n != 4*700 {
		t.Errorf("%d rows, want %d", n, 4*700)
	}
	slices.Reverse(rs)
	for i := range 3 {
		if again, _ := encode(t, rs); !bytes.Equal(first, again) {
			t.Errorf("encoding %d gives other bytes", i)
		}
	}
	rs[0].Run.Samples.RTTNS[5]++
	if other, _ := encode(t, rs); bytes.Equal(first, other) {
		t.Error("another round trip gives the same bytes")
	}
}

// The footer is what every engine goes by, so it is read as it stands in the file.
func TestTheFooterSaysWhatFormatsPromises(t *testing.T) {
	body, rows := encode(t, results("test", 20_000)) // more than a row group
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	must(t, err)
	meta := file.Metadata()
	if meta.CreatedBy != "isochrone version 1(build samples)" {
		t.Errorf("created by %q", meta.CreatedBy)
	}
	times := map[string]string{}
	for i := range meta.Schema {
		if column := &meta.Schema[i]; column.Name == "time" || column.Name == "slot" {
			physical, _ := column.Type.Get()
			times[column.Name] = physical.String() + " " + column.LogicalType.String()
		}
	}
	const micros = "INT64 TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)"
	if d := cmp.Diff(map[string]string{"time": micros, "slot": micros}, times); d != "" {
		t.Errorf("times (-want +got):\n%s", d)
	}
	if len(meta.RowGroups) != 2 || meta.RowGroups[0].NumRows != maxRowsPerRowGroup || meta.RowGroups[1].NumRows != int64(rows-maxRowsPerRowGroup) {
		t.Errorf("%d row groups of %d rows", len(meta.RowGroups), rows)
	}
	for _, group := range meta.RowGroups {
		var sorting []string
		for _, c := range group.SortingColumns {
			sorting = append(sorting, file.Schema().Columns()[c.ColumnIdx][0])
			if c.Descending {
				t.Error("a column is sorted downwards")
			}
		}
		if d := cmp.Diff([]string{"target", "path", "time"}, sorting); d != "" {
			t.Errorf("sorting (-want +got):\n%s", d)
		}
		for _, c := range group.Columns {
			if c.MetaData.Codec.String() != "ZSTD" {
				t.Errorf("column %v is packed with %s", c.MetaData.PathInSchema, c.MetaData.Codec)
			}
		}
	}
	if v, _ := file.Lookup(MetaVersion); v != "1" {
		t.Errorf("schema version %q", v)
	}
	runs, _ := file.Lookup(MetaRuns)
	want := `["test|westeurope|brazilsouth|public|tcp-64|2026-11-30T10:20:00Z","test|westeurope|eastus|public|tcp-64|2026-11-30T10:20:00Z",` +
		`"test|westeurope|northeurope|public|tcp-64|2026-11-30T10:20:00Z","test|westeurope|southeastasia|public|tcp-64|2026-11-30T10:20:00Z"]`
	if runs != want {
		t.Errorf("runs %s\nwant %s", runs, want)
	}
	golden(t, "testdata/schema.txt", file.Schema().String()+"\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	must(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestSamplesReadBackAsTheyWereMeasured(t *testing.T) {
	s, ctx := newStore(t), background(t)
	rs, id := results(s.environment, 300), idOf(s.environment, "westeurope")
	name, n, err := s.PutSamples(ctx, "westeurope", slot0, id, rs)
	must(t, err)
	if want := s.rawContainer() + "/samples/v=1/src=westeurope/date=2026-11-30/1020_" + id + ".parquet"; name != want || n != 1200 {
		t.Errorf("%q with %d rows, want %q with 1200", name, n, want)
	}
	headers(t, s, name, "application/vnd.apache.parquet")
	again, n, err := s.PutSamples(ctx, "westeurope", slot0, id, rs)
	if err != nil || again != name || n != 1200 {
		t.Errorf("the second time: %q, %d, %v", again, n, err)
	}
	rows, found, err := s.ReadSamples(ctx, name)
	if err != nil || !found || len(rows) != 1200 {
		t.Fatalf("%d rows, %v, %v", len(rows), found, err)
	}
	i := 0
	for _, target := range []string{"brazilsouth", "eastus", "northeurope", "southeastasia"} {
		r := rs[slices.IndexFunc(rs, func(r result.Result) bool { return r.Series.Target == target })]
		start := r.Run.PlannedStart
		if r.Run.Start != nil {
			start = *r.Run.Start
		}
		for j, seq := range r.Run.Samples.Sequence {
			want := Sample{Target: target, Path: "public", Probe: "tcp-64", Slot: slot0, Seq: seq, DueNS: r.Run.Samples.DueNS[j],
				Time:   start.Add(time.Duration(r.Run.Samples.DueNS[j])).Truncate(time.Microsecond),
				SentNS: nullable(r.Run.Samples.SentNS[j]), RTTNS: nullable(r.Run.Samples.RTTNS[j]), ServerNS: nullable(r.Run.Samples.ServerNS[j])}
			if f := string(r.Run.Samples.Failure[j]); f != "" {
				want.Failure = &f
			}
			if d := cmp.Diff(want, rows[i]); d != "" {
				t.Fatalf("row %d (-want +got):\n%s", i, d)
			}
			i++
		}
	}
}

func nullable(v int64) *int64 {
	if v == wire.Null {
		return nil
	}
	return &v
}

func TestColumnsOfDifferentLengthsAreAnErrorAndNoPanic(t *testing.T) {
	for name, spoil := range map[string]func(*wire.Samples){
		"rtt":    func(s *wire.Samples) { s.RTTNS = s.RTTNS[1:] },
		"server": func(s *wire.Samples) { s.ServerNS = s.ServerNS[1:] },
		"failed": func(s *wire.Samples) { s.Failure = append(s.Failure, "") },
	} {
		rs := results("test", 5)
		spoil(&rs[1].Run.Samples)
		if _, _, err := EncodeSamples(rs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWhatIsNoSamplesFileIsAnError(t *testing.T) {
	body, _ := encode(t, results("test", 5))
	other := bytes.ReplaceAll(body, []byte(MetaVersion), bytes.Replace([]byte(MetaVersion), []byte("version"), []byte("Version"), 1))
	for name, b := range map[string][]byte{"empty": nil, "text": []byte("PAR1 not really"), "cut": body[:len(body)/2], "another version": other} {
		if _, err := DecodeSamples(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A damaged file, whatever it says of itself, is an error or is read, and never more.
func FuzzDecodeSamples(f *testing.F) {
	body, _ := encode(f, results("test", 50))
	f.Add(body)
	f.Add(body[:len(body)-9])
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 { // about one in seventy of these makes the library panic
		b := slices.Clone(body)
		for range 3 {
			b[rnd.IntN(len(b))] = byte(rnd.IntN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if rows, err := DecodeSamples(b); err != nil && rows != nil {
			t.Errorf("%d rows and %v", len(rows), err)
		}
	})
}

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

// askDuckDB reads a Parquet file with an engine that is not ours.
func askDuckDB(t *testing.T, body []byte) duck {
	t.Helper()
	root, err := azuritetest.Root()
	must(t, err)
	file := filepath.Join(t.TempDir(), "samples.parquet")
	must(t, os.WriteFile(file, body, 0o600))
	cmd := exec.CommandContext(background(t), "node", "testdata/duckdb.js", filepath.Join(root, "infra/local/node_modules"), file)
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
		"seq BIGINT", "due_ns BIGINT", "sent_ns BIGINT", "rtt_ns BIGINT", "server_ns BIGINT", "forward_ns BIGINT", "reverse_ns BIGINT", "failure VARCHAR"}, types); d != "" {
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
	if got := askDuckDB(t, body); got.Sums.Rows != "0" || len(got.Types) != 13 {
		t.Errorf("%+v", got)
	}
	if rows, err := DecodeSamples(body); err != nil || len(rows) != 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
