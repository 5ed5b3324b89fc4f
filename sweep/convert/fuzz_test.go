package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

// holds checks what must be true of any body: it is refused with stage, reason and remedy, or
// it is a document that comes back the same from both encodings.
func holds(t *testing.T, body []byte) {
	d, err := Document(body)
	if err != nil {
		var r *Refusal
		if !errors.As(err, &r) || r.Stage == "" || r.Text == "" || r.Remedy == "" || r.Offset < NoOffset {
			t.Fatalf("refused with %#v", err)
		}
		return
	}
	again, err := Document(encodeJSON(t, d))
	if err != nil {
		t.Fatalf("accepted once, refused when written again: %v", err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Fatalf("written as JSON and read again (-first +second):\n%s", diff)
	}
	if _, err := Results(d, identity); err != nil {
		t.Fatalf("no results from a document that was accepted: %v", err)
	}
	if !xmlCanHold(d) {
		return
	}
	if again, err = Document(encodeXML(t, d)); err != nil {
		t.Fatalf("accepted once, refused when written as XML: %v", err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Fatalf("written as XML and read again (-first +second):\n%s", diff)
	}
}

// xmlCanHold says whether the document's texts have only characters that XML 1.0 has.
func xmlCanHold(d *wire.Document) bool {
	b, err := xml.Marshal(d)
	return err == nil && !bytes.ContainsRune(b, '\uFFFD')
}

// seeds are documents, what is nearly one, and what is refused and begins as the target's documents do.
func seeds(t testing.TB, begins string, bodies ...[]byte) [][]byte {
	t.Helper()
	refusals := refused(t)
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		if b := refusals[name].body; len(b) < 1<<14 && bytes.HasPrefix(b, []byte(begins)) {
			bodies = append(bodies, b)
		}
	}
	return bodies
}

func jsonSeeds(t testing.TB) [][]byte {
	return seeds(t, "{", golden(t, "v1.json"), golden(t, "v1-kinds.json"), golden(t, "v1-bulk.json"), []byte(`{"version":1}`))
}

func xmlSeeds(t testing.TB) [][]byte {
	return seeds(t, "<", golden(t, "v1.xml"), golden(t, "v1-kinds.xml"), golden(t, "v1-bulk.xml"), []byte(`<isochrone_document version="1"/>`))
}

func gzipSeeds(t testing.TB) [][]byte {
	return seeds(t, string(gzipMagic), pack(t, golden(t, "v1.json")), pack(t, golden(t, "v1.xml")), pack(t, golden(t, "v1-bulk.json")), pack(t, nil))
}

func TestTheFuzzTargetsHaveTheirSeeds(t *testing.T) {
	for _, c := range []struct {
		target         string
		seeds          [][]byte
		want, accepted int
	}{{"FuzzJSON", jsonSeeds(t), 36, 3}, {"FuzzXML", xmlSeeds(t), 33, 3}, {"FuzzGzip", gzipSeeds(t), 9, 3}} {
		accepted := 0
		for _, b := range c.seeds {
			if _, err := Document(b); err == nil {
				accepted++
			}
		}
		if len(c.seeds) != c.want || accepted != c.accepted {
			t.Errorf("%s: %d seeds, of which %d are documents; want %d and %d", c.target, len(c.seeds), accepted, c.want, c.accepted)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, b := range jsonSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(holds)
}

func FuzzXML(f *testing.F) {
	for _, b := range xmlSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(holds)
}

func FuzzGzip(f *testing.F) {
	for _, b := range gzipSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(holds)
}
