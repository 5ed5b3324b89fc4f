package charset

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// marks are the ways in which a text begins that tell its encoding: byte-order marks, and the first
// characters of XML and JSON. UTF-32 stands in front of UTF-16, whose mark it begins with.
var marks = []struct {
	bytes string
	skip  int // the mark's own length
	name  string
}{
	{"\xff\xfe\x00\x00", 4, "UTF-32LE"}, {"\x00\x00\xfe\xff", 4, "UTF-32BE"},
	{"<\x00\x00\x00", 0, "UTF-32LE"}, {"\x00\x00\x00<", 0, "UTF-32BE"},
	{"{\x00\x00\x00", 0, "UTF-32LE"}, {"\x00\x00\x00{", 0, "UTF-32BE"},
	{"[\x00\x00\x00", 0, "UTF-32LE"}, {"\x00\x00\x00[", 0, "UTF-32BE"},
	{"\xef\xbb\xbf", 3, "UTF-8"},
	{"\xff\xfe", 2, "UTF-16LE"}, {"\xfe\xff", 2, "UTF-16BE"},
	{"<\x00", 0, "UTF-16LE"}, {"\x00<", 0, "UTF-16BE"},
	{"{\x00", 0, "UTF-16LE"}, {"\x00{", 0, "UTF-16BE"},
	{"[\x00", 0, "UTF-16LE"}, {"\x00[", 0, "UTF-16BE"},
	{"\"\x00", 0, "UTF-16LE"}, {"\x00\"", 0, "UTF-16BE"},
}

// decode gives the layer as UTF-8. The order is that of RFC 7303, section 3: the text's own mark, what
// its wrapping says, what its XML declaration says, UTF-8.
func (l *layer) decode() (io.Reader, []string, error) {
	head, _ := l.in.Peek(headBytes)
	if l.decoded {
		return l.in, nil, nil
	}
	for _, m := range marks {
		if !bytes.HasPrefix(head, []byte(m.bytes)) {
			continue
		}
		if _, err := l.in.Discard(m.skip); err != nil {
			return nil, nil, err
		}
		return l.marked(m.name, m.skip > 0)
	}
	name, said := l.charset, "what wraps it"
	if name == "" {
		name, said = declared(head), "its XML declaration"
	}
	if name == "" {
		return transform.NewReader(l.in, &utf8Reader{}), nil, nil
	}
	return l.named(name, said)
}

func (l *layer) marked(name string, mark bool) (io.Reader, []string, error) {
	var steps []string
	if mark {
		steps = []string{"byte-order mark"}
	}
	switch name {
	case "UTF-8":
		return transform.NewReader(l.in, &utf8Reader{}), steps, nil
	case "UTF-16LE", "UTF-16BE":
		return transform.NewReader(l.in, &utf16Reader{big: name == "UTF-16BE"}), append(steps, name), nil
	}
	return nil, nil, &Fault{Offset: 0, Reason: "it is " + name + ", which is not read", Remedy: "send it as UTF-8 or UTF-16"}
}

// named decodes an encoding that somebody names. IANA's index is asked first: there ISO-8859-1 and
// US-ASCII are themselves, where browsers, by the other, read windows-1252.
func (l *layer) named(name, said string) (io.Reader, []string, error) {
	e, err := ianaindex.IANA.Encoding(name)
	if err != nil || e == nil {
		e, err = htmlindex.Get(name)
	}
	if err != nil || e == nil || e == encoding.Replacement {
		return nil, nil, &Fault{Offset: 0, Reason: fmt.Sprintf("the encoding %.40q, which %s names, is not known", name, said), Remedy: "send it as UTF-8"}
	}
	label := strings.ToLower(name)
	if wide := strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "unicode") || strings.HasPrefix(label, "iso-10646"); wide {
		// Its first characters are single bytes, so it is not: .NET writes the name of its strings'
		// encoding into what it then writes as UTF-8.
		return transform.NewReader(l.in, &utf8Reader{}), []string{fmt.Sprintf("UTF-8 (named %s)", name)}, nil
	}
	if e == unicode.UTF8 {
		return transform.NewReader(l.in, &utf8Reader{}), nil, nil
	}
	return transform.NewReader(l.in, &strict{Transformer: e.NewDecoder().Transformer, name: name}), []string{label}, nil
}

// declaration is an XML declaration with an encoding (XML 1.0, productions 23 and 80).
var declaration = regexp.MustCompile(`^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"[^"<>]*"|'[^'<>]*')[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([^"<>]*)"|'([^'<>]*)')`)

// declared is the encoding that a text's XML declaration names, or empty.
func declared(head []byte) string {
	m := declaration.FindSubmatch(bytes.TrimLeft(head, " \t\r\n"))
	if m == nil {
		return ""
	}
	return string(m[1]) + string(m[2])
}
