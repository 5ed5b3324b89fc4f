package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
	"isochrone/prober/wire"
	"isochrone/prober/wire/oneway"
)

const (
	// Both ends of the emulator have this machine's clock. What a far clock of its own would add
	// to the time stamps is added to those that were measured, so the truth is known.
	clockOffsetNS = 3_600e9 // an hour
	clockDriftPPM = 30
)

// oneway estimates the far clock's offset over a symmetric path and over one that is longer in
// one direction.
func (b *bench) oneway(ctx context.Context) error {
	symmetric := topology.Link{Delay: ms(10), Jitter: ms(1)}
	longer := topology.Link{Delay: ms(20), Jitter: ms(1)}
	var off, bounds, offLonger, boundsLonger []float64
	inside := 0
	for i := range b.rounds {
		e, err := b.estimate(ctx, symmetric, symmetric)
		if err != nil {
			return err
		}
		a, err := b.estimate(ctx, longer, symmetric)
		if err != nil {
			return err
		}
		off, bounds = append(off, e.off), append(bounds, e.bound)
		offLonger, boundsLonger = append(offLonger, a.off), append(boundsLonger, a.bound)
		if e.off <= e.bound && a.off <= a.bound {
			inside++
		}
		b.say("round %d: drift of %d ppm: symmetric 10 + 10 ms: offset off by %.1f µs, bound %.1f ms; asymmetric 20 + 10 ms: off by %.1f µs, bound %.1f ms",
			i+1, clockDriftPPM, e.off, e.bound/1000, a.off, a.bound/1000)
	}
	b.figure("oneway_offset_error_30ppm", median(off), "us", atMost(50))
	// Half of an asymmetry is in the offset, and nothing can tell: more than that would be a fault.
	b.figure("oneway_offset_error_beyond_half_the_asymmetry", median(offLonger)-5000, "us", atMost(50))
	// The bound is half the smallest round trip (10 and 15 ms), and what the fit adds.
	b.figure("oneway_bound_symmetric", median(bounds)/1000, "ms", atMost(10.5))
	b.figure("oneway_bound_asymmetry_10ms", median(boundsLonger)/1000, "ms", atMost(15.5))
	b.figure("oneway_bound_widened_by", (median(boundsLonger)-median(bounds))/1000, "ms", &bar{limit: 4.5, least: true})
	b.figure("oneway_truth_inside_bound", float64(inside), "rounds", &bar{limit: float64(b.rounds), least: true})
	return nil
}

// estimated is how far an offset is off the truth, and how far it says that it may be, in µs.
type estimated struct{ off, bound float64 }

// estimate measures over a path, lets the far clock differ, and estimates by how much.
func (b *bench) estimate(ctx context.Context, there, back topology.Link) (out estimated, err error) {
	w, p, err := emulated(ctx, there, back, wan.Options{Log: os.Stderr})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	r, err := b.reflector(p)
	if err != nil {
		return out, err
	}
	defer r.stop()
	m, err := b.ping(ctx, p, exchange{kind: "udp", bytes: datagram, interval: paced, count: 500})
	if err != nil {
		return out, err
	}
	var at, forward, reverse []int64
	for i, f := range m.Samples.ForwardNS {
		if f == wire.Null || m.Samples.ReverseNS[i] == wire.Null {
			continue
		}
		t := m.Samples.SentNS[i]
		first := t
		if len(at) > 0 {
			first = at[0]
		}
		differs := int64(clockOffsetNS) + (t-first)*clockDriftPPM/1e6
		at, forward, reverse = append(at, t), append(forward, f+differs), append(reverse, m.Samples.ReverseNS[i]-differs)
	}
	e, err := oneway.Of(at, forward, reverse)
	if err != nil {
		return out, fmt.Errorf("estimating from %d samples: %w", len(at), err)
	}
	truth := clockOffsetNS + float64(at[len(at)-1]-at[0])/2*clockDriftPPM/1e6
	return estimated{math.Abs(e.Offset-truth) / 1000, e.Bound / 1000}, nil
}
