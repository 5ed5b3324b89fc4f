package xmljson

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"isochrone/sweep/convert/xmltext"
)

// converted is a text as JSON.
func converted(text string, o Options) (string, error) {
	var out bytes.Buffer
	err := Convert(&out, strings.NewReader(text), o)
	return out.String(), err
}

// page is the part of testdata/pairs.md below a heading.
func page(t testing.TB, heading string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/pairs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), heading+"\n")
	if !ok {
		t.Fatalf("testdata/pairs.md has no heading %q", heading)
	}
	return rest
}

var (
	pairRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(.*)` \\| `(.*)` \\| .* \\|$")
	// asWritten makes of a cell what it stands for.
	asWritten = strings.NewReplacer(`\n`, "\n", `"J"`, `"http://james.newtonking.com/projects/json"`)
)

// pair is one of the page.
type pair struct{ number, xml, json string }

func pairs(t testing.TB) (all []pair) {
	t.Helper()
	for _, m := range pairRow.FindAllStringSubmatch(page(t, "## Test pairs"), -1) {
		all = append(all, pair{m[1], asWritten.Replace(m[2]), m[3]})
	}
	if len(all) != 74 {
		t.Fatalf("the page has %d pairs, want 74", len(all))
	}
	return all
}

func TestThePairs(t *testing.T) {
	for _, p := range pairs(t) {
		doctype := p.number == "41" || p.number == "42"
		if got, err := converted(p.xml, Options{Doctype: doctype}); err != nil || got != p.json {
			t.Errorf("%s: %s\ngot  %s, %v\nwant %s", p.number, p.xml, got, err, p.json)
		}
		if !doctype {
			continue
		}
		if got, err := converted(p.xml, Options{}); err == nil || !strings.Contains(err.Error(), "DTDs are refused") || got != "" {
			t.Errorf("%s: got %s, %v, want it refused without the option", p.number, got, err)
		}
	}
}

// The reasons are our own; what must be the same is that a text is refused.
func TestWhatMustFail(t *testing.T) {
	table, _, _ := strings.Cut(page(t, "### Must fail (run, XmlDocument)"), "\n#")
	texts := []string{"", "abc", `{"a":1}`, "\ufeff<a/>", " <?xml version=\"1.0\"?><a/>"}
	for _, m := range regexp.MustCompile("(?m)^\\| `(<[^|]*)` \\|").FindAllStringSubmatch(table, -1) {
		texts = append(texts, asWritten.Replace(m[1]))
	}
	if len(texts) != 5+7 {
		t.Fatalf("%d texts, want 12: %q", len(texts), texts)
	}
	for _, text := range texts {
		got, err := converted(text, Options{})
		if f, ok := errors.AsType[*xmltext.Fault](err); !ok || f.Text == "" || f.Line != 1 || got != "" {
			t.Errorf("%s: got %q, %v, want a fault in line 1 and nothing written", text, got, err)
		}
	}
}

// The two documented examples of json(xml(…)).
func TestTheExamplesOfLogicApps(t *testing.T) {
	found := regexp.MustCompile(`(?m)^json\(xml\('(.*)'\)\)\n(.*)$`).FindAllStringSubmatch(page(t, "## Logic Apps: the documented examples (docs; the two `json(xml(…))` also run here, equal)"), -1)
	if len(found) != 2 {
		t.Fatalf("%d examples, want 2", len(found))
	}
	for _, m := range found {
		if got, err := converted(m[1], Options{}); err != nil || got != m[2] {
			t.Errorf("%s\ngot  %s, %v\nwant %s", m[1], got, err, m[2])
		}
	}
}
