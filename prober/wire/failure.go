package wire

import (
	"fmt"
	"slices"
)

// Failure says why a sample or a run brought no result. The list is closed: a reader of the
// tables may switch over it. The empty Failure means success, and is null in JSON.
type Failure string

// The failure codes.
const (
	// FailureTimeout: no reply within the sample's timeout; a late reply is counted as late.
	FailureTimeout Failure = "timeout"
	// FailureRefused: the target's machine answered that nothing listens on the port.
	FailureRefused Failure = "refused"
	// FailureReset: the connection was cut while it was in use.
	FailureReset Failure = "reset"
	// FailureUnreachable: the network said that there is no way to the target.
	FailureUnreachable Failure = "unreachable"
	// FailureDNS: the target's name could not be resolved.
	FailureDNS Failure = "dns"
	// FailureTLS: the TLS handshake failed.
	FailureTLS Failure = "tls"
	// FailureTargetBusy: the target's reflector is at its limit of sessions.
	FailureTargetBusy Failure = "target_busy"
	// FailureUnauthorized: the target did not accept, or did not prove, the session's key.
	FailureUnauthorized Failure = "unauthorized"
	// FailureTargetDown: the target never registered, its heartbeat is old, or it has no usable
	// address on the path; nothing was sent. The run's detail says which.
	FailureTargetDown Failure = "target_down"
	// FailureExpired: no result came from the source before the run expired. Only the app says so.
	FailureExpired Failure = "expired"
	// FailureCanceled: the source stopped, or its deadline passed, before the sample was sent, or
	// before it had its whole timeout to be answered. The latter are no loss.
	FailureCanceled Failure = "canceled"
	// FailureProtocol: the target answered with something that the kind does not allow.
	FailureProtocol Failure = "protocol"
	// FailureUnsupported: the source does not know the kind, or may not use it.
	FailureUnsupported Failure = "unsupported"
	// FailureNotPermitted: the source's system does not let it measure the kind (an ICMP socket).
	FailureNotPermitted Failure = "not_permitted"
	// FailureHTTPStatus: the server answered with a status of 400 or more.
	FailureHTTPStatus Failure = "http_status"
	// FailureBudget: the byte budget of the sweep or the month is used up; nothing was sent.
	FailureBudget Failure = "budget"
	// FailureLocal: the source's own machine failed: no descriptor, port or permission was left.
	FailureLocal Failure = "local"
)

// Failures lists every failure code, in the order of the documentation.
func Failures() []Failure {
	return []Failure{FailureTimeout, FailureRefused, FailureReset, FailureUnreachable, FailureDNS, FailureTLS,
		FailureTargetBusy, FailureUnauthorized, FailureTargetDown, FailureExpired, FailureCanceled,
		FailureProtocol, FailureUnsupported, FailureNotPermitted, FailureHTTPStatus, FailureBudget, FailureLocal}
}

// Validate returns an error unless f is empty or on the list.
func (f Failure) Validate() error {
	if f == "" || slices.Contains(Failures(), f) {
		return nil
	}
	return fmt.Errorf("failure code %q is not one of %q", string(f), Failures())
}

// CutDetail shortens a free text to MaxDetailBytes, at a character's border.
func CutDetail(s string) string {
	if len(s) <= MaxDetailBytes {
		return s
	}
	cut := MaxDetailBytes
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut]
}
