package isochrone

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page on security says what shows each claim: a test that was renamed or removed shows nothing.
func TestTheSecurityPageNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, s := range sources(t) {
		if s.test {
			b, err := os.ReadFile(s.name)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(b)
		}
	}
	named := regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 30 {
		t.Fatalf("the page names only %d tests", len(named))
	}
	for _, m := range named {
		if !strings.Contains(tests.String(), "\nfunc "+m[1]+"(t *testing.T") {
			t.Errorf("docs/security.md names %s, which is no test", m[1])
		}
	}
}
