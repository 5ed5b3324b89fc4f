package charset

import (
	"errors"
	"strings"
	"testing"
)

func TestWhatAWrappedTextComesToIsMeasured(t *testing.T) {
	const held = 10_000
	text := "<a>" + strings.Repeat("x", 50_000) + "</a>"
	utf16 := "\xff\xfe<\x00a\x00/\x00>\x00"
	for what, c := range map[string]struct {
		body  string
		size  int64
		known bool
		plain bool
	}{
		"a text":           {text, int64(len(text)), true, true},
		"a mark":           {"\xef\xbb\xbf" + text, int64(len(text)), true, true},
		"gzip":             {pack(t, text), int64(len(text)), true, false},
		"base64 of gzip":   {base(pack(t, text)), int64(len(text)), true, false},
		"an envelope":      {`{"$content-type":"a/b","$content":"` + base(pack(t, text)) + `"}`, int64(len(text)), true, false},
		"too much to hold": {base(text), 0, false, false},
		"gzip of it":       {pack(t, base(text)), 0, false, false},
		"UTF-16":           {utf16, 4, true, false},
		"Latin-1":          {latin + "\xfc</a>", int64(len(latin) + 2 + 4), true, false},
	} {
		size, known, err := Measure(strings.NewReader(c.body), 0, held)
		if size != c.size || known != c.known || err != nil {
			t.Errorf("%s: %d bytes, known %v, %v: want %d, %v", what, size, known, err, c.size, c.known)
		}
		if got := IsPlain([]byte(c.body)); got != c.plain {
			t.Errorf("%s: plain %v, want %v", what, got, c.plain)
		}
	}
	for what, body := range map[string]string{"damaged gzip": pack(t, text)[:30], "not UTF-8": "<a>\xff", "more than most": strings.Repeat("x", 100_001)} {
		_, _, err := Measure(strings.NewReader(body), 100_000, held)
		if _, ok := errors.AsType[*Fault](err); !ok {
			t.Errorf("%s: %v: want a fault", what, err)
		}
	}
}
