package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are the files of a tool in testdata, what they came from and the golden files left out.
func samples(t testing.TB, tool string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", tool, "*"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return strings.HasSuffix(n, ".golden") || filepath.Base(n) == "ORIGIN.md"
	})
	if len(names) == 0 {
		t.Fatalf("testdata/%s holds no sample", tool)
	}
	return names
}

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// convert recognises a text, which must be of the format, and reads it.
func convert(t testing.TB, f *Format, text []byte) (*Document, error) {
	t.Helper()
	got := Recognise(text[:min(len(text), HeadBytes)])
	if got != f {
		name := "nothing"
		if got != nil {
			name = got.Name
		}
		t.Fatalf("recognised as %s, want %s:\n%.300s", name, f.Name, text)
	}
	return f.Read(bytes.NewReader(text))
}

// mustConvert is convert of a text that must be readable.
func mustConvert(t testing.TB, f *Format, text []byte) *Document {
	t.Helper()
	d, err := convert(t, f, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// testSamples holds what becomes of every sample of a tool against its golden file.
func testSamples(t *testing.T, f *Format) {
	for _, name := range samples(t, f.Name) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, err := convert(t, f, readSample(t, name))
			got := described(t, d, err)
			golden := name + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-golden +now):\n%s", diff)
			}
		})
	}
}

// described is what is known of a document, as indented JSON; what is null or zero is left out.
func described(t testing.TB, d *Document, err error) []byte {
	t.Helper()
	if err != nil {
		return []byte("refused: " + err.Error() + "\n")
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(pruned(tree), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// pruned leaves out null, false, zero and what is empty.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if inner = pruned(inner); inner == nil {
				delete(v, name)
			} else {
				v[name] = inner
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = pruned(v[i])
		}
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	}
	return v
}

// fuzz looks for a text that the format's reader cannot bear: it must be refused with a reason, or
// give findings that hold, whatever recognition says. The seeds are the tool's samples and what is
// given; their number is told, so that none is lost unseen.
func fuzz(f *testing.F, format *Format, seeds int, more ...string) {
	n := len(more)
	for _, s := range more {
		f.Add([]byte(s))
	}
	for _, name := range samples(f, format.Name) {
		f.Add(readSample(f, name))
		n++
	}
	if n != seeds {
		f.Fatalf("%d seeds: want %d", n, seeds)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		newHead(text)
		d, err := format.Read(bytes.NewReader(text))
		if err != nil {
			if fault, ok := errors.AsType[*Fault](err); !ok || fault.Reason == "" {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		if len(d.Findings) == 0 || len(d.Findings) > MaxFindings || len(d.Left) > d.LeftCount {
			t.Fatalf("%d findings, %d of %d parts left out", len(d.Findings), len(d.Left), d.LeftCount)
		}
		described(t, d, nil)
	})
}

// within says whether two numbers differ by no more than a part of the second.
func within(got, want, part float64) bool {
	diff := got - want
	return diff <= part*want && diff >= -part*want
}

func TestNothingIsRecognisedInWhatIsNoResult(t *testing.T) {
	for _, text := range []string{"", "\n\n", "{}", "[]", "[1]", "{", "[", "<", "<a/>", "hello", "<html><body>503</body></html>", `{"version":1}`, `{"start":1}`, "a,b,c\n1,2,3\n", "\x00\x01"} {
		if f := Recognise([]byte(text)); f != nil {
			t.Errorf("%q is recognised as %s", text, f.Name)
		}
	}
}
