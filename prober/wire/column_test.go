package wire

import (
	"encoding/json"
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumnsInJSON(t *testing.T) {
	for _, c := range []struct {
		text string
		want Column
	}{
		{"[]", Column{}},
		{"null", nil},
		{"[0]", Column{0}},
		{"[null]", Column{Null}},
		{" [ 1 ,\n null , -2 ] ", Column{1, Null, -2}},
		{"[9223372036854775807,-9223372036854775807]", Column{math.MaxInt64, -math.MaxInt64}},
	} {
		var got Column
		if err := json.Unmarshal([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
	for text, want := range map[string]string{
		"[1.5]": `entry 0: "1.5" is not a whole number`, "[1e3]": `entry 0: "1e3"`, `["1"]`: `entry 0: "\"1\""`, "[true]": "entry 0",
		"[1,[2]]": "entry 1", `[{"a":1}]`: "entry 0", "[1,9223372036854775808]": "entry 1",
		"[-9223372036854775808]": "entry 0", // it is what Null is inside, and no measurement
		"{}":                     `"{}" is not an array`, `"x"`: "is not an array", "7": "is not an array",
		"[" + strings.Repeat("1,", MaxSamples) + "1]": "100001 entries",
	} {
		var got Column
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestFailureColumnsInJSON(t *testing.T) {
	var got FailureColumn
	if err := json.Unmarshal([]byte(`[ "timeout", null ,"target_down"]`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(FailureColumn{FailureTimeout, "", FailureTargetDown}, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		`["Timeout"]`: `entry 0: failure code "Timeout"`, `[""]`: `failure code ""`, "[1]": `entry 0: "1" is not a failure code`, `["a,b"]`: "entry 0",
		`["time\u006fut"]`: "entry 0", "{}": "is not an array", `["timeout","` + strings.Repeat("x", 1000) + `"]`: `"` + strings.Repeat("x", 40) + `"`,
	} {
		var got FailureColumn
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want an error with %q", text, err, want)
		} else if len(err.Error()) > 600 {
			t.Errorf("%.40s: an error of %d bytes", text, len(err.Error()))
		}
	}
}

// columns is what both kinds of column travel in.
type columns struct {
	Numbers Column        `json:"numbers" xml:"numbers"`
	Codes   FailureColumn `json:"codes" xml:"codes"`
}

func TestColumnsInXML(t *testing.T) {
	for _, c := range []struct {
		text string
		want columns
	}{
		{"<c></c>", columns{}},
		{"<c><numbers></numbers><codes/></c>", columns{Column{}, FailureColumn{}}},
		{"<c><numbers> 1\n\t- -2 </numbers><codes>- timeout\n-</codes></c>", columns{Column{1, Null, -2}, FailureColumn{"", FailureTimeout, ""}}},
		{"<c><numbers>1<!-- a comment -->2</numbers></c>", columns{Numbers: Column{12}}},
	} {
		var got columns
		if err := xml.Unmarshal([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
	for text, want := range map[string]string{
		"<c><numbers>1 x</numbers></c>":                                        `<numbers> entry 1: "x"`,
		"<c><numbers>1,2</numbers></c>":                                        `<numbers> entry 0: "1,2"`,
		"<c><numbers>-9223372036854775808</numbers></c>":                       "<numbers> entry 0",
		"<c><codes>timeout tired</codes></c>":                                  `<codes> entry 1: failure code "tired"`,
		"<c><numbers>" + strings.Repeat("1 ", MaxSamples+1) + "</numbers></c>": "100001 entries",
	} {
		var got columns
		if err := xml.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestAColumnOfTheGreatestLengthTravels(t *testing.T) {
	in := columns{make(Column, MaxSamples), make(FailureColumn, MaxSamples)}
	for i := range MaxSamples {
		in.Numbers[i] = int64(i) * 1_000_003
		if i%3 == 0 {
			in.Numbers[i], in.Codes[i] = Null, Failures()[i%len(Failures())]
		}
	}
	roundTrip(t, in)
}

func roundTrip(t *testing.T, in columns) {
	t.Helper()
	var fromJSON, fromXML columns
	j, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(j, &fromJSON); err != nil {
		t.Fatalf("reading back JSON: %v", err)
	}
	x, err := xml.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(x, &fromXML); err != nil {
		t.Fatalf("reading back XML: %v", err)
	}
	for format, back := range map[string]columns{"JSON": fromJSON, "XML": fromXML} {
		if diff := cmp.Diff(in, back); diff != "" {
			t.Errorf("%s does not bring back what was written:\n%s", format, diff)
		}
	}
}

func TestAbsentValuesAreNoNumbers(t *testing.T) {
	if got := (Column{3, Null, 1, Null}).Values(); !cmp.Equal(got, []int64{3, 1}) {
		t.Errorf("values %v, want 3 and 1", got)
	}
	b, err := json.Marshal(Samples{RTTNS: Column{Null}, Failure: FailureColumn{""}})
	if err != nil || !strings.Contains(string(b), `"rtt_ns":[null]`) || !strings.Contains(string(b), `"failure":[null]`) || strings.Contains(string(b), "server_ns") {
		t.Errorf("%s, %v", b, err)
	}
}

// FuzzColumnJSON holds that a column that was read is written and read again as it was, and that
// it agrees with a plain reader of the same JSON.
func FuzzColumnJSON(f *testing.F) {
	for _, seed := range []string{"[]", "[1]", "[null,1,-5]", " [ 0 , null ]", "null", "[1.0]", "[1,]", "[[1],2]", `["1"]`, "[-9223372036854775808]", "[9223372036854775808]", "[{}]", "[-0]", "[1 2]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Column
		if json.Unmarshal(b, &c) != nil {
			return
		}
		var plain []*json.Number
		if err := json.Unmarshal(b, &plain); err != nil {
			t.Fatalf("%q is read as %v, and is no array of numbers: %v", b, c, err)
		}
		if len(plain) != len(c) {
			t.Fatalf("%q has %d entries, read are %d", b, len(plain), len(c))
		}
		for i, p := range plain {
			if p == nil {
				if c[i] != Null {
					t.Fatalf("%q: entry %d is null, read as %d", b, i, c[i])
				}
			} else if v, err := strconv.ParseInt(p.String(), 10, 64); err != nil || v != c[i] {
				t.Fatalf("%q: entry %d is %s, read as %d", b, i, p, c[i])
			}
		}
		if c != nil {
			roundTrip(t, columns{Numbers: c, Codes: FailureColumn{}})
		}
	})
}

// FuzzFailureColumn holds the same of failure codes, and that nothing outside the list is read.
func FuzzFailureColumn(f *testing.F) {
	for _, seed := range []string{"[]", `["timeout"]`, `[null,"reset"]`, `["x"]`, `["timeout,reset"]`, `["",null]`, "[1]", "null", `["\u0074imeout"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c FailureColumn
		if json.Unmarshal(b, &c) != nil || c == nil {
			return
		}
		for i, code := range c {
			if err := code.Validate(); err != nil {
				t.Fatalf("%q: entry %d: %v", b, i, err)
			}
		}
		roundTrip(t, columns{Numbers: Column{}, Codes: c})
	})
}

// FuzzColumnXML holds that whatever a list of XML says is written and read again as it was.
func FuzzColumnXML(f *testing.F) {
	for _, seed := range []string{"", "1", "1 - -2", " \n 7", "x", "9223372036854775808", "- - -", "+1", "0x10", "1_000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c columns
		if xml.Unmarshal([]byte("<c><numbers>"+text+"</numbers></c>"), &c) != nil || c.Numbers == nil {
			return
		}
		c.Codes = FailureColumn{}
		roundTrip(t, c)
	})
}
