package questions

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page lists every question with its parameters, and nothing else.
func TestThePageListsTheQuestions(t *testing.T) {
	page, err := os.ReadFile("../../docs/query.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][2]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\|[^|]*\\|([^|]*)\\|([^|]*)\\|$").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = [2]string{m[2], m[3]}
	}
	names := func(cell string) (out []string) {
		for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cell, -1) {
			out = append(out, m[1])
		}
		return out
	}
	for _, q := range table() {
		cells, ok := listed[q.name]
		if !ok {
			t.Errorf("%s is not on the page", q.name)
			continue
		}
		var required, also []string
		for _, p := range q.parameters {
			if p.required {
				required = append(required, p.name)
			} else {
				also = append(also, p.name)
			}
		}
		if !slices.Equal(names(cells[0]), required) || !slices.Equal(names(cells[1]), also) {
			t.Errorf("%s requires %q and takes %q; the page has %s and %s", q.name, required, also, strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]))
		}
	}
	if len(listed) != len(table())+1 {
		t.Errorf("%d questions on the page, %d there are", len(listed), len(table())+1)
	}
}
