package convert

import (
	"strings"
	"testing"
)

func TestNamesOfHosts(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"a=x,b=y":               {"a": "x", "b": "y"},
		"::1=x,192.0.2.1=y":     {"::1": "x", "192.0.2.1": "y"},
		"https://a/?q=1=x":      {"https://a/?q=1": "x"},
		"a=x,a=x":               {"a": "x"},
		"x":                     nil,
		"a b=x,\x1b[31m=\u00fc": {"a b": "x", "\x1b[31m": "\u00fc"},
	} {
		e, err := parseNames("target", text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if len(e.hosts) != len(want) || want == nil && e.one != text {
			t.Errorf("%q: %+v", text, e)
		}
		for host, name := range want {
			if e.hosts[host] != name {
				t.Errorf("%q: %q is %q, want %q", text, host, e.hosts[host], name)
			}
		}
	}
	for text, want := range map[string]string{
		"a=x,a=y": `"a" is given as "x" and as "y"`, "a=x,b": "want NAME, or HOST=NAME", "=x": "want NAME", "a=": "want NAME", "a=x,": "want NAME", ",a=x": "want NAME",
	} {
		if _, err := parseNames("target", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
