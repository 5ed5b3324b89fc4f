package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
)

const paced = 20 * time.Millisecond

// tool measures an exchange at a place.
type tool struct {
	name    string
	measure func(context.Context, place, exchange) (reading, error)
}

// compare runs every tool in turn, round by round, and returns the median readings by tool.
func (b *bench) compare(ctx context.Context, p place, e exchange, tools []tool) (map[string]reading, error) {
	p50, p99 := map[string][]float64{}, map[string][]float64{}
	for i := range b.rounds {
		line := fmt.Sprintf("round %d, %s, %s, %d bytes, %s:", i+1, p.name, e.kind, e.bytes, e.pacing())
		for j := range tools {
			t := tools[(i+j)%len(tools)] // nobody is always the first
			r, err := t.measure(ctx, p, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			p50[t.name], p99[t.name] = append(p50[t.name], r.p50), append(p99[t.name], r.p99)
			line += fmt.Sprintf("  %s p50 %.1f p99 %.1f µs", t.name, r.p50, r.p99)
		}
		b.say("%s", line)
	}
	out := map[string]reading{}
	for _, t := range tools {
		out[t.name] = reading{median(p50[t.name]), median(p99[t.name])}
	}
	return out, nil
}

// udp compares the udp kind with sockperf and irtt between two namespaces.
func (b *bench) udp(ctx context.Context) (err error) {
	if err := errors.Join(needs("sockperf", "sockperf"), needs("irtt", "irtt")); err != nil {
		return err
	}
	p, closePlace, err := veth(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closePlace()) }()
	e := exchange{kind: "udp", bytes: wire.DefaultDatagramBytes, interval: paced, count: 1000} // a p99 takes a thousand
	got, err := b.compare(ctx, p, e, []tool{{"ours", b.own}, {"sockperf", sockperf}, {"irtt", irtt}})
	if err != nil {
		return err
	}
	ours := got["ours"]
	b.figure("udp_p50", ours.p50, "us", nil)
	b.figure("udp_p99", ours.p99, "us", atMost(150))
	b.figure("udp_p50_to_sockperf", ours.p50/got["sockperf"].p50, "ratio", atMost(0.35))
	b.figure("udp_p50_to_irtt", ours.p50/got["irtt"].p50, "ratio", atMost(0.2))
	return nil
}

// tcp compares the tcp kind with sockperf, on loopback and between two namespaces.
func (b *bench) tcp(ctx context.Context) (err error) {
	if err := needs("sockperf", "sockperf"); err != nil {
		return err
	}
	apart, closePlace, err := veth(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closePlace()) }()
	for _, p := range []place{loopback, apart} {
		for _, interval := range []time.Duration{0, paced} {
			for _, size := range []int{64, 1460, 4096, 62780} {
				e := exchange{kind: "tcp", bytes: size, interval: interval, count: 10_000}
				pacing := "back_to_back"
				if interval > 0 {
					e.count, pacing = 100, "paced"
				}
				got, err := b.compare(ctx, p, e, []tool{{"ours", b.own}, {"sockperf", sockperf}})
				if err != nil {
					return err
				}
				b.figure(fmt.Sprintf("tcp_p50_over_sockperf_%s_%s_%d", p.name, pacing, size), got["ours"].p50-got["sockperf"].p50, "us", atMost(10))
			}
		}
	}
	return nil
}
