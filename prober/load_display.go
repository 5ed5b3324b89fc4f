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
)

// loadDisplay shows a load run while it is made.
type loadDisplay struct {
	load  *load
	out   io.Writer
	bar   bool // progress is rewritten in place
	quiet bool
	last  atomic.Pointer[probe.Progress]
	done  chan struct{}
	ended sync.WaitGroup
	clear int // characters of the bar that stands there
}

func newLoadDisplay(l *load, t *terminal) *loadDisplay {
	v := &loadDisplay{load: l, out: t.stdout, quiet: l.flags.quiet, done: make(chan struct{})}
	if l.flags.json || l.flags.xml {
		v.out = t.stderr
	}
	if v.quiet {
		v.out = io.Discard
	}
	v.bar = isTerminal(v.out)
	return v
}

func (v *loadDisplay) intro(address string) {
	label := report.Target(v.load.target.given)
	if address != "" && address != label {
		label = fmt.Sprintf("%s (%s)", label, address)
	}
	say(v.out, "load of %s: %s", report.Visible(label), report.DescribeLoad(v.load.spec))
}

// observe is told how far the run is.
func (v *loadDisplay) observe(p probe.Progress) { v.last.Store(&p) }

func (v *loadDisplay) start() {
	if v.quiet {
		return
	}
	every := noteEvery
	if v.bar {
		every = barEvery
	}
	v.ended.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				v.show()
			case <-v.done:
				return
			}
		}
	})
}

func (v *loadDisplay) finish() {
	close(v.done)
	v.ended.Wait()
	if v.clear > 0 {
		_, _ = fmt.Fprintf(v.out, "\r%*s\r", v.clear, "")
	}
	say(v.out, "")
}

// part is how much of the run is over: of its time, or of its requests.
func (v *loadDisplay) part(p probe.Progress) float64 {
	b := v.load.spec.Bulk
	if p.Of > 0 {
		return min(float64(p.Elapsed)/float64(p.Of), 1)
	}
	return min(float64(p.Requests)/float64(b.Users*b.Loops), 1)
}

func (v *loadDisplay) show() {
	p := v.last.Load()
	if p == nil {
		p = &probe.Progress{}
	}
	part := v.part(*p)
	if !v.bar {
		say(v.out, "%3.0f %%, %d answered after %s, %d under way", part*100, p.Requests, p.Elapsed.Round(time.Second), p.Outstanding)
		return
	}
	width := max(barWidth(columns(v.out))-len(" answered, 1000 under way")+len(" replies"), 0)
	text := fmt.Sprintf("[%-*s] %3.0f %%, %d answered, %d under way", width, strings.Repeat("#", int(part*float64(width))), part*100, p.Requests, p.Outstanding)
	_, _ = fmt.Fprintf(v.out, "\r%-*s", v.clear, text)
	v.clear = max(v.clear, len(text))
}
