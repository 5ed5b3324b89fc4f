package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"isochrone/infra/local/child"
)

const (
	stallFor = 2 * time.Second
	// stallAfter is well within a closed loop of 100,000 samples, the most that a run may have.
	stallAfter = 600 * time.Millisecond
	// stallBarMS is what p99 has to show of it: a tenth of the samples are due within the stall, so
	// the hundredth worst waited for nearly all of it.
	stallBarMS = 1500
)

// stall stops the far side for two seconds in the middle of a run, and looks for it in p99.
func (b *bench) stall(ctx context.Context) error {
	var open, closed []float64
	for i := range b.rounds {
		o, err := b.stalled(ctx, exchange{kind: "tcp", bytes: 64, interval: paced, count: 1000})
		if err != nil {
			return err
		}
		c, err := b.stalled(ctx, exchange{kind: "tcp", bytes: 16 << 10, count: 100_000})
		if err != nil {
			return err
		}
		for loop, m := range map[string]measured{"open": o, "closed": c} {
			if longest := quantile(m.rtts(), 1) / 1000; longest < float64(stallFor.Milliseconds())*0.9 {
				return fmt.Errorf("the longest round trip of the %s loop is %.0f ms: the far side did not stall during it", loop, longest)
			}
		}
		open, closed = append(open, quantile(o.rtts(), 0.99)/1000), append(closed, quantile(c.rtts(), 0.99)/1000)
		b.say("round %d: the far side stalls for %s: p99 of the open loop %.1f ms, of the closed loop %.3f ms", i+1, stallFor, open[i], closed[i])
		if i == 0 {
			if err := b.saysSo(ctx); err != nil {
				return err
			}
		}
	}
	b.figure("stall_2s_open_loop_p99", median(open), "ms", &bar{limit: stallBarMS, least: true})
	b.figure("stall_2s_closed_loop_p99", median(closed), "ms", nil)
	return nil
}

// stalled measures while the reflector stands still for a while.
func (b *bench) stalled(ctx context.Context, e exchange) (measured, error) {
	r, err := b.reflector(loopback)
	if err != nil {
		return measured{}, err
	}
	defer r.stop()
	stopped := time.AfterFunc(stallAfter, func() {
		_ = child.Signal(r.cmd, syscall.SIGSTOP)
		time.Sleep(stallFor)
		_ = child.Signal(r.cmd, syscall.SIGCONT)
	})
	defer stopped.Stop()
	return b.ping(ctx, loopback, e, "--timeout", "5s")
}

// saysSo checks that a closed loop tells people what it cannot see.
func (b *bench) saysSo(ctx context.Context) error {
	r, err := b.reflector(loopback)
	if err != nil {
		return err
	}
	defer r.stop()
	key, err := b.keyFile()
	if err != nil {
		return err
	}
	out, err := loopback.client(ctx, b.prober("ping", loopback.far+":"+ourPort, "--kind", "tcp", "--key-file", key, "-n", "100", "-i", "0", "-q"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "closed loop") {
			b.say("the closed loop says: %s", strings.TrimSpace(line))
			return nil
		}
	}
	return errors.New("a closed-loop run does not say that it cannot see stalls")
}
