package foreign

import (
	"strings"

	"isochrone/prober/wire"
)

// failureInWords is the failure code for what a system says of an error, in the words of Linux or
// Windows; otherwise where it says none of them.
func failureInWords(text string, otherwise wire.Failure) wire.Failure {
	text = strings.ToLower(text)
	for _, c := range []struct {
		words   string
		failure wire.Failure
	}{
		{"refused", wire.FailureRefused},
		{"reset by peer", wire.FailureReset}, {"forcibly closed", wire.FailureReset}, {"broken pipe", wire.FailureReset},
		{"unreachable", wire.FailureUnreachable}, {"no route", wire.FailureUnreachable}, {"cannot be reached", wire.FailureUnreachable},
		{"no such host", wire.FailureDNS}, {"name resolution", wire.FailureDNS}, {"name or service", wire.FailureDNS}, {"could not be resolved", wire.FailureDNS},
		{"not permitted", wire.FailureNotPermitted}, {"permission denied", wire.FailureNotPermitted}, {"access is denied", wire.FailureNotPermitted},
		{"timed out", wire.FailureTimeout}, {"timeout", wire.FailureTimeout}, {"time out", wire.FailureTimeout},
	} {
		if strings.Contains(text, c.words) {
			return c.failure
		}
	}
	return otherwise
}
