package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
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

func FuzzJSON(f *testing.F) {
	f.Add(golden(f, "v1.json"))
	f.Add(golden(f, "v1-kinds.json"))
	f.Add(golden(f, "v1-bulk.json"))
	f.Add([]byte(`{"version":1}`))
	for _, c := range refused(f) {
		if len(c.body) < 1<<14 && bytes.HasPrefix(c.body, []byte("{")) {
			f.Add(c.body)
		}
	}
	f.Fuzz(holds)
}

func FuzzXML(f *testing.F) {
	f.Add(golden(f, "v1.xml"))
	f.Add(golden(f, "v1-kinds.xml"))
	f.Add(golden(f, "v1-bulk.xml"))
	f.Add([]byte(`<isochrone_document version="1"/>`))
	for _, c := range refused(f) {
		if len(c.body) < 1<<14 && bytes.HasPrefix(c.body, []byte("<")) {
			f.Add(c.body)
		}
	}
	f.Fuzz(holds)
}

func FuzzGzip(f *testing.F) {
	f.Add(pack(f, golden(f, "v1.json")))
	f.Add(pack(f, golden(f, "v1.xml")))
	f.Add(pack(f, nil))
	for _, c := range refused(f) {
		if len(c.body) < 1<<14 && bytes.HasPrefix(c.body, gzipMagic) {
			f.Add(c.body)
		}
	}
	f.Fuzz(holds)
}
