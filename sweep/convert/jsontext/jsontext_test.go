package jsontext

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func parse(t testing.TB, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text), Options{})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v.Root()
}

func TestValuesAreFoundWhereTheyStand(t *testing.T) {
	v := parse(t, "{\"a\": [1, {\"b\":\n \"x\\u00e9\\n\"}, null],\n \"c\\u0064\": -1.50e2, \"t\": true, \"e\": {}, \"\": []}")
	if got := v.Get("a").At(1).Get("b"); got.Text() != "xé\n" || got.Line() != 2 || got.Kind() != String {
		t.Errorf("a[1].b is %q in line %d, %s", got.Text(), got.Line(), got.Kind())
	}
	if got := v.Get("cd"); got.Text() != "-1.50e2" || got.Kind() != Number || got.Offset() != 50 {
		t.Errorf("cd is %q at %d", got.Text(), got.Offset())
	}
	if v.Len() != 5 || v.Get("a").Len() != 3 || v.Get("e").Len() != 0 || !v.Get("t").True() {
		t.Errorf("%d members, %d values", v.Len(), v.Get("a").Len())
	}
	if got := v.Get("a", "b", "c"); got.Kind() != Absent || got.Text() != "" || got.At(3).Kind() != Absent || got.Len() != 0 {
		t.Errorf("what is not there is %s", got.Kind())
	}
	if v.Names() != "a, cd, t, e, " || !v.Has("a", "cd") || v.Has("a", "b") {
		t.Errorf("names %q", v.Names())
	}
}

func TestAMemberThatStandsThereTwiceIsNeither(t *testing.T) {
	v := parse(t, `{"a":1,"b":2,"a":3}`)
	if got := v.Get("a"); got.Kind() != Absent {
		t.Errorf("a is %s", got.Text())
	}
	if err := v.Twice("b", "a"); err == nil || err.Offset != 17 || v.Twice("b") != nil {
		t.Errorf("twice: %v", err)
	}
}

// What stands in front of a cut is there; what the cut goes through is not.
func TestOfACutTextTheFrontIsRead(t *testing.T) {
	whole := `{"intervals": [{"sum": {"bytes": 100, "bps": 80.5}}, {"sum": {"bytes": 200}}], "end": {"x": "y"}, "ok": true}`
	for n := range len(whole) {
		text, err := Parse([]byte(whole[:n]), Options{})
		if err == nil || !err.Cut || err.Offset != int64(n) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		got := text.Root().Get("intervals").At(0).Get("sum", "bytes").Text()
		if want := n > strings.Index(whole, "100")+3; (got == "100") != want || !want && got != "" {
			t.Errorf("cut at %d: bytes %q", n, got)
		}
		if n > 0 && !text.Root().Cut() {
			t.Errorf("cut at %d: the root does not say that it is cut", n)
		}
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int64
		line int
		says string
	}{
		{`{"a" 1}`, 5, 1, "a colon"}, {"{\"a\":1,\n}", 8, 2, "a name in quotes"}, {`[1,]`, 3, 1, "a value"}, {`[1 2]`, 3, 1, "a comma"},
		{`[01]`, 1, 1, "no number"}, {`[1.]`, 1, 1, "no number"}, {`[-]`, 1, 1, "no number"}, {`[1e+]`, 1, 1, "no number"}, {`[0x1]`, 1, 1, "no number"},
		{`{"a":1} x`, 8, 1, "follow"}, {`["\x"]`, 2, 1, "no escape"}, {"[\"a\tb\"]", 3, 1, "control character"}, {"[\"\xff\"]", 1, 1, "not UTF-8"},
		{`[nan]`, 1, 1, "a value"}, {`[tru]`, 1, 1, "a value"}, {`'a'`, 0, 1, "a value"}, {`[NaN]`, 1, 1, "a value"},
		{strings.Repeat("[", MaxDepth+1), MaxDepth, 1, "deep"},
	} {
		_, err := Parse([]byte(c.text), Options{})
		if err == nil || err.Cut || err.Offset != c.at || err.Line != c.line || !strings.Contains(err.Text, c.says) {
			t.Errorf("%q: %+v, want byte %d, line %d, %q", c.text, err, c.at, c.line, c.says)
		}
	}
}

func TestWhatIsNotQuiteJSON(t *testing.T) {
	text, err := Parse([]byte(`{"a": nan, "b": [-nan, inf, -Infinity]} the end`), Options{NaN: true, Trailing: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := text.Root(); r.Get("a").Kind() != Null || r.Get("a").Text() != "nan" || r.Get("b").At(2).Text() != "-Infinity" || string(text.Rest()) != "the end" {
		t.Errorf("%s, rest %q", r.Raw(), text.Rest())
	}
}

func TestTheNumberOfValuesIsBounded(t *testing.T) {
	text := "[" + strings.Repeat("0,", MaxValues) + "0]"
	if _, err := Parse([]byte(text), Options{}); err == nil || !err.Limit {
		t.Errorf("%d values: %v", MaxValues+1, err)
	}
}

var seeds = []string{`{"a":[1,2,{"b":null}],"c":"\u0041"}`, `[nan,-inf]`, `{"a":1,"a":2}`, `[1e400,-0.0]`, `"x`, `{"a":[`, "\xff", "null x"}

func FuzzParse(f *testing.F) {
	if len(seeds) != 8 {
		f.Fatalf("%d seeds", len(seeds))
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text, err := Parse(body, Options{})
		if (err == nil) != json.Valid(body) && strings.ToValidUTF8(string(body), "") == string(body) && (err == nil || !err.Limit) {
			t.Fatalf("encoding/json says %v of %q, and we say %v", json.Valid(body), body, err)
		}
		var walk func(v Value, depth int)
		walk = func(v Value, depth int) {
			if depth > MaxDepth {
				t.Fatal("too deep")
			}
			for _, inner := range v.Values() {
				walk(inner, depth+1)
			}
			for _, inner := range v.Members() {
				walk(inner, depth+1)
			}
			_ = fmt.Sprint(v.Text(), v.Raw(), v.Line(), v.Cut())
		}
		walk(text.Root(), 0)
		if _, err := Parse(body, Options{NaN: true, Trailing: true}); err != nil && err.Error() == "" {
			t.Fatal("no reason")
		}
	})
}
