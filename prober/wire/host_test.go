package wire

import (
	"strings"
	"testing"
)

func TestHostsAreAddressesOrDNSNamesBySyntax(t *testing.T) {
	label := strings.Repeat("x", 63)
	long := strings.Join([]string{label, label, label, strings.Repeat("x", 61)}, ".") // 253 characters
	for _, good := range []string{
		"20.50.1.2", "::1", "2001:db8::1", "::ffff:127.0.0.1", "localhost", "weu.example.com", "WEU.example.com.", "3com.example", "1.2.3.4x", "a-b.c", label, long, long + ".",
	} {
		if err := ValidateHost(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", ".", "foo/bar", "999.1", "20.50.1.256", "7700", "-a.example", "a-.example", "a..example", ".example", "a_b.example", "a b", "a:7700", "[::1]", "http://a", "é.example", "a.example..", label + "x", long + "x",
	} {
		if err := ValidateHost(bad); err == nil || !strings.Contains(err.Error(), "host ") {
			t.Errorf("%q: %v; want an error about the host", bad, err)
		}
	}
}
