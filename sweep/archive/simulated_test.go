package archive

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The mark of simulated runs is in the footers of raw files, and of the lake's that are made of them, also
// when they are made again of the lake's own rows; files of measured runs are byte for byte without it.
func TestTheLakeKeepsTheMarkOfSimulatedRuns(t *testing.T) {
	measured := resultsAt(slot0, 20)
	made := resultsAt(slot0, 20)
	for i := range made {
		made[i].Provenance.Simulated = true
	}
	plain, _ := encode(t, measured)
	marked, _ := encode(t, made)
	raw := func(body []byte) *SampleFile {
		f, err := OpenRawSamples(bytes.NewReader(body), int64(len(body)))
		must(t, err)
		return f
	}
	if raw(plain).Simulated || !raw(marked).Simulated || bytes.Contains(plain, []byte(MetaSimulated)) {
		t.Error("the raw file's mark is wrong")
	}
	const id = "1020_0123456789abcdef0123456789abcdef"
	one := NewSampleMerge("tcp-64", t.TempDir())
	addRaw(t, one, id, marked)
	first := lakeOf(t, one)
	f := openLake(t, first)
	if !f.Simulated || !f.Inputs[0].Simulated {
		t.Errorf("lake file: simulated %v, inputs %+v", f.Simulated, f.Inputs)
	}
	again := NewSampleMerge("tcp-64", t.TempDir())
	must(t, again.Keep(f, f.Inputs))
	if second := lakeOf(t, again); !bytes.Equal(second, first) {
		t.Error("made again of its own rows, the lake file is another")
	}
	other := NewSampleMerge("tcp-64", t.TempDir())
	addRaw(t, other, id, plain)
	if body := lakeOf(t, other); openLake(t, body).Simulated || bytes.Contains(body, []byte("simulated")) {
		t.Error("a lake file of measured runs says simulated")
	}
}

// Who reads the lake with another tool finds the mark by its name.
func TestTheFooterNamesTheMark(t *testing.T) {
	rs := resultsAt(slot0, 3)
	rs[0].Provenance.Simulated = true
	body, _ := encode(t, rs)
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	must(t, err)
	if v, ok := file.Lookup("isochrone.simulated"); !ok || v != "true" {
		t.Errorf("isochrone.simulated is %q, %v", v, ok)
	}
	if runs, _ := file.Lookup(MetaRuns); !strings.Contains(runs, "westeurope") {
		t.Errorf("runs are %q", runs)
	}
}
