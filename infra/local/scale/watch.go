package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// watch is where the Functions host logs: it learns when an invocation has ended, and keeps what was
// complained of.
type watch struct {
	ended chan invocation

	lock       sync.Mutex
	complaints []string
}

// invocation is one that has ended.
type invocation struct {
	function string
	took     time.Duration
	failed   bool
}

func newWatch() *watch { return &watch{ended: make(chan invocation, 16)} }

// Enabled implements slog.Handler.
func (*watch) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (w *watch) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	// The handler's own lines are JSON, and come as information whatever their level.
	if r.Level >= slog.LevelWarn || strings.Contains(text, `"level":"WARN"`) || strings.Contains(text, `"level":"ERROR"`) {
		r.Attrs(func(a slog.Attr) bool { text += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
		w.lock.Lock()
		w.complaints = append(w.complaints, text)
		w.lock.Unlock()
	}
	rest, ok := strings.CutPrefix(r.Message, "Executed 'Functions.")
	if !ok {
		return nil
	}
	name, outcome, _ := strings.Cut(rest, "' ")
	i := invocation{function: name, failed: outcome != "(Succeeded)"}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "duration_ms" {
			i.took = time.Duration(a.Value.Float64() * float64(time.Millisecond))
		}
		return true
	})
	select {
	case w.ended <- i:
	default: // nobody asked for so many
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (w *watch) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w *watch) WithGroup(string) slog.Handler { return w }

// told are the complaints so far, the first few of them.
func (w *watch) told() string {
	w.lock.Lock()
	defer w.lock.Unlock()
	return strings.Join(w.complaints[:min(len(w.complaints), 5)], "\n")
}

// wait returns when an invocation of a function has ended.
func (w *watch) wait(ctx context.Context, function string) (time.Duration, error) {
	for {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for %s: %w\n%s", function, ctx.Err(), w.told())
		case i := <-w.ended:
			if i.function != function {
				continue
			}
			if i.failed {
				return 0, fmt.Errorf("%s failed:\n%s", function, w.told())
			}
			return i.took, nil
		}
	}
}
