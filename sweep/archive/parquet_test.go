package archive

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

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
		"client": func(s *wire.Samples) { s.ClientNS = wire.Column{1} },
		"tls":    func(s *wire.Samples) { s.TLSNS = make(wire.Column, 6) },
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

// damaged is a file, its beginning, and n copies with a few octets that are others.
func damaged(body []byte, n int) [][]byte {
	out := [][]byte{body, body[:len(body)-9]}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range n { // about one in seventy of these makes the library panic
		b := slices.Clone(body)
		for range 3 {
			b[rnd.IntN(len(b))] = byte(rnd.IntN(256))
		}
		out = append(out, b)
	}
	return out
}

func sampleSeeds(t testing.TB) [][]byte {
	t.Helper()
	body, _ := encode(t, results("test", 50))
	return damaged(body, 300)
}

func TestTheFuzzTargetsHaveTheirSeeds(t *testing.T) {
	for _, c := range []struct {
		target string
		seeds  [][]byte
		want   int
		read   func([]byte) error
	}{
		{"FuzzDecodeSamples", sampleSeeds(t), 302, func(b []byte) error { _, err := DecodeSamples(b); return err }},
		{"FuzzDecodeIntervals", intervalSeeds(t), 203, func(b []byte) error { _, err := DecodeIntervals(b); return err }},
	} {
		if len(c.seeds) != c.want {
			t.Errorf("%s: %d seeds, want %d", c.target, len(c.seeds), c.want)
		}
		if err := c.read(c.seeds[0]); err != nil {
			t.Errorf("%s: the first seed is to be a file that is read: %v", c.target, err)
		}
		if err := c.read(c.seeds[1]); err == nil {
			t.Errorf("%s: a file without its end was read", c.target)
		}
	}
	samples := intervalSeeds(t)[202]
	if rows, err := DecodeIntervals(samples); err == nil {
		t.Errorf("samples were read as %d intervals", len(rows))
	}
}

// A damaged file, whatever it says of itself, is an error or is read, and never more.
func FuzzDecodeSamples(f *testing.F) {
	for _, b := range sampleSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if rows, err := DecodeSamples(b); err != nil && rows != nil {
			t.Errorf("%d rows and %v", len(rows), err)
		}
	})
}
