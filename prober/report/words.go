package report

import (
	"cmp"
	"fmt"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// reasonText says in words why a run is degraded.
func reasonText(r summary.Reason) string {
	switch r {
	case summary.ReasonLateSends:
		return "samples left this machine late: it was busy, and what they met was not what was due"
	case summary.ReasonClientOverhead:
		return "waking this program up is a large part of the round trip: give it a free processor, or use udp or icmp, which the kernel clocks"
	case summary.ReasonServerDwell:
		return "the target held requests for long: its machine was busy, and that is in the round trip"
	case summary.ReasonCPUSteal:
		return "the hypervisor gave much of this machine's time to others"
	case summary.ReasonClockStep:
		return "this machine's clock was set during the run"
	case summary.ReasonSplitBelowRTT:
		return "the server says that it took longer than there was time for: its share cannot be right"
	}
	return string(r)
}

// failureText says in words what a failure code is.
func failureText(f wire.Failure) string {
	switch f {
	case wire.FailureTimeout:
		return "no reply in time"
	case wire.FailureRefused:
		return "connection refused"
	case wire.FailureReset:
		return "connection cut"
	case wire.FailureUnreachable:
		return "the network knows no way to it"
	case wire.FailureDNS:
		return "name not resolved"
	case wire.FailureTLS:
		return "TLS handshake failed"
	case wire.FailureTargetBusy:
		return "target busy"
	case wire.FailureUnauthorized:
		return "the target did not accept the key"
	case wire.FailureCanceled:
		return "stopped before its reply was due"
	case wire.FailureProtocol:
		return "not an answer of this kind"
	case wire.FailureNotPermitted:
		return "not permitted on this machine"
	case wire.FailureHTTPStatus:
		return "HTTP status of 400 or more"
	case wire.FailureBudget:
		return "the byte budget does not allow it"
	case wire.FailureLocal:
		return "this machine failed"
	}
	return string(f)
}

// FailureText is a failure code with what it means.
func FailureText(f wire.Failure) string {
	text := failureText(f)
	if text == string(f) {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, f)
}

// Remedy is what a person can do about a run of the kind in which nothing was received; empty
// where the failure's detail says it all. keyed says that the target is a reflector with a shared key.
func Remedy(kind wire.Kind, f wire.Failure, keyed bool) string {
	switch f {
	case wire.FailureUnauthorized:
		return "is the key the same on both sides, do the clocks differ by less than ten minutes, and is it a reflector (prober reflect) that listens there?"
	case wire.FailureRefused:
		if keyed {
			return "does \"prober reflect\" run there, on this port, for " + string(kind) + "?"
		}
		return "nothing listens on that port: is it the right one, and does the service run?"
	case wire.FailureTimeout:
		if keyed && kind == wire.KindUDP {
			return "is the host up, does a firewall let UDP through to the port, does \"prober reflect\" run there, is the key the same on both sides, and do the clocks differ by less than ten minutes?"
		}
		if keyed {
			return "is the host up, does a firewall let " + transport(kind) + " through to the port, and does \"prober reflect\" run there?"
		}
		return "is the host up, and does a firewall let " + transport(kind) + " through?"
	case wire.FailureUnreachable:
		return "there is no route to it from here: see the routes, and that the address is right"
	case wire.FailureDNS:
		return "see that the name is right, or give the address"
	case wire.FailureTLS:
		return "see that the server's certificate is valid for the name, or that it speaks TLS on that port at all"
	case wire.FailureNotPermitted:
		return permission(runtime.GOOS) + ", or use --kind connect, which needs no privilege"
	case wire.FailureReset:
		return "something cut the connection: a firewall, or a service that is full"
	case wire.FailureProtocol:
		return "what answers there is not what was asked for: see the port"
	case wire.FailureHTTPStatus:
		return "give a URL that the server answers with a status below 400"
	case wire.FailureBudget:
		return "raise --max-bytes, here or that of the target's \"prober reflect\""
	case wire.FailureTargetBusy:
		return "somebody else's run loads the target: try again when it is over"
	case wire.FailureLocal:
		return "this machine has no descriptor, port or permission left for it"
	}
	return ""
}

// permission is how a system lets a program send echo requests.
func permission(system string) string {
	switch system {
	case "linux":
		return "grant CAP_NET_RAW, or widen net.ipv4.ping_group_range"
	case "windows":
		return "run this program as an administrator"
	}
	return "run this program as root"
}

func transport(kind wire.Kind) string {
	switch kind {
	case wire.KindICMP:
		return "echo requests (ICMP)"
	case wire.KindUDP:
		return "UDP"
	}
	return "TCP"
}

// Target is a target as it is shown: of a URL the scheme, host and path. A query may hold a
// secret, and reports are passed on: "?…" stands for it.
func Target(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "URL" // nobody knows which part of it is which
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	out := shown.String()
	if u.RawQuery != "" || u.ForceQuery {
		out += "?…"
	}
	return out
}

// Visible replaces what could steer a terminal: parts of a text may come from another machine.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// Milliseconds shows a duration in ms, to the microsecond.
func Milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

// ms shows microseconds in ms; "-" is a value that is absent.
func ms(us *Microseconds) string {
	if us == nil {
		return "-"
	}
	return strconv.FormatFloat(float64(*us)/1000, 'f', 3, 64)
}

// msOf is ms of a percentile, which is "few" of fewer received samples than it needs.
func msOf(us *Microseconds, received, needs int) string {
	if us == nil && received < needs {
		return "few"
	}
	return ms(us)
}

func percent(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	places := 2
	if *ratio > 0 && *ratio < 0.0001 { // 0.00 % would say none
		places = 4
	}
	return strconv.FormatFloat(*ratio*100, 'f', places, 64) + " %"
}

// Describe says how a spec measures. during, if it is set, is when it ends whatever its count.
func Describe(s wire.Spec, during time.Duration) string {
	parts := []string{fmt.Sprintf("%d samples", s.Count)}
	switch {
	case during > 0:
		parts[0] = "for " + during.String()
	case s.Count == 1:
		parts[0] = "1 sample"
	}
	if s.ClosedLoop() {
		parts = append(parts, "back to back")
	} else {
		parts = append(parts, "one every "+s.Interval.String())
	}
	switch {
	case s.ResponseBytes > 0:
		parts = append(parts, fmt.Sprintf("%d bytes there and %d back", s.RequestBytes, s.ResponseBytes))
	case s.RequestBytes > 0:
		parts = append(parts, fmt.Sprintf("%d bytes", s.RequestBytes))
	case s.Kind == wire.KindHTTP:
		parts = append(parts, cmp.Or(s.Method, "GET")+", "+map[string]string{
			wire.ConnectionFresh: "a new connection each", wire.ConnectionKeepAlive: "one connection for all"}[s.Connection])
	}
	return strings.Join(append(parts, "timeout "+s.Timeout.String()), ", ")
}
