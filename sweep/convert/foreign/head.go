package foreign

import (
	"bytes"
	"strings"

	"isochrone/sweep/convert/jsontext"
	"isochrone/sweep/convert/xmltext"
)

// HeadBytes is how much of a text recognition looks at.
const HeadBytes = 64 << 10

// Head is the beginning of a text, looked at in the ways that tell formats apart.
type Head struct {
	text []byte
	json jsontext.Value // the first value, cut off where the head ends; Absent for anything else
	root string         // the name of the first XML element
}

func newHead(text []byte) *Head {
	text = bytes.TrimLeft(text[:min(len(text), HeadBytes)], " \t\r\n")
	h := &Head{text: text}
	switch {
	case len(text) == 0:
	case text[0] == '{' || text[0] == '[':
		t, _ := jsontext.Parse(text, jsontext.Options{NaN: true, Trailing: true}) // a head is always cut
		h.json = t.Root()
	case text[0] == '<':
		h.root = rootOf(text)
	}
	return h
}

// rootOf is the name of the first element.
func rootOf(text []byte) string {
	r := xmltext.NewReader(bytes.NewReader(text), xmltext.Options{Doctype: xmltext.BareDoctype, Lenient: true})
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

// object is the text's first JSON object: the value itself, or the first entry of an array.
func (h *Head) object() jsontext.Value {
	if h.json.Kind() == jsontext.Array {
		return h.json.At(0)
	}
	return h.json
}

// lines are the first lines of a text that is neither JSON nor XML, at most n.
func (h *Head) lines(n int) []string {
	if h.json.Kind() != jsontext.Absent || h.root != "" {
		return nil
	}
	lines := strings.SplitN(string(h.text), "\n", n+1)
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines[:min(len(lines), n)]
}
