package foreign

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// pingHeader is what the first line of a run says.
type pingHeader struct {
	host, address, from string
	windows, zero       bool // zero: sequence numbers begin at 0
}

var (
	windowsHeader = regexp.MustCompile(`^Pinging (\S+)(?: \[([^\]]+)\])?(?: from (\S+))? with \d+ bytes of data:?$`)
	ping6Header   = regexp.MustCompile(`^PING6?\(\d+(?:=[\d+]+)? bytes\) (\S+) --> (\S+)$`)
)

// parsePingHeader reads the first line of a run:
//
//	PING host (192.0.2.1) 56(84) bytes of data.                     iputils
//	PING host(host (2001:db8::1)) from 2001:db8::2 eth0: 56 data bytes
//	PING host (192.0.2.1): 56 data bytes                            BusyBox, macOS, the BSDs
//	PING6(56=40+8+8 bytes) ::1 --> ::1
//	Pinging host [192.0.2.1] with 32 bytes of data:                 Windows
func parsePingHeader(line string) (h pingHeader, ok bool) {
	if m := windowsHeader.FindStringSubmatch(line); m != nil {
		h = pingHeader{host: m[1], address: m[2], from: m[3], windows: true}
		if h.address == "" {
			h.address = h.host
		}
		return h, true
	}
	if m := ping6Header.FindStringSubmatch(line); m != nil {
		return pingHeader{host: m[2], address: m[2], from: m[1], zero: true}, true
	}
	rest, ok := strings.CutPrefix(line, "PING ")
	if !ok || !strings.HasSuffix(line, " data bytes") && !strings.HasSuffix(line, " bytes of data.") {
		return h, false
	}
	open, shut := strings.IndexByte(rest, '('), strings.IndexByte(rest, ')')
	if open <= 0 || shut < open {
		return h, false
	}
	h.host = strings.TrimSpace(rest[:open])
	h.address = rest[open+1 : shut]
	h.address = h.address[strings.LastIndexAny(h.address, "( ")+1:]
	tail := strings.TrimLeft(rest[shut:], ")")
	h.zero = strings.HasPrefix(tail, ": ")
	if _, from, ok := strings.Cut(tail, " from "); ok {
		from, _, _ = strings.Cut(from, " ")
		h.from = strings.TrimSuffix(from, ":")
	}
	return h, h.host != "" && len(h.host) <= maxHostName && !strings.ContainsAny(h.host, " \t")
}

// maxHostName is the longest name of a host that is believed: DNS allows 253 bytes.
const maxHostName = 255

// hostAddress is an IP address as it is usually written; empty when the text is none.
func hostAddress(s string) string {
	if a, err := netip.ParseAddr(s); err == nil && len(s) <= maxHostName {
		return a.String()
	}
	return ""
}

var clockPrefix = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{6} `)

// pingStamp takes the time stamp of -D from the front of a line, and that of macOS' --apple-time,
// which has no date and so tells nothing.
func pingStamp(line, where string) (Quantity, string) {
	if m := clockPrefix.FindString(line); m != "" {
		return Quantity{}, line[len(m):]
	}
	if !strings.HasPrefix(line, "[") {
		return Quantity{}, line
	}
	stamp, rest, ok := strings.Cut(line[1:], "] ")
	if _, isTime := unixTime(stamp); !ok || !isTime {
		return Quantity{}, line
	}
	return Quantity{Text: stamp, Unit: "s since 1970", Where: where}, rest
}

// unixTime reads seconds since 1970 with a fraction, to the nanosecond.
func unixTime(s string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(whole) > 11 || len(fraction) > 9 {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseUint(whole, 10, 63)
	if err != nil {
		return time.Time{}, false
	}
	ns, err := strconv.ParseUint((fraction + "000000000")[:9], 10, 32)
	if err != nil {
		return time.Time{}, false
	}
	at := time.Unix(int64(seconds), int64(ns)).UTC()
	return at, !at.Before(epoch) && !at.After(horizon)
}

// pingReply is one line that a reply, or a router's word, made.
type pingReply struct {
	seq       int64 // −1: not told
	time      string
	unit      string
	below     bool   // the time is only known to be below that
	duplicate bool   // by the tool's word
	broken    bool   // its checksum is wrong: ping does not count it as received
	refusal   string // what a router said instead; empty for a reply
}

var replyLine = regexp.MustCompile(`^\d+ bytes from (.+)$`)

// parsePingReply reads a line of Unix pings: "64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.035 ms".
func parsePingReply(line string) (p pingReply, ok bool) {
	m := replyLine.FindStringSubmatch(line)
	if m == nil {
		return p, false
	}
	p.seq = -1
	fields := strings.Fields(m[1])
	for i, word := range fields {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case name == "icmp_seq" || name == "seq":
			if seq, err := strconv.ParseUint(value, 10, 16); err == nil {
				p.seq = int64(seq)
			}
		case name == "time":
			p.time, p.unit = value, unitBehind(fields, i)
		case strings.HasPrefix(word, "time<"):
			p.time, p.unit, p.below = word[len("time<"):], unitBehind(fields, i), true
		}
	}
	p.duplicate = strings.HasSuffix(line, "(DUP!)") || strings.Contains(line, " (DUP!) ")
	p.broken = strings.Contains(line, "(BAD CHECKSUM!)")
	if p.seq < 0 { // the BSDs write a router's word like a reply
		if _, says, found := strings.Cut(m[1], ": "); found {
			p.refusal = says
		}
	}
	return p, p.seq >= 0 || p.refusal != ""
}

// unitBehind is the unit behind a number; milliseconds where there is none.
func unitBehind(fields []string, i int) string {
	if i+1 < len(fields) {
		if _, ok := durations[fields[i+1]]; ok {
			return fields[i+1]
		}
	}
	return "ms"
}

var (
	refusalLine = regexp.MustCompile(`^From (\S+?):?(?: \(\S+\):?)? icmp_seq=(\d+) (.+)$`)
	waitingLine = regexp.MustCompile(`^(?:no answer yet for icmp_seq=|Request timeout for icmp_seq )(\d+)$`)
	countsLine  = regexp.MustCompile(`^(\d+) packets transmitted, (\d+) (?:packets )?received(.*)$`)
	figuresLine = regexp.MustCompile(`^(?:rtt|round-trip) min/avg/max(?:/(mdev|stddev|std-dev))? = ([\d.]+)/([\d.]+)/([\d.]+)(?:/([\d.]+))? ms`)
	countsExtra = regexp.MustCompile(`\+?(\d+(?:\.\d+)?%?) (duplicates|errors|corrupted|packet loss|packets out of wait time)`)
)
