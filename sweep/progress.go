package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progressEvery is how often a progress line is written again.
const progressEvery = 200 * time.Millisecond

// progress is one line on standard error that says how far a long command is. It is written only to a
// terminal, where it is taken back before anything else is printed. It is safe for concurrent use.
type progress struct {
	out  io.Writer
	now  func() time.Time
	show bool

	lock  sync.Mutex
	last  time.Time
	width int // of what stands there
}

func (s *session) progress() *progress {
	f, ok := s.stderr.(*os.File)
	return &progress{out: s.stderr, now: s.env.now, show: ok && term.IsTerminal(int(f.Fd()))}
}

// say writes the line, unless it was written a moment ago.
func (p *progress) say(format string, args ...any) {
	if !p.show {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	now := p.now()
	if now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	text := cut(visible(fmt.Sprintf(format, args...)), 78)
	// Nothing is left to tell anyone when standard error cannot be written.
	_, _ = fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", max(p.width-len(text), 0)))
	p.width = len(text)
}

// gaugeWidth is how many signs a gauge has between its brackets.
const gaugeWidth = 20

// gauge shows a part of a whole as a bar. What is not known to have a size has none of it done.
func gauge(part, whole float64) string {
	done := 0
	if whole > 0 {
		done = int(gaugeWidth * min(max(part/whole, 0), 1))
	}
	return "[" + strings.Repeat("#", done) + strings.Repeat("-", gaugeWidth-done) + "]"
}

// clear takes the line back.
func (p *progress) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.width > 0 {
		_, _ = fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width, p.last = 0, time.Time{}
	}
}

// megabytes is a size for people.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
