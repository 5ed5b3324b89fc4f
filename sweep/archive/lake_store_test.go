package archive

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// The description that stands beside the lake is that of the files in it.
func TestTheLakesSchemaIsThatOfItsFiles(t *testing.T) {
	files := dayFiles(t, 1, 20)
	body := mergeAll(t, files, idsOf(files))
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	must(t, err)
	var said schemaObject
	text, err := LakeSchema()
	must(t, err)
	must(t, json.Unmarshal(text, &said))
	fields := file.Schema().Fields()
	if len(fields) != len(said.Columns) || len(fields) != 2+len(lakeNumbers)+1 {
		t.Fatalf("%d columns, described are %d", len(fields), len(said.Columns))
	}
	var sorted []string
	for _, c := range file.RowGroups()[0].SortingColumns() {
		sorted = append(sorted, strings.Join(c.Path(), "."))
	}
	if d := cmp.Diff(sorted, said.SortedBy); d != "" {
		t.Error(d)
	}
	for i, f := range fields {
		c := said.Columns[i]
		if c.Name != f.Name() || c.Type != f.Type().String() || c.Nullable != f.Optional() || c.About == "" || strings.HasSuffix(c.Name, "_ns") != (c.Unit != nil && *c.Unit == "ns") {
			t.Errorf("column %d is %s %s %v, described as %+v", i, f.Name(), f.Type(), f.Optional(), c)
		}
	}
	if v, _ := file.Lookup(MetaLakeVersion); v != "1" || said.Version != LakeVersion {
		t.Errorf("version %q, described as %d", v, said.Version)
	}
}

// A file of the 13 columns of before is taken in, the other columns null.
func TestAnOlderRawFileIsTakenIn(t *testing.T) {
	body, err := os.ReadFile(olderFile)
	must(t, err)
	older := mergeAll(t, map[string][]byte{"a": body}, []string{"a"})
	newer, _ := encode(t, olderResults())
	want := openLake(t, mergeAll(t, map[string][]byte{"a": newer}, []string{"a"}))
	got := openLake(t, older)
	sum, err := got.Sum()
	must(t, err)
	if wanted, err := want.Sum(); err != nil || sum != wanted || sum.Rows == 0 {
		t.Errorf("%+v, want %+v, %v", sum, wanted, err)
	}
}

func TestTheLakeOnStorage(t *testing.T) {
	s, ctx := newStore(t), background(t)
	d := SourceDay{"westeurope", slot0.Truncate(24 * time.Hour)}
	_, _, err := s.PutSamples(ctx, d.Source, slot0, idOf(s.environment, d.Source), results(s.environment, 50))
	must(t, err)
	days, err := s.RawDays(ctx)
	if diff := cmp.Diff([]SourceDay{d}, days); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	raw, err := s.RawSamples(ctx, d)
	if err != nil || len(raw) != 1 || raw[0].Label != slot0.Format("1504")+"_"+idOf(s.environment, d.Source) || raw[0].MD5 == "" || raw[0].Written.IsZero() {
		t.Fatalf("raw %+v, %v", raw, err)
	}
	body, err := s.ReadRange(ctx, raw[0], 0, raw[0].Size)
	must(t, err)
	if sum := md5.Sum(body); raw[0].MD5 != hex.EncodeToString(sum[:]) {
		t.Errorf("storage says %s: it is %x", raw[0].MD5, sum)
	}
	if part, err := s.ReadRange(ctx, raw[0], 100, 50); err != nil || !bytes.Equal(part, body[100:150]) {
		t.Errorf("a part is %x, %v", part, err)
	}

	// Large enough for several blocks.
	large := bytes.Repeat([]byte("0123456789abcdef"), (2*blockBytes+5000)/16)
	write := func(was string, text []byte) error {
		return s.WriteLake(ctx, d, "tcp-64", was, func(w io.Writer) error {
			for len(text) > 0 {
				n, err := w.Write(text[:min(len(text), 1<<20)])
				if err != nil {
					return err
				}
				text = text[n:]
			}
			return nil
		})
	}
	one := func() LakeBlob {
		t.Helper()
		lake, err := s.LakeSamples(ctx, d)
		must(t, err)
		if len(lake) != 1 || lake[0].Label != "tcp-64" || lake[0].ETag == "" {
			t.Fatalf("lake %+v", lake)
		}
		return lake[0]
	}
	must(t, write("", large))
	first := one()
	if got, err := s.ReadRange(ctx, first, 0, first.Size); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes read back, %v", len(got), err)
	}
	if err := write("", large); !errors.Is(err, ErrChanged) {
		t.Errorf("over one that was not there: %v", err)
	}
	time.Sleep(5 * time.Millisecond) // an ETag of Azurite is a time
	must(t, write(first.ETag, large[:1000]))
	if err := write(first.ETag, large); !errors.Is(err, ErrChanged) {
		t.Errorf("over one that was changed: %v", err)
	}
	if _, err := s.ReadRange(ctx, first, 0, 10); !errors.Is(err, ErrChanged) {
		t.Errorf("reading what was changed: %v", err)
	}
	if is := one(); is.Size != 1000 {
		t.Errorf("%d bytes", is.Size)
	}
	failed := errors.New("no more")
	if err := s.WriteLake(ctx, d, "tcp-64", one().ETag, func(w io.Writer) error { _, _ = w.Write(large); return failed }); !errors.Is(err, failed) || one().Size != 1000 {
		t.Errorf("cut off: %v", err)
	}
	if err := s.DeleteRaw(ctx, one()); !errors.Is(err, ErrRefused) {
		t.Errorf("deleting a lake file: %v", err)
	}
	other := raw[0]
	other.ETag = first.ETag
	if err := s.DeleteRaw(ctx, other); !errors.Is(err, ErrChanged) {
		t.Errorf("deleting another: %v", err)
	}
	must(t, s.DeleteRaw(ctx, raw[0]))
	must(t, s.DeleteRaw(ctx, raw[0]))
	if _, err := s.ReadRange(ctx, raw[0], 0, 10); !errors.Is(err, ErrChanged) {
		t.Errorf("reading what is gone: %v", err)
	}
	if lake, err := s.LakeDays(ctx); err != nil || len(lake) != 1 || lake[0] != d {
		t.Errorf("days %+v, %v", lake, err)
	}
	notesOnStorage(t, s)
}

func notesOnStorage(t *testing.T, s *Store) {
	ctx := background(t)
	if body, etag, err := s.LakeNote(ctx, StatusBlob); err != nil || etag != "" || body != nil {
		t.Errorf("%q %q %v", body, etag, err)
	}
	must(t, s.PutLakeNote(ctx, StatusBlob, []byte("1"), ""))
	if err := s.PutLakeNote(ctx, StatusBlob, []byte("2"), ""); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	body, etag, err := s.LakeNote(ctx, StatusBlob)
	if err != nil || string(body) != "1" {
		t.Errorf("%q %v", body, err)
	}
	must(t, s.PutLakeNote(ctx, StatusBlob, []byte("3"), etag))
	if err := s.PutLakeNote(ctx, "samples/x", []byte("3"), etag); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// Reading by ranges gives what reading whole does, and holds no more than some windows.
func TestAFileIsReadByRanges(t *testing.T) {
	files := dayFiles(t, 8, 400)
	body := mergeAll(t, files, idsOf(files))
	want, err := openLake(t, body).Sum()
	must(t, err)
	for _, window := range []int64{1 << 10, 10_000, FooterBytes} {
		reads := 0
		r := &rangeReader{size: int64(len(body)), bytes: window, read: func(at, n int64) ([]byte, error) { reads++; return bytes.Clone(body[at : at+n]), nil }}
		f, err := OpenLakeSamples(r, r.size)
		must(t, err)
		if sum, err := f.Sum(); err != nil || sum != want || len(r.held) > windows || reads < len(body)/int(window) {
			t.Errorf("windows of %d: %+v, %v; %d windows held, %d reads", window, sum, err, len(r.held), reads)
		}
	}
	broken := &rangeReader{size: int64(len(body)), bytes: 1 << 10, read: func(at, n int64) ([]byte, error) { return body[at : at+n-1], nil }}
	if _, err := OpenLakeSamples(broken, broken.size); err == nil {
		t.Error("short reads are taken")
	}
}
