package foreign

import (
	"strings"

	"isochrone/prober/wire"
)

// failureWords are words in which tools and the systems below them, Linux, Windows and Go's libraries,
// tell of failures; the first that is there counts. A look-up that timed out is a timeout.
var failureWords = []struct {
	words string
	code  wire.Failure
}{
	{"timed out", wire.FailureTimeout}, {"timeout", wire.FailureTimeout}, {"time out", wire.FailureTimeout}, {"deadline exceeded", wire.FailureTimeout},
	{"refused", wire.FailureRefused},
	{"reset by peer", wire.FailureReset}, {"forcibly closed", wire.FailureReset}, {"broken pipe", wire.FailureReset}, {"unexpected eof", wire.FailureReset},
	{"no such host", wire.FailureDNS}, {"resolve", wire.FailureDNS}, {"lookup", wire.FailureDNS}, {"looup", wire.FailureDNS}, // ethr's own spelling
	{"name resolution", wire.FailureDNS}, {"name or service", wire.FailureDNS},
	{"x509", wire.FailureTLS}, {"certificate", wire.FailureTLS}, {"tls", wire.FailureTLS}, {"ssl", wire.FailureTLS},
	{"unreachable", wire.FailureUnreachable}, {"no route", wire.FailureUnreachable}, {"cannot be reached", wire.FailureUnreachable},
	{"permission", wire.FailureNotPermitted}, {"not permitted", wire.FailureNotPermitted}, {"access is denied", wire.FailureNotPermitted},
	{"too many open files", wire.FailureLocal}, {"cannot assign requested address", wire.FailureLocal},
	{"too many requests", wire.FailureTargetBusy},
}

// failureInWords is the failure code for what a tool or a system says of an error; otherwise where it
// says nothing that is known.
func failureInWords(text string, otherwise wire.Failure) wire.Failure {
	text = strings.ToLower(text)
	for _, f := range failureWords {
		if strings.Contains(text, f.words) {
			return f.code
		}
	}
	return otherwise
}
