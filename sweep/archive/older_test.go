package archive

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// olderFile has the 13 columns of the schema before five were added: see testdata/origin.md.
const olderFile = "testdata/samples-13-columns.parquet"

// olderResults are what olderFile was made from.
func olderResults() []result.Result {
	rs := results("test", 50)
	for i := range rs {
		s := &rs[i].Run.Samples
		for j := range s.RTTNS {
			forward, reverse := wire.Null, wire.Null
			if s.RTTNS[j] != wire.Null && i == 1 {
				forward, reverse = s.RTTNS[j]/2-1_000_000, s.RTTNS[j]/2+1_000_000
			}
			s.ForwardNS, s.ReverseNS = append(s.ForwardNS, forward), append(s.ReverseNS, reverse)
		}
	}
	return rs
}

// The lake keeps what was written before columns were added. They are null there, and all else is
// what it was.
func TestAFileWithoutTheAddedColumnsIsRead(t *testing.T) {
	body, err := os.ReadFile(olderFile)
	must(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	must(t, err)
	if n := len(file.Schema().Columns()); n != 13 {
		t.Fatalf("%s has %d columns", olderFile, n)
	}
	got, err := DecodeSamples(body)
	must(t, err)
	newer, _ := encode(t, olderResults())
	want, err := DecodeSamples(newer)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-today's +older:\n%s", d)
	}
	delays := 0
	for _, row := range got {
		if row.ClientNS != nil || row.DNSNS != nil || row.ConnectNS != nil || row.TLSNS != nil || row.FirstByteNS != nil {
			t.Fatalf("row %+v has what the file has not", row)
		}
		if row.ForwardNS != nil {
			delays++
		}
	}
	if len(got) != 200 || delays == 0 || delays > 50 {
		t.Errorf("%d rows, %d with one-way delays", len(got), delays)
	}
}

// A query of the lake reads older and newer files in one go.
func TestDuckDBReadsOlderAndNewerFilesTogether(t *testing.T) {
	body, err := os.ReadFile(olderFile)
	must(t, err)
	rs := results("test", 10)
	for i := range rs {
		s := &rs[i].Run.Samples
		for j := range s.RTTNS {
			s.ClientNS = append(s.ClientNS, int64(1000+j))
		}
	}
	newer, _ := encode(t, rs)
	var rows, sum, nulls int64
	for _, all := range [][]result.Result{olderResults(), rs} {
		for _, r := range all {
			for _, rtt := range r.Run.Samples.RTTNS {
				rows++
				if rtt == wire.Null {
					nulls++
				} else {
					sum += rtt
				}
			}
		}
	}
	for _, files := range [][][]byte{{body, newer}, {newer, body}} {
		got := askDuckDB(t, files...)
		if s := got.Sums; s.Rows != fmt.Sprint(rows) || s.RTTSum != fmt.Sprint(sum) || s.RTTNulls != fmt.Sprint(nulls) || s.ClientSum != fmt.Sprint(4*(10*1000+45)) {
			t.Errorf("got %+v; want %d rows, round trips of %d, %d null, client times of %d", s, rows, sum, nulls, 4*(10*1000+45))
		}
		if len(got.Types) != 18 {
			t.Errorf("columns %+v", got.Types)
		}
	}
	if got := askDuckDB(t, body); got.Sums.Rows != "200" || got.Sums.ForwardSum == "" {
		t.Errorf("the older file alone: %+v", got.Sums)
	}
}
