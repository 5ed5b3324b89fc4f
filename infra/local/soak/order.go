package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"isochrone/prober/wire/account"
)

// task is what a child starts from: the first line that it reads.
type task struct {
	Role        string          `json:"role"` // handler or prober
	Name        string          `json:"name"`
	Account     account.Account `json:"account"`
	Environment string          `json:"environment"`
	Config      string          `json:"config"`  // sweep.yaml
	Spool       string          `json:"spool"`   // a prober's folder
	Journal     string          `json:"journal"` // a prober's file
	Seed        uint64          `json:"seed"`
	Now         time.Time       `json:"now"`
	Skew        time.Duration   `json:"skew"`
}

// What a child may be told to do.
const (
	doSweep   = "sweep"
	doIngest  = "ingest"
	doRollup  = "rollup"
	doCompact = "compact"
	doResults = "results"
	doStep    = "step" // a prober's: heartbeat, poll, work, deliver
	doWeigh   = "weigh"
)

// order is one line from the driver to a child. Every order sets the child's clock.
type order struct {
	ID   int           `json:"id"`
	Do   string        `json:"do"`
	Now  time.Time     `json:"now"`
	Skew time.Duration `json:"skew"`
	// Next is what the host's schedule status says of the Sweep timer.
	Next time.Time `json:"next,omitzero"`
	// Foreign is the document that a stranger sends to Results.
	Foreign *foreign `json:"foreign,omitempty"`
	// Beat has a prober register.
	Beat bool `json:"beat,omitempty"`
}

// answer is one line from a child to the driver, once an order is carried out.
type answer struct {
	ID     int            `json:"id"`
	Error  string         `json:"error,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
	Weight *weight        `json:"weight,omitempty"`
}

// worker carries out orders, several at once.
type worker interface {
	do(ctx context.Context, o order) (map[string]int, error)
}

// childMain is a child's program. It ends when its standard input does.
func childMain(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, 1<<20)
	var t task
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &t) != nil {
		log.Error("reading the task: this program is started by the soak's driver")
		return 2
	}
	c := &clock{}
	c.set(t.Now, t.Skew)
	w, err := newWorker(ctx, t, c, log)
	if err != nil {
		log.Error("beginning", "error", err)
		return 1
	}
	var out sync.Mutex
	var all sync.WaitGroup
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			log.Error("reading an order", "error", err)
			return 1
		}
		c.set(o.Now, o.Skew)
		all.Go(func() {
			a := answer{ID: o.ID}
			if o.Do == doWeigh {
				a.Weight = weigh()
			} else if counts, err := w.do(ctx, o); err != nil {
				a.Counts, a.Error = counts, err.Error()
			} else {
				a.Counts = counts
			}
			body, err := json.Marshal(a)
			if err != nil {
				log.Error("answering", "error", err)
				return
			}
			out.Lock()
			defer out.Unlock()
			_, _ = stdout.Write(append(body, '\n')) // a driver that is gone needs no answer
		})
	}
	all.Wait()
	return 0
}

func newWorker(ctx context.Context, t task, c *clock, log *slog.Logger) (worker, error) {
	switch t.Role {
	case "handler":
		return newHandler(t, c, log)
	case "prober":
		return newProber(ctx, t, c, log)
	}
	return nil, fmt.Errorf("role %q: want handler or prober", t.Role)
}
