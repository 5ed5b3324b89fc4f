package charset

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

func pack(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wide(text string, big bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func base(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// lines breaks base64 as mail does (RFC 2045, section 6.8).
func lines(text string) string {
	var b strings.Builder
	for part := range slices.Chunk([]byte(text), 76) {
		b.Write(part)
		b.WriteString("\r\n")
	}
	return b.String()
}

// read is the whole text, what was undone, and the fault, if there is one.
func read(t testing.TB, body string, most int64) (string, []string, *Fault) {
	t.Helper()
	var text []byte
	u, err := Unwrap(strings.NewReader(body), most)
	var steps []string
	if err == nil {
		steps = u.Steps
		text, err = io.ReadAll(u)
	}
	if err == nil {
		return string(text), steps, nil
	}
	fault, ok := errors.AsType[*Fault](err)
	if !ok || fault.Reason == "" || fault.Remedy == "" || fault.Error() != fault.Reason {
		t.Fatalf("refused with %#v", err)
	}
	return string(text), steps, fault
}

const latin = `<?xml version="1.0" encoding="ISO-8859-1"?><a>`

func TestTextsOfEveryEncodingAndWrapping(t *testing.T) {
	long := `{"a":"` + strings.Repeat("Zürich €", 3000) + `"}`
	const xml = `<a>Zürich 𝄞</a>`
	utf16XML := `<?xml version="1.0" encoding="utf-16"?>` + xml
	for name, c := range map[string]struct {
		body, want string
		steps      []string
	}{
		"empty":                              {"", "", nil},
		"text":                               {"round-trip min/avg/max = 1/2/3 µs\n", "round-trip min/avg/max = 1/2/3 µs\n", nil},
		"UTF-8":                              {long, long, nil},
		"UTF-8 with a mark":                  {"\xef\xbb\xbf" + xml, xml, []string{"byte-order mark"}},
		"the mark alone":                     {"\xef\xbb\xbf", "", []string{"byte-order mark"}},
		"UTF-16LE with a mark":               {"\xff\xfe" + wide(long, false), long, []string{"byte-order mark", "UTF-16LE"}},
		"UTF-16BE with a mark":               {"\xfe\xff" + wide(xml, true), xml, []string{"byte-order mark", "UTF-16BE"}},
		"UTF-16LE XML":                       {wide(utf16XML, false), utf16XML, []string{"UTF-16LE"}},
		"UTF-16BE XML":                       {wide(utf16XML, true), utf16XML, []string{"UTF-16BE"}},
		"UTF-16LE JSON":                      {wide(long, false), long, []string{"UTF-16LE"}},
		"UTF-16BE JSON":                      {wide("[1]", true), "[1]", []string{"UTF-16BE"}},
		"windows-1252":                       {"<?xml version='1.0' encoding='windows-1252'?><a>\x80 \xfc</a>", "<?xml version='1.0' encoding='windows-1252'?><a>€ ü</a>", []string{"windows-1252"}},
		"ISO-8859-1":                         {latin + "\xa4 \xfc</a>", latin + "¤ ü</a>", []string{"iso-8859-1"}},
		"ISO-8859-1 is not windows-1252":     {latin + "\x80</a>", latin + "\u0080</a>", []string{"iso-8859-1"}},
		"ISO-8859-15":                        {strings.Replace(latin, "-1\"", "-15\"", 1) + "\xa4</a>", strings.Replace(latin, "-1\"", "-15\"", 1) + "€</a>", []string{"iso-8859-15"}},
		"IBM850 of a console":                {`<?xml version="1.0" encoding="IBM850"?><a>` + "\x81</a>", `<?xml version="1.0" encoding="IBM850"?><a>ü</a>`, []string{"ibm850"}},
		"Shift_JIS":                          {`<?xml version="1.0" encoding="Shift_JIS" ?><a>` + "\x93\x8c\x8b\x9e</a>", `<?xml version="1.0" encoding="Shift_JIS" ?><a>東京</a>`, []string{"shift_jis"}},
		"us-ascii":                           {`<?xml version="1.0" encoding="us-ascii"?><a>u</a>`, `<?xml version="1.0" encoding="us-ascii"?><a>u</a>`, []string{"us-ascii"}},
		"utf-16 is declared of single bytes": {utf16XML, utf16XML, []string{"UTF-8 (named utf-16)"}},
		"a mark wins over the declaration":   {"\xef\xbb\xbf" + latin + "ü</a>", latin + "ü</a>", []string{"byte-order mark"}},
		"a mark wins over utf-8":             {"\xff\xfe" + wide(`<?xml version="1.0" encoding="utf-8"?><a/>`, false), `<?xml version="1.0" encoding="utf-8"?><a/>`, []string{"byte-order mark", "UTF-16LE"}},
		"gzip":                               {pack(t, long), long, []string{"gzip"}},
		"gzip of two members":                {pack(t, xml) + pack(t, "\n"), xml + "\n", []string{"gzip"}},
		"gzip of gzip of UTF-16":             {pack(t, pack(t, wide(xml, false))), xml, []string{"gzip", "gzip", "UTF-16LE"}},
		"base64 of XML":                      {base(xml), xml, []string{"base64"}},
		"base64 in lines":                    {lines(base(long)), long, []string{"base64"}},
		"base64 without padding":             {strings.TrimRight(base(`{"a":1}`), "="), `{"a":1}`, []string{"base64"}},
		"base64 of gzip":                     {base(pack(t, long)), long, []string{"base64", "gzip"}},
		"base64 of a marked UTF-16":          {base("\xff\xfe" + wide(xml, false)), xml, []string{"base64", "byte-order mark", "UTF-16LE"}},
		"base64 of other things is a text":   {base("hello, world"), base("hello, world"), nil},
		"words are no base64":                {"PING localhost\n", "PING localhost\n", nil},
		"an envelope":                        {`{"$content-type":"application/octet-stream","$content":"` + base(xml) + `"}`, xml, []string{"envelope"}},
		"an envelope in the other order":     {"\xef\xbb\xbf{ \"$content\" : \"" + base(pack(t, long)) + "\",\n\"$content-type\" : \"application/gzip\" }\n", long, []string{"byte-order mark", "envelope", "gzip"}},
		"an envelope that names the charset": {`{"$content-type":"text/xml; charset=windows-1252","$content":"` + base("<a>\x80</a>") + `"}`, "<a>€</a>", []string{"envelope", "windows-1252"}},
		"an envelope of text":                {`{"$content-type":"text/csv","$content":"` + base("a,b\n1,2\n") + `"}`, "a,b\n1,2\n", []string{"envelope"}},
		"three members are no envelope":      {`{"$content-type":"a/b","$content":"PGEvPg==","c":1}`, `{"$content-type":"a/b","$content":"PGEvPg==","c":1}`, nil},
		"one member is no envelope":          {`{"$content":"PGEvPg=="}`, `{"$content":"PGEvPg=="}`, nil},
		"a JSON string":                      {`"<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<a>Z\u00fcrich</a>"`, "<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<a>Zürich</a>", []string{"JSON string"}},
		"a JSON string with a mark in it":    {" \"\\ufeff{\\\"a\\\":1}\"\n", `{"a":1}`, []string{"JSON string"}},
		"a JSON string of a word":            {`"word"`, `"word"`, nil},
		"CSV in quotes":                      {"\"<a>\",\"b\"\n\"1\",\"2\"\n", "\"<a>\",\"b\"\n\"1\",\"2\"\n", nil},
		"an envelope of a JSON string":       {`{"$content-type":"a/b","$content":"` + base(`"{\"a\":1}"`) + `"}`, `{"a":1}`, []string{"envelope", "JSON string"}},
		"base64 of base64 is a text":         {base(base(base(base("<a/>")))), base(base(base(base("<a/>")))), nil},
		"gzip four times":                    {pack(t, pack(t, pack(t, pack(t, xml)))), xml, []string{"gzip", "gzip", "gzip", "gzip"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, steps, fault := read(t, c.body, 0)
			if fault != nil || got != c.want || !slices.Equal(steps, c.steps) {
				t.Fatalf("%.200q by %q, %v; want %.200q by %q", got, steps, fault, c.want, c.steps)
			}
			for _, split := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
				u, err := Unwrap(split(strings.NewReader(c.body)), int64(len(c.want)))
				if err != nil {
					t.Fatal(err)
				}
				if again, err := io.ReadAll(iotest.OneByteReader(u)); err != nil || string(again) != c.want || !slices.Equal(u.Steps, c.steps) {
					t.Errorf("read in parts: %.200q, %v", again, err)
				}
			}
		})
	}
}

func TestWhatIsNotReadIsRefusedWithItsPlace(t *testing.T) {
	packed := pack(t, strings.Repeat("<a>1</a>", 5000))
	random := make([]byte, 30_000)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = 'a' + byte(x>>24)%26
	}
	cut := pack(t, string(random))
	wrong := []byte(packed)
	wrong[len(wrong)-6] ^= 1 // the checksum: RFC 1952, section 2.3
	for name, c := range map[string]struct {
		body   string
		want   Fault // Reason is a part of it
		before string
	}{
		"UTF-32LE with a mark":       {"\xff\xfe\x00\x00<\x00\x00\x00", Fault{Reason: "UTF-32LE"}, ""},
		"UTF-32BE with a mark":       {"\x00\x00\xfe\xff\x00\x00\x00<", Fault{Reason: "UTF-32BE"}, ""},
		"UTF-32LE":                   {"<\x00\x00\x00a\x00\x00\x00", Fault{Reason: "UTF-32LE"}, ""},
		"UTF-32BE":                   {"\x00\x00\x00{\x00\x00\x00}", Fault{Reason: "UTF-32BE"}, ""},
		"an unknown encoding":        {`<?xml version="1.0" encoding="x-ebcdic-7"?><a/>`, Fault{Reason: `"x-ebcdic-7", which its XML declaration names`}, ""},
		"an encoding that is none":   {`<?xml version="1.0" encoding="iso-2022-kr"?><a/>`, Fault{Reason: `"iso-2022-kr"`}, ""},
		"an envelope's":              {`{"$content-type":"text/xml;charset=klingon","$content":"PGEvPg=="}`, Fault{Reason: `"klingon", which what wraps it names`}, ""},
		"windows-1252 as UTF-8":      {"Antwort von 127.0.0.1:\nZeit f\xfcr 1", Fault{Offset: 29, Reason: "the byte 0xfc is not UTF-8, in line 2", Remedy: remedyEncode}, "Antwort von 127.0.0.1:\nZeit f"},
		"an overlong UTF-8":          {"ab\xc0\xaf", Fault{Offset: 2, Reason: "0xc0"}, "ab"},
		"a surrogate in UTF-8":       {"ab\xed\xa0\x80", Fault{Offset: 2, Reason: "0xed"}, "ab"},
		"UTF-8 that is cut":          {"ab\xe2\x82", Fault{Offset: 2, Reason: "0xe2"}, "ab"},
		"what is not ASCII":          {`<?xml version="1.0" encoding="us-ascii"?>` + "\xfc", Fault{Offset: 41, Reason: "not us-ascii"}, `<?xml version="1.0" encoding="us-ascii"?>`},
		"what is not Shift_JIS":      {`<?xml version="1.0" encoding="Shift_JIS"?>` + "\x93\x8c\xff", Fault{Offset: 45, Reason: "not Shift_JIS"}, `<?xml version="1.0" encoding="Shift_JIS"?>東`},
		"half a pair in UTF-16":      {"\xff\xfea\x00\x00\xd8b\x00", Fault{Offset: 1, Reason: "0xd800"}, "a"},
		"the other half alone":       {"\xff\xfea\x00\x00\xdcb\x00", Fault{Offset: 1, Reason: "0xdc00"}, "a"},
		"UTF-16 that is cut":         {"\xff\xfea\x00b", Fault{Offset: 1, Reason: "ends within"}, "a"},
		"UTF-16 cut in a pair":       {"\xfe\xff\x00a\xd8\x34", Fault{Offset: 1, Reason: "ends within"}, "a"},
		"a NUL":                      {"<a>\n\x00</a>", Fault{Offset: 4, Reason: "NUL stands in the text, in line 2"}, "<a>\n"},
		"UTF-16 text without a mark": {wide("ping\n", false), Fault{Offset: 1, Reason: "NUL"}, "p"},
		"a NUL in a JSON string":     {`"<a>\u0000"`, Fault{Offset: 3, Reason: "NUL"}, "<a>"},
		"half a pair in JSON":        {`"<a>\ud800</a>"`, Fault{Offset: -1, Reason: "half a surrogate pair"}, ""},
		"gzip that is cut":           {cut[:len(cut)/2], Fault{Offset: -2, Reason: "the gzip stream is cut off", Damaged: true}, "*"},
		"gzip with its head alone":   {packed[:6], Fault{Offset: -1, Reason: "the gzip stream is cut off", Damaged: true}, ""},
		"gzip with a wrong checksum": {string(wrong), Fault{Offset: 40_000, Reason: "checksum", Damaged: true}, "*"},
		"text behind gzip":           {packed + "and more text", Fault{Offset: 40_000, Reason: "what follows the gzip stream", Damaged: true}, "*"},
		"five times gzip":            {pack(t, pack(t, pack(t, pack(t, pack(t, "<a/>"))))), Fault{Offset: -1, Reason: "more than 4 wrappings"}, ""},
		"base64 with a hole":         {base("<a>12345678</a>")[:10] + "=" + base("<a>12345678</a>")[11:], Fault{Reason: "base64 is damaged", Damaged: true}, ""},
		"base64 cut in a digit":      {base("<a>12345678</a>")[:13], Fault{Reason: "base64 is damaged", Damaged: true}, ""},
		"an envelope that is cut":    {`{"$content-type":"a/b","$content":"PGEvPg`, Fault{Offset: 41, Reason: "the envelope is cut off", Damaged: true}, ""},
		"an envelope of no base64":   {`{"$content-type":"a/b","$content":"*!*"}`, Fault{Offset: 35, Reason: "base64 is damaged", Damaged: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, fault := read(t, c.body, 0)
			if fault == nil {
				t.Fatalf("not refused: %.100q", got)
			}
			if c.want.Offset != -2 && fault.Offset != c.want.Offset || !strings.Contains(fault.Reason, c.want.Reason) || fault.Damaged != c.want.Damaged || fault.TooLarge || c.want.Remedy != "" && fault.Remedy != c.want.Remedy {
				t.Errorf("%+v; want %+v", fault, c.want)
			}
			if c.before != "*" && got != c.before || c.before == "*" && int64(len(got)) != fault.Offset {
				t.Errorf("%.100q (%d bytes) stands in front of it: want %q", got, len(got), c.before)
			}
		})
	}
}

func TestTheMostIsTheMost(t *testing.T) {
	for _, body := range []string{strings.Repeat("a ", 5000), pack(t, strings.Repeat("a ", 5000)), "\xff\xfe" + wide(strings.Repeat("a ", 5000), false)} {
		if _, _, fault := read(t, body, 10_000); fault != nil {
			t.Errorf("as much as is allowed: %v", fault)
		}
		got, _, fault := read(t, body, 9_999)
		if fault == nil || !fault.TooLarge || fault.Offset != 9_999 || len(got) != 9_999 {
			t.Errorf("one more than is allowed: %d bytes, %+v", len(got), fault)
		}
	}
	u, err := Unwrap(strings.NewReader("abc"), 2)
	if err != nil {
		t.Fatal(err)
	}
	_, first := io.ReadAll(u)
	if n, again := u.Read(make([]byte, 8)); n != 0 || again != first || again == nil {
		t.Errorf("read again behind the fault: %d bytes, %v", n, again)
	}
}

// The body's own error is no fault of the text, wherever it comes.
func TestTheReadersOwnErrorIsHandedOn(t *testing.T) {
	own := errors.New("the line is down")
	packed := pack(t, strings.Repeat("<a>1</a>", 5000))
	for _, start := range []string{"", "<a>", "\xff\xfea", packed[:1], packed[:5], packed[:60], base("<a>12345678</a>"), `{"$content":"PG`} {
		u, err := Unwrap(io.MultiReader(strings.NewReader(start), iotest.ErrReader(own)), 0)
		if err == nil {
			_, err = io.ReadAll(u)
		}
		if !errors.Is(err, own) {
			t.Errorf("behind %q: %v", start, err)
		}
	}
}
