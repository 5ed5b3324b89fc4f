package foreign

import (
	"strings"

	"isochrone/prober/wire"
)

// iperf3Failures are parts of iperf3's error texts (iperf_error.c, and the C library's behind a colon),
// the first that fits counts. Lower case.
var iperf3Failures = []struct {
	part string
	code wire.Failure
}{
	{"server is busy", wire.FailureTargetBusy},
	{"authorization failed", wire.FailureUnauthorized}, {"authentication", wire.FailureUnauthorized},
	{"connection refused", wire.FailureRefused},
	{"timed out", wire.FailureTimeout}, {"timeout", wire.FailureTimeout}, {"stopped responding", wire.FailureTimeout},
	{"no route to host", wire.FailureUnreachable}, {"unreachable", wire.FailureUnreachable}, {"host is down", wire.FailureUnreachable},
	{"name or service not known", wire.FailureDNS}, {"name resolution", wire.FailureDNS}, {"nodename nor servname", wire.FailureDNS},
	{"no address associated", wire.FailureDNS}, {"no such host", wire.FailureDNS}, {"address family for hostname", wire.FailureDNS},
	// What the look-up left in errno, where a name did not resolve.
	{"unable to connect to server: resource temporarily unavailable", wire.FailureDNS},
	{"interrupt", wire.FailureCanceled}, {"client has terminated", wire.FailureCanceled},
	{"reset by peer", wire.FailureReset}, {"broken pipe", wire.FailureReset}, {"closed unexpectedly", wire.FailureReset},
	{"server has terminated", wire.FailureReset}, {"connection aborted", wire.FailureReset},
	{"cookie", wire.FailureProtocol}, {"control message", wire.FailureProtocol}, {"parameters", wire.FailureProtocol},
	{"unable to receive results", wire.FailureProtocol}, {"unrecognized", wire.FailureProtocol}, {"received an unknown", wire.FailureProtocol},
	{"unable to connect", wire.FailureUnreachable},
}

// iperf3Failure is the code of an error; what is none of the network's is the machine's own.
func iperf3Failure(text string) wire.Failure {
	text = strings.ToLower(text)
	for _, f := range iperf3Failures {
		if strings.Contains(text, f.part) {
			return f.code
		}
	}
	return wire.FailureLocal
}
