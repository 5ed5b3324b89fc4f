package foreign

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// pingRun is one run of ping while it is read.
type pingRun struct {
	head   pingHeader
	line   int // in which it begins
	echoes echoes

	first, last         time.Time // by the time stamps of -D
	firstText, lastText Quantity

	refusals  []int64 // sequence numbers for which a router answered; −1: not told
	refusal   string  // the first that it said
	complaint string  // the first of ping's own
	never     bool    // it never began
	shown     int     // lines of Windows, one for each request

	ended      bool // the statistics are there
	counts     [2]Quantity
	extras     map[string]Quantity
	figures    map[string]Quantity
	deviations string // what the tool calls its deviation
}

func newPingRun(h pingHeader, line int) *pingRun {
	return &pingRun{head: h, line: line, echoes: echoes{budget: newEchoBudget()}, extras: map[string]Quantity{}, figures: map[string]Quantity{}}
}

// stamped notes the time in front of a line, less the round trip that had passed by then.
func (r *pingRun) stamped(q Quantity, rtt time.Duration) {
	at, ok := unixTime(q.Text)
	if !ok {
		return
	}
	if r.first.IsZero() {
		r.first, r.firstText = at.Add(-rtt), q
	}
	if at.After(r.last) {
		r.last, r.lastText = at, q
	}
}

// take takes a line behind the header, and says whether it is one that ping writes.
func (r *pingRun) take(line, where string, stamp Quantity) (known bool, err error) {
	if r.head.windows {
		return r.takeWindows(line, where)
	}
	if p, ok := parsePingReply(line); ok {
		return true, r.reply(p, where, stamp)
	}
	if m := refusalLine.FindStringSubmatch(line); m != nil {
		if r.stamped(stamp, 0); !strings.HasPrefix(m[3], "Redirect") {
			r.refused(m[2], m[3]+" (from "+m[1]+")")
		}
		return true, nil
	}
	if m := waitingLine.FindStringSubmatch(line); m != nil {
		r.stamped(stamp, 0)
		if seq, err := strconv.ParseUint(m[1], 10, 16); err == nil {
			r.echoes.unwrap(int64(seq))
		}
		return true, nil
	}
	return r.statistics(line, where) || isPingNoise(line), nil
}

func (r *pingRun) reply(p pingReply, where string, stamp Quantity) error {
	if p.refusal != "" {
		r.stamped(stamp, 0)
		r.refused("", p.refusal)
		return nil
	}
	if p.broken {
		return nil
	}
	seq := r.echoes.unwrap(p.seq)
	q := Quantity{Text: p.time, Unit: p.unit, Where: where}
	if p.below {
		r.stamped(stamp, 0)
		q.Text = "time<" + p.time
		return r.echoes.put(seq, p.duplicate, echoCensored, q)
	}
	if v, err := q.nanoseconds(); err == nil && v != nil {
		r.stamped(stamp, time.Duration(*v))
	} else {
		r.stamped(stamp, 0)
	}
	return r.echoes.add(seq, p.duplicate, q)
}

// refused notes what a router said instead of a reply.
func (r *pingRun) refused(seq, says string) {
	if r.refusal == "" {
		r.refusal = says
	}
	at := int64(-1)
	if n, err := strconv.ParseUint(seq, 10, 16); err == nil {
		at = r.echoes.unwrap(int64(n))
	}
	r.refusals = append(r.refusals, at)
}

// statistics takes the lines at the end of a run.
func (r *pingRun) statistics(line, where string) bool {
	if m := countsLine.FindStringSubmatch(line); m != nil {
		r.ended = true
		r.counts = [2]Quantity{{Text: m[1], Where: where}, {Text: m[2], Where: where}}
		for _, x := range countsExtra.FindAllStringSubmatch(m[3], -1) {
			r.extras[x[2]] = Quantity{Text: x[1], Where: where}
		}
		return true
	}
	if m := figuresLine.FindStringSubmatch(line); m != nil {
		r.deviations = m[1]
		for i, name := range []string{"min", "avg", "max", "deviation"} {
			r.figures[name] = Quantity{Text: m[i+2], Unit: "ms", Where: where}
		}
		return true
	}
	return strings.HasPrefix(line, "--- ") && strings.HasSuffix(line, " statistics ---")
}

// pingSoFar is what iputils' ping says of itself in the middle of a run when it is sent SIGQUIT.
var pingSoFar = regexp.MustCompile(`^\r?\d+/\d+ packets, \d+% loss`)

// isPingNoise says whether a line is one that ping writes, and that tells no figure: dumps of packets and
// routes, the dots of a flood, an interrupt's echo.
func isPingNoise(line string) bool {
	for _, p := range []string{" ", "\t", "Vr HL TOS", "PATTERN: ", "wrong data byte", "#", "RR: ", "LSRR: ", "TS: ", "pipe ", ", pipe ", "^C", "WARNING: ", "Warning: ", "wrong total length", "Unrecorded hops", "(same route)"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return strings.Trim(line, ".\b EC") == "" || pingSoFar.MatchString(line)
}

// sentByLines is what the sequence numbers say was sent: all up to the highest.
func (r *pingRun) sentByLines() int {
	if !r.echoes.mentioned {
		return 0
	}
	base := int64(1)
	if r.head.zero || r.echoes.lowest == 0 {
		base = 0
	}
	return int(r.echoes.highest - base + 1)
}

// finding makes the finding of the run; nil when nothing is known of it.
func (r *pingRun) finding() (*Finding, []*Fault) {
	f := &Finding{Tool: "ping", From: r.head.from, To: r.head.host, Run: wire.Run{Kind: wire.KindICMP, Address: hostAddress(r.head.address)}}
	if r.head.windows {
		f.Tool = "ping (Windows)"
	}
	if r.never {
		f.Run.Failure, f.Run.Detail = wire.Failure(complaintOf(r.complaint)), r.complaint
		f.explain("failure", Quantity{Text: r.complaint, Where: "line " + strconv.Itoa(r.line)})
		return f, nil
	}
	if !r.first.IsZero() {
		f.began(r.first, r.firstText)
		if r.last.After(r.first) {
			end := r.last
			f.Run.End = &end
			f.explain("end", r.lastText)
		}
	}
	if !r.ended && r.complaint != "" && !r.echoes.mentioned { // it gave up with the first request
		r.fail(f)
		return f, nil
	}
	faults := r.fill(f)
	switch {
	case f.Run.Counts.Received > 0:
	case f.Run.Counts.Sent == 0:
		return nil, append(faults, &Fault{Line: r.line, Offset: NoOffset, Reason: "the run that begins here sent nothing"})
	default:
		r.fail(f)
	}
	return f, faults
}

// fail says why nothing was received.
func (r *pingRun) fail(f *Finding) {
	switch errors := r.extras["errors"]; {
	case r.refusal != "":
		f.Run.Failure, f.Run.Detail = wire.FailureUnreachable, r.refusal
	case r.complaint != "":
		f.Run.Failure, f.Run.Detail = wire.Failure(complaintOf(r.complaint)), r.complaint
	case errors.there(): // with -q nothing else is told of them
		f.Run.Failure, f.Run.Detail = wire.FailureUnreachable, "+"+errors.Text+" errors"
	default:
		f.Run.Failure, f.Run.Detail = wire.FailureTimeout, fmt.Sprintf("nothing was received of %d packets", f.Run.Counts.Sent)
	}
	f.explain("failure", Quantity{Text: f.Run.Detail, Where: "the run from line " + strconv.Itoa(r.line)})
}
