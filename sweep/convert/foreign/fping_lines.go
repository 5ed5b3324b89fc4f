package foreign

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// fpingKind is what a line of fping's is.
type fpingKind uint8

const (
	fpingOther   fpingKind = iota // none of fping's
	fpingNoise                    // fping's, and of no figure
	fpingReply                    // host : [0], 64 bytes, 0.22 ms (0.22 avg, 0% loss)
	fpingTimeout                  // host : [2], timed out (18.5 avg, 33% loss)
	fpingAgain                    // host : duplicate for [0], 64 bytes, 0.22 ms
	fpingCounts                   // host : xmt/rcv/%loss = 5/4/20%, min/avg/max = 0.018/0.062/0.225
	fpingList                     // host : 0.05 0.06 - 0.04
	fpingRefusal                  // ICMP Host Unreachable from 192.0.2.1 for ICMP Echo sent to host
	fpingAlive                    // host is alive (0.05 ms)
	fpingDead                     // host is unreachable
	fpingUnknown                  // host: Name or service not known
	fpingClock                    // [12:00:00], in front of an interval's summaries
)

// fpingText is a line, taken apart.
type fpingText struct {
	kind       fpingKind
	stamp      string
	host       string
	seq        int64
	time       string
	rest       string
	xmt, rcv   string
	least, avg string
	most       string
}

var (
	fpingStamp       = regexp.MustCompile(`^\[([^\]]{8,40})\] `)
	fpingCountsForm  = regexp.MustCompile(`^(\S+)\s+: xmt/rcv/%(?:loss|return) = (\d+)/(\d+)/\d+%(?:, outage\(ms\) = \d+)?(?:, min/avg/max = ([^/\s]+)/([^/\s]+)/([^/\s]+))?$`)
	fpingListForm    = regexp.MustCompile(`^(\S+)\s+:((?: (?:-|\d+\.\d{2,3}|\d{2}\.\d|\d{3,}|\d\.\d{3}e\+\d\d))+)$`)
	fpingRefusalForm = regexp.MustCompile(`^(ICMP .+ from \S+) for ICMP Echo sent to (\S+?)(?: \(\S+\))?$`)
	fpingStateForm   = regexp.MustCompile(`^(\S+) is (alive|unreachable)(?: \((\S+) ms\))?$`)
	fpingUnknownForm = regexp.MustCompile(`^(\S+?):? (Name or service not known|Temporary failure in name resolution|No address associated with hostname|Name does not resolve|nodename nor servname provided, or not known|address not found)$`)
	fpingClockForm   = regexp.MustCompile(`^\[\d\d:\d\d:\d\d\]$`)
	fpingNoiseForm   = regexp.MustCompile(`^\s+[\d.]+ (?:ms \(|targets$|alive$|unreachable$|unknown addresses$|timeouts |ICMP |other ICMP |sec \()`)
)

// parseFpingLine takes a line of fping's text apart.
func parseFpingLine(line string) (f fpingText) {
	if strings.HasPrefix(line, "[") {
		if m := fpingStamp.FindStringSubmatch(line); m != nil {
			f.stamp, line = m[1], line[len(m[0]):]
		}
	}
	host, says, ok := strings.Cut(line, " : ")
	if host = strings.TrimRight(host, " "); ok && host != "" && len(host) <= maxHostName && !strings.ContainsAny(host, " \t") {
		f.host = host
		if f.parseReply(says); f.kind != fpingOther {
			return f
		}
	}
	switch {
	case line == "" || fpingNoiseForm.MatchString(line):
		f.kind = fpingNoise
	case ok:
		if m := fpingCountsForm.FindStringSubmatch(line); m != nil {
			f.kind, f.host, f.xmt, f.rcv, f.least, f.avg, f.most = fpingCounts, m[1], m[2], m[3], m[4], m[5], m[6]
		} else if m := fpingListForm.FindStringSubmatch(line); m != nil {
			f.kind, f.host, f.rest = fpingList, m[1], m[2]
		}
	default:
		f.parseState(line)
	}
	return f
}

// parseReply reads what stands behind the host in the lines that are most of a text: "[0], 64 bytes,
// 0.22 ms (…", "[0], timed out (…" and "duplicate for [0], …".
func (f *fpingText) parseReply(says string) {
	kind := fpingReply
	if rest, ok := strings.CutPrefix(says, "duplicate for "); ok {
		kind, says = fpingAgain, rest
	}
	digits, rest, ok := strings.Cut(strings.TrimPrefix(says, "["), "], ")
	if !ok || !strings.HasPrefix(says, "[") || len(digits) > 9 {
		return
	}
	seq, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return
	}
	f.seq = int64(seq)
	if kind == fpingReply && strings.HasPrefix(rest, "timed out") {
		f.kind = fpingTimeout
		return
	}
	size, rest, ok := strings.Cut(rest, " bytes, ")
	if _, err := strconv.ParseUint(size, 10, 32); !ok || err != nil {
		return
	}
	if f.time, _, ok = strings.Cut(rest, " ms"); ok && f.time != "" && !strings.Contains(f.time, " ") {
		f.kind = kind
	}
}

// parseState reads what fping says of a target as a whole.
func (f *fpingText) parseState(line string) {
	if m := fpingRefusalForm.FindStringSubmatch(line); m != nil {
		f.kind, f.host, f.rest = fpingRefusal, m[2], m[1]
	} else if m := fpingStateForm.FindStringSubmatch(line); m != nil {
		if f.kind, f.host, f.time = fpingAlive, m[1], m[3]; m[2] == "unreachable" {
			f.kind = fpingDead
		}
	} else if m := fpingUnknownForm.FindStringSubmatch(line); m != nil {
		f.kind, f.host, f.rest = fpingUnknown, m[1], line
	} else if fpingClockForm.MatchString(line) {
		f.kind = fpingClock
	}
}

func fpingPlace(line int) string { return "line " + strconv.Itoa(line) }

// takeLine takes a line of text.
func (r *fpingReader) takeLine(line, where string) error {
	f := parseFpingLine(line)
	switch f.kind {
	case fpingNoise:
		return nil
	case fpingOther:
		return &Fault{Offset: NoOffset, Reason: fmt.Sprintf("%.60q is no line of fping's", line)}
	case fpingClock:
		r.interval = map[string]bool{}
		return nil
	case fpingCounts:
		if r.interval != nil && !r.interval[f.host] { // the whole's summaries have no clock in front
			if len(r.interval) >= MaxFindings {
				return r.beyond()
			}
			r.interval[strings.Clone(f.host)] = true
			r.intervals++
			return nil
		}
	}
	t, err := r.target(f.host, f.kind == fpingReply || f.kind == fpingTimeout || f.kind == fpingCounts || f.kind == fpingList)
	if err != nil {
		return err
	}
	t.place = where
	told := func(text, unit string) Quantity { // of which the line need not be kept
		return Quantity{Text: strings.Clone(text), Unit: unit, Where: where}
	}
	ms := func(text string) Quantity { return told(text, "ms") }
	says := func(text string) string { return strings.Clone(wire.CutDetail(text)) }
	switch f.kind {
	case fpingReply:
		return t.reply(f.seq, ms(f.time), told(f.stamp, ""))
	case fpingTimeout:
		t.lost(f.seq, told(f.stamp, ""))
	case fpingAgain:
		t.again++
	case fpingCounts:
		t.sum(told(f.xmt, ""), told(f.rcv, ""), ms(f.least), ms(f.avg), ms(f.most))
	case fpingList:
		words := strings.Fields(f.rest)
		values := make([]Quantity, len(words))
		for i, w := range words {
			values[i] = ms(w)
		}
		return t.list(values)
	case fpingRefusal:
		if t.refusal == "" {
			t.refusal = says(f.rest)
		}
	case fpingAlive:
		t.alive = true
		if f.time != "" {
			return t.reply(0, ms(f.time), Quantity{})
		}
	case fpingDead:
		t.dead = says(line)
	case fpingUnknown:
		t.unknown = says(f.rest)
	}
	return nil
}

// fpingTime reads a time stamp of -D, of which only those with a date and a zone tell a time.
func fpingTime(s string) (time.Time, bool) {
	if at, ok := unixTime(s); ok {
		return at, true
	}
	at, err := time.Parse("2006-01-02T15:04:05-0700", s)
	return at.UTC(), err == nil && !at.Before(epoch) && !at.After(horizon)
}

// nthRun tells runs of the same ends apart that say no time.
func nthRun(n int) string {
	if n < 2 {
		return ""
	}
	return strconv.Itoa(n)
}
