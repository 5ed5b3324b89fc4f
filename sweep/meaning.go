package main

import (
	"maps"
	"slices"
	"strings"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/answers"
)

// allReasons lists the reasons for which a run is degraded, in the order in which they are shown.
func allReasons() []summary.Reason {
	return []summary.Reason{summary.ReasonLateSends, summary.ReasonClientOverhead, summary.ReasonServerDwell,
		summary.ReasonCPUSteal, summary.ReasonClockStep, summary.ReasonSplitBelowRTT,
		summary.ReasonDamaged, summary.ReasonUnsynchronised}
}

// reasonMeaning says in words why a run is degraded.
func reasonMeaning(r summary.Reason) string {
	switch r {
	case summary.ReasonLateSends:
		return "samples left late"
	case summary.ReasonClientOverhead:
		return "the source's waking up is a large part of the round trip"
	case summary.ReasonServerDwell:
		return "the target held requests for long"
	case summary.ReasonCPUSteal:
		return "the hypervisor gave much of the time to others"
	case summary.ReasonClockStep:
		return "a clock was set during the run"
	case summary.ReasonSplitBelowRTT:
		return "a server's own figure cannot be right"
	case summary.ReasonDamaged:
		return "a part of the document could not be read"
	case summary.ReasonUnsynchronised:
		return "the tool's one-way delays are of clocks that do not agree"
	}
	return string(r) // a newer app's
}

// describeReasons says why cells of a matrix are degraded, each reason once.
func describeReasons(m *answers.Matrix) string {
	shown := map[summary.Reason]bool{}
	for i := range m.Cells {
		for _, r := range m.Cells[i].Degraded {
			shown[r] = true
		}
	}
	var out []string
	for _, r := range allReasons() {
		if shown[r] {
			out = append(out, reasonMeaning(r))
			delete(shown, r)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(shown)) { // a newer app's
		out = append(out, visible(string(r)))
	}
	return strings.Join(out, ", ")
}

// failureMeaning says a failure code in words, for people who have not read the formats' page.
func failureMeaning(f wire.Failure) string {
	switch f {
	case wire.FailureTimeout:
		return "no reply came in time"
	case wire.FailureRefused:
		return "nothing listens on the target's port"
	case wire.FailureReset:
		return "the connection was cut while it was in use"
	case wire.FailureUnreachable:
		return "the network has no way to the target"
	case wire.FailureDNS:
		return "the target's name could not be resolved"
	case wire.FailureTLS:
		return "the TLS handshake failed"
	case wire.FailureTargetBusy:
		return "the target has no session left"
	case wire.FailureUnauthorized:
		return "the target did not accept, or did not prove, the session's key"
	case wire.FailureTargetDown:
		return "the target never registered, is silent, or has no usable address: sweep runs shows the detail"
	case wire.FailureExpired:
		return "the source delivered no result in time"
	case wire.FailureCanceled:
		return "the source stopped, or ran out of time"
	case wire.FailureProtocol:
		return "the target answered with something that is not allowed"
	case wire.FailureUnsupported:
		return "the source does not know this kind of probe, or will not measure the address"
	case wire.FailureNotPermitted:
		return "the source's system does not let it measure this kind: sweep runs shows what to grant"
	case wire.FailureHTTPStatus:
		return "the server answered with a status of 400 or more: sweep runs shows which"
	case wire.FailureBudget:
		return "the byte budget of the sweep or of the month is planned already: nothing was sent"
	case wire.FailureLocal:
		return "the source's own machine failed"
	}
	return ""
}
