package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

// bandwidthDisplay shows a run while it is made: a bar on a terminal, a line a second elsewhere.
type bandwidthDisplay struct {
	out   io.Writer
	bar   bool
	every time.Duration

	mu    sync.Mutex
	shown probe.Progress // what the newest line was made of
	clear int            // characters of the bar that stands there
}

func newBandwidthDisplay(out io.Writer, quiet bool) *bandwidthDisplay {
	if quiet {
		out = io.Discard
	}
	d := &bandwidthDisplay{out: out, bar: isTerminal(out), every: time.Second}
	if d.bar {
		d.every = barEvery
	}
	return d
}

func (d *bandwidthDisplay) say(format string, args ...any) { say(d.out, format, args...) }

// progress is told how far the run is. A line is short enough for a terminal to take at once.
func (d *bandwidthDisplay) progress(p probe.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := p.Elapsed - d.shown.Elapsed
	if since < d.every-20*time.Millisecond { // it comes by the tenth of a second, give or take
		return
	}
	var parts []string
	for _, c := range []struct {
		direction wire.Direction
		now, then int64
	}{{wire.DirectionUp, p.UpBytes, d.shown.UpBytes}, {wire.DirectionDown, p.DownBytes, d.shown.DownBytes}} {
		if c.now > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f Mbit/s", c.direction, float64(c.now-c.then)*8/since.Seconds()/1e6))
		}
	}
	d.shown = p
	d.show(p, strings.Join(parts, ", "))
}

func (d *bandwidthDisplay) show(p probe.Progress, rates string) {
	if !d.bar {
		say(d.out, "%5.1f s   %s", p.Elapsed.Seconds(), rates)
		return
	}
	const width = 30
	part := 0
	if p.Of > 0 {
		part = int(min(p.Elapsed, p.Of) * width / p.Of)
	}
	line := fmt.Sprintf("[%s%s] %.1f of %.1f s   %s", strings.Repeat("#", part), strings.Repeat("-", width-part), p.Elapsed.Seconds(), p.Of.Seconds(), rates)
	if most := columns(d.out) - 1; most > 0 && len(line) > most {
		line = line[:most]
	}
	_, _ = fmt.Fprintf(d.out, "\r%-*s", d.clear, line)
	d.clear = len(line)
}

// finish clears the bar away.
func (d *bandwidthDisplay) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clear > 0 {
		_, _ = fmt.Fprintf(d.out, "\r%*s\r", d.clear, "")
	}
	say(d.out, "")
}
