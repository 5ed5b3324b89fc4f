package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/charset"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/convert/jsontext"
	"isochrone/sweep/convert/xmljson"
	"isochrone/sweep/convert/xmltext"
)

// heldToMeasure is the largest wrapping that is undone to see how much it holds. What Logic Apps
// wraps, and what people encode by hand, is smaller.
const heldToMeasure = 1 << 20

// MostOf is the most bytes of text that a body of a foreign document can come to, whatever is wrapped
// around it, without keeping any of it. The error is a *Refusal.
func MostOf(body []byte) (int64, error) {
	p, err := Measure(body)
	if err != nil {
		return 0, err
	}
	if charset.IsPlain(p.head()) {
		return p.Size(), nil
	}
	size, known, err := charset.Measure(bytes.NewReader(body), wire.MaxDocumentBytes, heldToMeasure)
	switch {
	case err != nil:
		return 0, refuseCharset(err)
	case !known:
		return wire.MaxDocumentBytes, nil
	}
	return size, nil
}

// Unwrap is a body's text as UTF-8, without a byte-order mark: gzip, base64, the envelope of Logic
// Apps and encodings undone. The error is a *Refusal.
//
// size is what MostOf says: the text is read into room of that size at once.
func Unwrap(body []byte, size int64) ([]byte, error) {
	u, err := charset.Unwrap(bytes.NewReader(body), wire.MaxDocumentBytes)
	if err != nil {
		return nil, refuseCharset(err)
	}
	text := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // MinRead: ReadFrom wants it free, or it doubles the buffer
	if _, err := text.ReadFrom(u); err != nil {
		return nil, refuseCharset(err)
	}
	return text.Bytes(), nil
}

// UnwrapStream is Unwrap of a text of any size.
func UnwrapStream(in io.Reader) (io.Reader, error) {
	u, err := charset.Unwrap(in, 0)
	if err != nil {
		return nil, refuseCharset(err)
	}
	return &unwrapped{u}, nil
}

// unwrapped turns the faults of an encoding into refusals as they come.
type unwrapped struct{ in io.Reader }

// Read implements io.Reader.
func (u *unwrapped) Read(b []byte) (int, error) {
	n, err := u.in.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = refuseCharset(err)
	}
	return n, err
}

func refuseCharset(err error) error {
	f, ok := errors.AsType[*charset.Fault](err)
	if !ok {
		return err
	}
	r := &Refusal{Stage: StageRead, Text: f.Reason, Offset: f.Offset, Remedy: f.Remedy, TooLarge: f.TooLarge}
	if f.Damaged || f.TooLarge {
		r.Stage = StageUnpack
	}
	return r
}

// IsDocument says whether a text is, or wants to be, a document of our own.
func IsDocument(text []byte) bool {
	trimmed := bytes.TrimLeft(text, blanks)
	switch {
	case len(trimmed) == 0:
		return false
	case trimmed[0] == '<':
		root := rootOf(trimmed)
		return root == xmlRoot
	case trimmed[0] == '{':
		const head = 16 << 10 // the names of a document stand in front of its runs
		t, _ := jsontext.Parse(trimmed[:min(len(trimmed), head)], jsontext.Options{})
		return t.Root().Has("version", "environment") || t.Root().Has("assignment_id") || t.Root().Has("version", "runs")
	}
	return false
}

// IsXML says whether a text begins as XML does.
func IsXML(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, blanks), []byte("<")) }

// rootOf is the name of the first element, or empty.
func rootOf(text []byte) string {
	r := xmltext.NewReader(bytes.NewReader(text), xmltext.Options{Doctype: xmltext.KeepDoctype})
	for {
		t, err := r.Next()
		if err != nil {
			return ""
		}
		if t.Kind == xmltext.Start {
			return string(t.Name)
		}
	}
}

// maxTree is what the tree of a document in hand may take of memory: that of 11 MiB of XML as it is
// written to be read.
const maxTree = 44 << 20

// XMLToJSON is any XML as JSON, as json(xml(…)) of Logic Apps makes it. The error is a *Refusal.
func XMLToJSON(text []byte) ([]byte, error) {
	var out madeJSON
	err := xmljson.Convert(&out, bytes.NewReader(text), xmljson.Options{MaxTree: maxTree, Size: int64(len(text))})
	if r, ok := errors.AsType[*Refusal](err); ok {
		return nil, r
	}
	if f, ok := errors.AsType[*xmltext.Fault](err); ok {
		return nil, &Refusal{Stage: StageRead, Text: strings.TrimSpace(f.Text), Where: fmt.Sprintf("line %d", f.Line), Offset: f.Offset, TooLarge: f.Limit, Remedy: "send well-formed XML without a DTD"}
	}
	return out, err
}

// madeJSON is what is made of XML, which is no longer than a document may be.
type madeJSON []byte

// Write implements io.Writer. The error is a *Refusal.
func (m *madeJSON) Write(b []byte) (int, error) {
	if len(*m)+len(b) > wire.MaxDocumentBytes {
		return 0, tooLarge(StageRead, "as JSON it would be larger than a document may be")
	}
	*m = append(*m, b...)
	return len(b), nil
}

// EnvironmentOf is the environment that a document of our own names in front of its runs; empty for
// any other text.
func EnvironmentOf(text []byte) string {
	trimmed := bytes.TrimLeft(text[:min(len(text), foreign.HeadBytes)], blanks)
	if !IsDocument(trimmed) {
		return ""
	}
	if trimmed[0] == '{' {
		t, _ := jsontext.Parse(trimmed, jsontext.Options{}) // a head is always cut
		return t.Root().Get("environment").Text()
	}
	r := xmltext.NewReader(bytes.NewReader(trimmed), xmltext.Options{})
	for inside := false; ; {
		t, err := r.Next()
		switch {
		case err != nil:
			return ""
		case t.Kind == xmltext.Start:
			inside = string(t.Name) == "environment"
		case t.Kind == xmltext.Text && inside:
			return strings.TrimSpace(string(t.Text))
		}
	}
}

// Streams says whether a text that begins so is of a format that is read in constant memory.
func Streams(head []byte) bool {
	if IsDocument(head) {
		return false
	}
	f := foreign.Recognise(head)
	return f != nil && f.Streams
}
