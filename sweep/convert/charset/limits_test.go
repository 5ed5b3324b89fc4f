package charset

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// zeros is a text of n bytes that is not held in memory.
type zeros struct {
	n     int64
	large byte
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n)
	for i := range p[:n] {
		p[i] = z.large
	}
	z.n -= n
	return int(n), nil
}

func TestABombIsRefusedInBoundedMemory(t *testing.T) {
	bomb := pack(t, pack(t, pack(t, strings.Repeat("0", 10<<20))))
	if len(bomb) > 2000 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	u, err := Unwrap(strings.NewReader(bomb), 0)
	var n int64
	if err == nil {
		n, err = io.Copy(io.Discard, u)
	}
	runtime.ReadMemStats(&after)
	if fault, ok := errors.AsType[*Fault](err); !ok || !fault.TooLarge {
		t.Errorf("after %d bytes: %v", n, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; n > freeBytes+64<<10 || grown > 4<<20 {
		t.Errorf("%d bytes were unpacked, %d allocated", n, grown)
	}
}

// One layer of gzip can be no bomb: its text is as long as most allows.
func TestGzipOfNothingButOneCharacterIsRead(t *testing.T) {
	text := strings.Repeat("0", 6<<20)
	if got, _, fault := read(t, pack(t, text), 0); fault != nil || got != text {
		t.Errorf("%d bytes, %v", len(got), fault)
	}
}

func TestALongTextIsReadInConstantMemory(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"UTF-8":        &zeros{4 << 20, 'a'},
		"UTF-16":       io.MultiReader(strings.NewReader("\xff\xfe"), &zeros{4 << 20, 'a'}), // U+6161
		"windows-1252": io.MultiReader(strings.NewReader("<?xml version='1.0' encoding='windows-1252'?>"), &zeros{4 << 20, 0xfc}),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		u, err := Unwrap(in, 0)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, u)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; err != nil || n < 4<<20 || grown > 1<<20 {
			t.Errorf("%s: %d bytes of text, %d allocated, %v", name, n, grown, err)
		}
	}
}

func TestWhatIsUndoneInMemoryIsBounded(t *testing.T) {
	_, err := Unwrap(io.MultiReader(strings.NewReader(base("<a>")), &zeros{heldBytes, 'A'}), 0)
	if fault, ok := errors.AsType[*Fault](err); !ok || !fault.TooLarge || fault.Remedy == "" {
		t.Error(err)
	}
}

func FuzzUnwrap(f *testing.F) {
	seeds := []string{"", "text\n", "\xef\xbb\xbf<a/>", "\xff\xfe<\x00a\x00", "\xfe\xff\x00<\xd8\x34\xdd\x1e", "\xff\xfe\x00\x00", latin + "\xfc</a>",
		`<?xml version="1.0" encoding="gb18030"?><a>` + "\x84\x31\xa4\x37", `<?xml version="1.0" encoding="iso-2022-jp"?><a>` + "\x1b$B\x24\x22\x1b(B", `<?xml version="1.0" encoding="utf-7"?><a/>`,
		pack(f, "<a/>"), pack(f, pack(f, `{"a":1}`)) + "x", base(pack(f, "[1]")), base("\xff\xfe<\x00"), `{"$content-type":"text/xml;charset=big5","$content":"` + base("<a/>") + `"}`,
		`{"$content":"PA","$content-type":""}`, `"{\"a\":\"\ud834\udd1e\"}"`, `"<a>\ud834"`, "\"a\",\"b\"\n"}
	if len(seeds) != 19 {
		f.Fatalf("%d seeds: want 19", len(seeds))
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	const most = 1 << 20
	f.Fuzz(func(t *testing.T, body []byte) {
		text, steps, fault := read(t, string(body), most)
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Fatalf("%q", text)
		}
		if len(text) > most || len(steps) > 4*MaxWrappings {
			t.Fatalf("%d bytes by %q", len(text), steps)
		}
		if fault != nil && (fault.Offset < -1 || fault.Offset > int64(len(text))+int64(heldBytes)) {
			t.Fatalf("%+v", fault)
		}
	})
}
