package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

// How a run shows while it is made.
const (
	// lineInterval is from which interval on every reply gets a line. More of them nobody reads,
	// and writing them would disturb what is measured.
	lineInterval = 200 * time.Millisecond
	barEvery     = 250 * time.Millisecond // on a terminal
	noteEvery    = 10 * time.Second       // elsewhere
	// openingNote is how long a session may take to open before that is said.
	openingNote = 3 * time.Second
	// lateSlack is how much longer than its timeout a sample is waited for before it is called
	// lost: the sample may have left late.
	lateSlack = 50 * time.Millisecond
)

// display shows a run while it is made. Its figures are for the eye: those that count are the run's.
type display struct {
	ping    *ping
	out     io.Writer
	address string
	lines   bool // a line a reply; otherwise progress
	bar     bool // progress is rewritten in place

	events   chan event
	received atomic.Int64 // in time, warm-up left out
	heard    atomic.Bool  // anything at all
	done     chan struct{}
	ended    sync.WaitGroup

	// Of the goroutine that shows, and of finish after it.
	begin  time.Time // when the first sample was due, as far as it is known; zero: not yet
	known  bool      // begin is from a reply
	shown  []bool    // by sequence: it has a line
	next   int       // all before have one
	clear  int       // characters of the bar that stands there
	opened time.Time
}

// event is a reply and when it came.
type event struct {
	probe.Reply
	at time.Time
}

func newDisplay(p *ping, t *terminal, req probe.Request) *display {
	l := &display{ping: p, out: t.stdout, events: make(chan event, 1024), done: make(chan struct{}), lines: p.spec.Interval >= lineInterval}
	if p.flags.json || p.flags.xml {
		l.out = t.stderr
	}
	if p.flags.quiet {
		l.out = io.Discard
	}
	l.bar = isTerminal(l.out)
	l.opened = req.First
	if p.secret == nil { // nothing is opened first: it begins as planned, or an interval later
		l.begin = req.First.Add(p.spec.Interval)
	}
	if l.lines {
		l.shown = make([]bool, p.spec.Count)
	}
	return l
}

func (l *display) intro(address string) {
	l.address = address
	if address == "" {
		l.address = report.Target(l.ping.target.url)
	}
	say(l.out, "%s to %s: %s", l.ping.target.kind, report.Visible(l.ping.label(address)), report.Describe(l.ping.spec, l.ping.stop))
}

// observe is told of replies by the goroutine that receives them, and never blocks it.
func (l *display) observe(r probe.Reply) {
	l.heard.Store(true)
	if r.Sequence >= 0 && !r.Late && !r.Duplicate && r.Failure == "" {
		l.received.Add(1)
	}
	if !l.lines {
		return
	}
	select {
	case l.events <- event{r, time.Now()}:
	default: // the run's figures have it
	}
}

func (l *display) start() {
	if l.ping.flags.quiet {
		return
	}
	show := l.showLines
	if !l.lines {
		show = l.showProgress
	}
	l.ended.Go(show)
	if l.ping.secret != nil {
		l.ended.Go(l.showOpening)
	}
}

// showOpening says that a session is being opened where that takes long: until then nothing else
// is to be seen.
func (l *display) showOpening() {
	select {
	case <-time.After(openingNote):
		if !l.heard.Load() {
			say(l.out, "opening the session: no answer yet")
		}
	case <-l.done:
	}
}

// finish ends the showing, and gives a line to every sample that has none.
func (l *display) finish(run *wire.Run) {
	close(l.done)
	l.ended.Wait()
	if l.bar && !l.lines && l.clear > 0 {
		_, _ = fmt.Fprintf(l.out, "\r%*s\r", l.clear, "")
	}
	if !l.lines || l.ping.flags.quiet || run.Counts.Sent == 0 {
		say(l.out, "")
		return
	}
	for i, f := range run.Samples.Failure {
		if f != "" && !l.shown[i] && run.Samples.SentNS[i] != wire.Null {
			say(l.out, "seq=%d %s", i, report.FailureText(f))
		}
	}
	say(l.out, "")
}

func (l *display) showLines() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(l.untilLost())
		select {
		case e := <-l.events:
			l.reply(e)
		case <-timer.C:
			l.lose()
		case <-l.done:
			for len(l.events) > 0 {
				l.reply(<-l.events)
			}
			return
		}
	}
}

// lostAt is when sample i has had its whole timeout, by the schedule.
func (l *display) lostAt(i int) time.Time {
	spec := l.ping.spec
	return l.begin.Add(time.Duration(spec.Warmup+i)*spec.Interval + spec.Timeout + lateSlack)
}

func (l *display) untilLost() time.Duration {
	for l.next < len(l.shown) && l.shown[l.next] {
		l.next++
	}
	if l.begin.IsZero() || l.next == len(l.shown) {
		return time.Hour
	}
	return time.Until(l.lostAt(l.next))
}

func (l *display) lose() {
	for ; l.next < len(l.shown) && !l.begin.IsZero() && time.Now().After(l.lostAt(l.next)); l.next++ {
		if !l.shown[l.next] {
			l.shown[l.next] = true
			say(l.out, "seq=%d no reply within %s", l.next, l.ping.spec.Timeout)
		}
	}
}

func (l *display) reply(e event) {
	spec := l.ping.spec
	if e.Failure != "" {
		l.failure(e)
		return
	}
	// The sample that left latest after it was due says least of the schedule.
	if begin := e.at.Add(-e.RTT - time.Duration(spec.Warmup+e.Sequence)*spec.Interval); !e.Duplicate && (!l.known || begin.Before(l.begin)) {
		l.begin, l.known = begin, true
	}
	name, note := fmt.Sprintf("seq=%d", e.Sequence), ""
	if e.Sequence < 0 {
		name, note = "warm-up", "   (left out)"
	} else if e.Sequence < len(l.shown) {
		l.shown[e.Sequence] = true
	}
	switch {
	case e.Duplicate:
		note += "   duplicate"
	case e.Late:
		note += "   late: counts as lost"
	}
	say(l.out, "%s from %s time=%s ms%s", name, report.Visible(l.address), report.Milliseconds(e.RTT), note)
}

// failure shows a sample that is known to get no reply.
func (l *display) failure(e event) {
	text := report.FailureText(e.Failure)
	if e.Failure == wire.FailureTimeout {
		text = "no reply within " + l.ping.spec.Timeout.String()
	}
	if e.Sequence < 0 {
		say(l.out, "warm-up: %s   (left out)", text)
	} else if e.Sequence < len(l.shown) && !l.shown[e.Sequence] {
		l.shown[e.Sequence] = true
		say(l.out, "seq=%d %s", e.Sequence, text)
	}
}

// barWidth is how many characters the bar has on a terminal of so many columns, with what is
// written beside it: a line that wraps could not be rewritten. 0 columns are not known to be few.
func barWidth(columns int) int {
	const widest, beside = 30, len("[] 100 %, 100000 replies") + 1
	if columns == 0 {
		return widest
	}
	return min(max(columns-beside, 0), widest)
}

func (l *display) showProgress() {
	every := noteEvery
	if l.bar {
		every = barEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.progress()
		case <-l.done:
			return
		}
	}
}

// progress says how far the run is: by the schedule, or by the replies where each waits for the
// one before.
func (l *display) progress() {
	spec, elapsed, received := l.ping.spec, max(time.Since(l.opened), 0), l.received.Load()
	part := float64(received) / float64(spec.Count)
	switch {
	case l.ping.stop > 0: // a moment early, as the time begins with the first reply
		part = max(part, float64(elapsed)/float64(l.ping.stop))
	case !spec.ClosedLoop():
		part = float64(elapsed) / float64(time.Duration(spec.Warmup+spec.Count)*spec.Interval)
	}
	part = min(part, 1)
	if !l.bar {
		say(l.out, "%3.0f %%, %d replies after %s", part*100, received, elapsed.Round(time.Second))
		return
	}
	width := barWidth(columns(l.out))
	text := fmt.Sprintf("[%-*s] %3.0f %%, %d replies", width, strings.Repeat("#", int(part*float64(width))), part*100, received)
	_, _ = fmt.Fprintf(l.out, "\r%-*s", l.clear, text)
	l.clear = max(l.clear, len(text))
}
