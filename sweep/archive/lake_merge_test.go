package archive

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

// dayFiles are raw files of a day, by their IDs.
func dayFiles(t testing.TB, slots, n int) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for i := range slots {
		rs := resultsAt(slot0.Add(time.Duration(i)*10*time.Minute), n+i)
		body, _ := encode(t, rs)
		out[fmt.Sprintf("%s_%s", rs[0].Slot.Format("1504"), wire.AssignmentID("test", rs[0].Slot, "westeurope", "tcp-64", 0))] = body
	}
	return out
}

func resultsAt(slot time.Time, n int) []result.Result {
	rs := results("test", n)
	for i := range rs {
		r := &rs[i]
		by := slot.Sub(r.Slot)
		r.Slot, r.Run.PlannedStart = slot, r.Run.PlannedStart.Add(by)
		if r.Run.Start != nil {
			start := r.Run.Start.Add(by)
			r.Run.Start = &start
		}
	}
	return rs
}

func addRaw(t testing.TB, m *SampleMerge, id string, body []byte) {
	t.Helper()
	f, err := OpenRawSamples(bytes.NewReader(body), int64(len(body)))
	must(t, err)
	sum := md5.Sum(body)
	must(t, m.Add(id, hex.EncodeToString(sum[:]), f))
}

func openLake(t testing.TB, body []byte) *SampleFile {
	t.Helper()
	f, err := OpenLakeSamples(bytes.NewReader(body), int64(len(body)))
	must(t, err)
	return f
}

func lakeOf(t testing.TB, m *SampleMerge) []byte {
	t.Helper()
	var out bytes.Buffer
	must(t, m.Write(&out))
	must(t, m.Close())
	return out.Bytes()
}

func mergeAll(t testing.TB, files map[string][]byte, ids []string) []byte {
	t.Helper()
	m := NewSampleMerge("tcp-64", t.TempDir())
	for _, id := range ids {
		addRaw(t, m, id, files[id])
	}
	return lakeOf(t, m)
}

func idsOf(files map[string][]byte) (out []string) {
	for id := range files {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func TestALakeFileHoldsTheRowsOfItsInputsSorted(t *testing.T) {
	files := dayFiles(t, 20, 1100) // more than one row group
	ids := idsOf(files)
	body := mergeAll(t, files, ids)
	var want []LakeSample
	for _, id := range ids {
		rows, err := DecodeSamples(files[id])
		must(t, err)
		for _, r := range rows {
			want = append(want, LakeSample{r.Target, r.Path, r.Time, r.Slot, r.Seq, r.DueNS, r.SentNS, r.RTTNS, r.ServerNS, r.ForwardNS, r.ReverseNS, r.ClientNS,
				r.DNSNS, r.ConnectNS, r.TLSNS, r.FirstByteNS, r.Failure})
		}
	}
	slices.SortStableFunc(want, func(a, b LakeSample) int {
		if a.Target != b.Target {
			return bytes.Compare([]byte(a.Target), []byte(b.Target))
		}
		return a.Time.Compare(b.Time)
	})
	got, err := parquet.Read[LakeSample](bytes.NewReader(body), int64(len(body)))
	must(t, err)
	for i := range got {
		got[i].Time, got[i].Slot = got[i].Time.UTC(), got[i].Slot.UTC()
	}
	if len(want) < maxRowsPerRowGroup {
		t.Errorf("only %d rows", len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%.3000s", d)
	}
	f := openLake(t, body)
	if len(f.file.RowGroups()) != 2 || f.file.RowGroups()[0].NumRows() != maxRowsPerRowGroup {
		t.Errorf("%d row groups", len(f.file.RowGroups()))
	}
	var inputs SampleSum
	for i, in := range f.Inputs {
		if in.ID != ids[i] {
			t.Errorf("input %d is %q, want %q", i, in.ID, ids[i])
		}
		inputs = inputs.Plus(in.SampleSum)
	}
	if sum, err := f.Sum(); err != nil || sum != inputs || sum.Rows != int64(len(want)) || f.Rows != sum.Rows {
		t.Errorf("sum %+v, %v: inputs %+v", sum, err, inputs)
	}
}

func TestTheSameInputsGiveTheSameLakeFileInWhateverOrder(t *testing.T) {
	files := dayFiles(t, 12, 200)
	ids := idsOf(files)
	want := mergeAll(t, files, ids)
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 3 {
		rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		if !bytes.Equal(want, mergeAll(t, files, ids)) {
			t.Fatal("the bytes depend on the order")
		}
	}
}

// What raw files are gone of stays; what is there again, or anew, takes its place; and the bytes are those
// which all raw files would give.
func TestARewriteKeepsWhatRawFilesAreGone(t *testing.T) {
	files := dayFiles(t, 10, 150)
	ids := idsOf(files)
	old := openLake(t, mergeAll(t, files, ids[:8]))
	changed := resultsAt(slot0, 150) // of the first input, otherwise than it was
	for i := range changed[0].Run.Samples.RTTNS {
		if v := &changed[0].Run.Samples.RTTNS[i]; *v != wire.Null {
			*v += 17
		}
	}
	files[ids[0]], _ = encode(t, changed)
	m := NewSampleMerge("tcp-64", t.TempDir())
	for _, i := range []int{9, 0, 8} {
		addRaw(t, m, ids[i], files[ids[i]])
	}
	must(t, m.Keep(old, old.Inputs[1:]))
	if len(m.Inputs()) != 10 {
		t.Errorf("%d inputs", len(m.Inputs()))
	}
	if !bytes.Equal(mergeAll(t, files, ids), lakeOf(t, m)) {
		t.Error("the file is not what all raw files give")
	}
}

// Rows that are not what the footer says of them are not taken over.
func TestALakeFileThatIsNotAsItsFooterSaysIsNotKept(t *testing.T) {
	files := dayFiles(t, 3, 150)
	old := openLake(t, mergeAll(t, files, idsOf(files)))
	old.Inputs[1].Hash++
	m := NewSampleMerge("tcp-64", t.TempDir())
	if err := m.Keep(old, old.Inputs[:1]); err != nil {
		t.Error(err)
	}
	if err := m.Keep(old, old.Inputs[1:]); err == nil {
		t.Error("it is kept")
	}
	must(t, m.Close())
}

// An assignment that comes again with other runs leaves none of its old ones.
func TestARewriteDropsRunsThatAnInputNoLongerHas(t *testing.T) {
	files := dayFiles(t, 4, 60)
	ids := idsOf(files)
	old := openLake(t, mergeAll(t, files, ids))
	files[ids[2]], _ = encode(t, resultsAt(slot0.Add(20*time.Minute), 62)[1:]) // without northeurope
	m := NewSampleMerge("tcp-64", t.TempDir())
	addRaw(t, m, ids[2], files[ids[2]])
	must(t, m.Keep(old, []LakeInput{old.Inputs[0], old.Inputs[1], old.Inputs[3]}))
	if got := lakeOf(t, m); !bytes.Equal(got, mergeAll(t, files, ids)) || len(openLake(t, got).runs) != 2 {
		t.Error("the file is not what all raw files give")
	}
}

func TestASumSeesWhatIsAltered(t *testing.T) {
	files := dayFiles(t, 2, 50)
	ids := idsOf(files)
	both, err := openLake(t, mergeAll(t, files, ids)).Sum()
	must(t, err)
	one, err := openLake(t, mergeAll(t, files, ids[:1])).Sum()
	must(t, err)
	twice, err := openLake(t, mergeAll(t, map[string][]byte{"a": files[ids[0]], "b": files[ids[0]]}, []string{"a", "b"})).Sum()
	must(t, err)
	if both == one || twice != one.Plus(one) || twice == both || one.Hash == 0 {
		t.Errorf("sums %+v %+v %+v", both, one, twice)
	}
	rs := resultsAt(slot0, 50)
	rs[0].Run.Samples.RTTNS[0], rs[0].Run.Samples.RTTNS[1] = rs[0].Run.Samples.RTTNS[1], rs[0].Run.Samples.RTTNS[0]
	body, _ := encode(t, rs)
	swapped, err := openLake(t, mergeAll(t, map[string][]byte{"a": body}, []string{"a"})).Sum()
	must(t, err)
	if swapped.RTT != one.RTT || swapped.Rows != one.Rows || swapped.Hash == one.Hash {
		t.Errorf("two round trips changed places: %+v, %+v", one, swapped)
	}
}

// More than the memory holds goes through a file, which is gone afterwards, and comes to the same.
func TestAMergeThroughAFileIsTheSame(t *testing.T) {
	files := dayFiles(t, 6, 400)
	ids := idsOf(files)
	m := NewSampleMerge("tcp-64", t.TempDir())
	for i, id := range ids {
		addRaw(t, m, id, files[id])
		if i == 2 {
			must(t, m.spill.toFile())
		}
	}
	name := m.spill.file.Name()
	got := lakeOf(t, m)
	if !bytes.Equal(got, mergeAll(t, files, ids)) {
		t.Error("the bytes differ")
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestADamagedLakeFileIsAnError(t *testing.T) {
	files := dayFiles(t, 2, 300)
	body := mergeAll(t, files, idsOf(files))
	sum, err := openLake(t, body).Sum()
	must(t, err)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		bad := slices.Clone(body)
		for range 1 + rnd.IntN(3) {
			bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
		}
		f, err := OpenLakeSamples(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			continue
		}
		_, _ = f.Sum() // an error or another sum, and no panic
	}
	for _, n := range []int{0, 3, 8, len(body) / 2, len(body) - 1} {
		if _, err := OpenLakeSamples(bytes.NewReader(body[:n]), int64(n)); err == nil {
			t.Errorf("%d bytes are a file", n)
		}
	}
	if sum.Rows == 0 {
		t.Error("no rows")
	}
}
