package charset

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"

	"isochrone/sweep/convert/jsontext"
)

// wrapping is a text that holds another one.
type wrapping struct {
	name string
	// begins says whether a text that begins so may be one.
	begins func(head []byte) bool
	// undo takes it off; not ok is a text that only began so.
	undo func(held) (inner layer, ok bool, err error)
}

var wrappings = []wrapping{
	{"envelope", beginsEnvelope, openEnvelope},
	{"JSON string", beginsString, openString},
	{"base64", beginsBase64, openBase64},
}

const blanks = " \t\r\n"

func octets(b []byte, charset string) layer {
	return layer{in: bufio.NewReaderSize(bytes.NewReader(b), headBytes), charset: charset}
}

// The members of the envelope that Logic Apps makes of a body whose media type it does not know.
const (
	envelopeType    = "$content-type"
	envelopeContent = "$content"
)

func beginsEnvelope(head []byte) bool {
	head = bytes.TrimLeft(head, blanks)
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	head = bytes.TrimLeft(head[1:], blanks)
	return bytes.HasPrefix(head, []byte(`"`+envelopeType+`"`)) || bytes.HasPrefix(head, []byte(`"`+envelopeContent+`"`))
}

func openEnvelope(text held) (layer, bool, error) {
	t, fault := jsontext.Parse(text, jsontext.Options{})
	root := t.Root()
	kind, content := root.Get(envelopeType), root.Get(envelopeContent)
	if fault != nil && fault.Cut {
		return layer{}, false, &Fault{Offset: fault.Offset, Reason: "the envelope is cut off: " + fault.Text, Remedy: remedyAgain, Damaged: true}
	}
	if fault != nil || root.Len() != 2 || kind.Kind() != jsontext.String || content.Kind() != jsontext.String {
		return layer{}, false, nil
	}
	b, bad := decode64([]byte(content.Text()))
	if bad != nil {
		bad.Offset += content.Offset() + 1
		return layer{}, false, bad
	}
	_, parameters, err := mime.ParseMediaType(kind.Text())
	if err != nil { // whatever it is, it names no encoding
		parameters = nil
	}
	return octets(b, parameters["charset"]), true, nil
}

// beginsString says whether a head may be of a JSON string that holds a document, and nothing else.
func beginsString(head []byte) bool {
	head = bytes.TrimLeft(head, blanks)
	if len(head) < 2 || head[0] != '"' {
		return false
	}
	for i := 1; i < len(head); i++ {
		switch head[i] {
		case '\\':
			i++
		case '"': // a line of CSV goes on behind its first field
			return len(bytes.TrimLeft(head[i+1:], blanks)) == 0
		}
	}
	return true
}

func openString(text held) (layer, bool, error) {
	t, fault := jsontext.Parse(text, jsontext.Options{})
	if fault != nil || t.Root().Kind() != jsontext.String {
		return layer{}, false, nil
	}
	inner := []byte(t.Root().Text())
	if bytes.Count(inner, replacement) > bytes.Count(text, replacement)+bytes.Count(bytes.ToLower(text), []byte(`\ufffd`)) {
		return layer{}, false, &Fault{Offset: -1, Reason: "the JSON string has half a surrogate pair in it", Remedy: "send the document itself"}
	}
	inner = bytes.TrimPrefix(inner, []byte("\uFEFF"))
	if start := bytes.TrimLeft(inner, blanks); len(start) == 0 || bytes.IndexByte([]byte("<{["), start[0]) < 0 {
		return layer{}, false, nil
	}
	l := octets(inner, "")
	l.decoded = true
	return l, true, nil
}

// beginsBase64 says whether a head may be of base64 that holds a document: nothing but its alphabet and
// line breaks, and behind it what begins like gzip, XML, JSON or with a byte-order mark.
func beginsBase64(head []byte) bool {
	head = bytes.Trim(head, blanks)
	var start [8]byte
	n := 0
	for i, c := range head {
		switch {
		case c == '=' && n >= len(start)-2: // the end: whether it is a right one comes out later
		case c == '\r' || c == '\n':
			continue
		case !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/'):
			return false
		}
		if n < len(start) {
			start[n] = head[i]
			n++
		}
	}
	if n < len(start) {
		return false
	}
	var out [6]byte
	if m, _ := base64.StdEncoding.Decode(out[:], start[:]); m < 3 {
		return false
	}
	for _, mark := range []string{"\x1f\x8b", "<", "{", "[", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(out[:], []byte(mark)) {
			return true
		}
	}
	return false
}

func openBase64(text held) (layer, bool, error) {
	b, bad := decode64(text)
	if bad != nil {
		return layer{}, false, bad
	}
	return octets(b, ""), true, nil
}

// decode64 undoes base64 (RFC 4648, section 4), with or without blanks between and padding behind. The
// text is spoilt by it.
func decode64(text []byte) ([]byte, *Fault) {
	digits := text[:0]
	for at, c := range text {
		if bytes.IndexByte([]byte(blanks), c) >= 0 {
			continue
		}
		if c >= 0x80 {
			return nil, &Fault{Offset: int64(at), Reason: "the base64 has a character in it that is none of its own", Remedy: remedyAgain, Damaged: true}
		}
		digits = append(digits, c)
	}
	digits = bytes.TrimRight(digits, "=")
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(digits)))
	n, err := base64.RawStdEncoding.Decode(out, digits)
	if err != nil {
		return nil, &Fault{Offset: 0, Reason: fmt.Sprintf("the base64 is damaged or cut off: of its %d digits the first %d bytes can be read", len(digits), n), Remedy: remedyAgain, Damaged: true}
	}
	return out[:n], nil
}
