package foreign

import (
	"fmt"
	"io"
	"strings"

	"isochrone/sweep/convert/jsontext"
)

// ntttcp is one tool on Windows and another of the same name on Linux. Both write a document at each
// end: ntttcps where the payload is sent, ntttcpr where it is received. On Windows it appends to a file
// that is there, and wraps the parts of a run in samples when asked for several.
var ntttcp = &Format{Name: "ntttcp", Title: "ntttcp -x and ntttcp-for-linux -x and -j",
	recognise: isNtttcp,
	read:      readNtttcp,
}

// ntttcpRoots are the names of the two documents.
var ntttcpRoots = []string{"ntttcps", "ntttcpr"}

func isNtttcp(h *Head) bool {
	for _, name := range ntttcpRoots {
		if h.root == name || h.root == "samples" && strings.Contains(string(h.text), "<"+name+" computername=") {
			return true
		}
		if v := h.object().Get(name); v.Get("computername").Kind() == jsontext.String && v.Has("version") {
			return true
		}
	}
	return false
}

func readNtttcp(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	var ends []*ntttcpEnd
	if trimmed := strings.TrimLeft(string(text[:min(len(text), 512)]), " \t\r\n"); strings.HasPrefix(trimmed, "<") {
		ends, err = ntttcpXML(text, d)
	} else {
		ends, err = ntttcpJSON(text, d)
	}
	if err != nil {
		return err
	}
	variants := map[string]int{}
	for _, e := range ends {
		f, err := e.finding(d)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		// The documents do not say when they were made: those of one end in one file are told apart by
		// their number.
		variants[f.Variant]++
		if n := variants[f.Variant]; n > 1 {
			f.Variant = fmt.Sprintf("%s-%d", f.Variant, n)
		}
		if err := d.add(*f); err != nil {
			return err
		}
	}
	return nil
}
