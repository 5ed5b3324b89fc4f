package wire

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// maxHostBytes is the longest DNS name (RFC 1035, 2.3.4), written with dots.
const maxHostBytes = 253

var (
	hostLabel = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	digits    = regexp.MustCompile(`^[0-9]+$`)
)

// ValidateHost returns an error unless s is an IP address or, by its syntax, the DNS name of a
// host (RFC 1123, 2.1: labels of letters, digits and hyphens, the last not of digits alone, so
// that a mistyped IPv4 address is no name). A final dot is allowed.
func ValidateHost(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	name := strings.TrimSuffix(s, ".")
	if name == "" || len(name) > maxHostBytes {
		return fmt.Errorf("host of %d characters: want 1 to %d", len(name), maxHostBytes)
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !hostLabel.MatchString(l) {
			return badHost(s)
		}
	}
	if digits.MatchString(labels[len(labels)-1]) {
		return badHost(s)
	}
	return nil
}

func badHost(s string) error {
	return fmt.Errorf("host %q: want an IP address or a DNS name, such as 20.50.1.2 or weu.example.com", cutForError([]byte(s)))
}
