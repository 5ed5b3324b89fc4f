package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// datagram is a size of udp samples that no control packet has, so that the emulator's records of
// the two can be told apart.
const (
	datagram   = 200
	udpHeaders = 28 // IPv4 and UDP
)

// truth compares what is measured with what the emulator says that it applied.
func (b *bench) truth(ctx context.Context) error {
	if err := needs("sockperf", "sockperf"); err != nil {
		return err
	}
	for _, rtt := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 180 * time.Millisecond} {
		if err := b.truthOf(ctx, rtt); err != nil {
			return fmt.Errorf("round trip of %s: %w", rtt, err)
		}
	}
	for _, c := range []struct {
		name        string
		there, back topology.Link
	}{
		{"loss", topology.Link{Delay: ms(5), Loss: 0.05}, topology.Link{Delay: ms(5), Loss: 0.03}},
		{"duplication", topology.Link{Delay: ms(5), Duplicate: 0.05}, topology.Link{Delay: ms(5), Duplicate: 0.03}},
		{"reordering", topology.Link{Delay: ms(5), Reorder: 0.05, ReorderBy: ms(25)}, topology.Link{Delay: ms(5), Reorder: 0.03, ReorderBy: ms(45)}},
		{"loss_and_reordering", topology.Link{Delay: ms(5), Loss: 0.03, Reorder: 0.03, ReorderBy: ms(25)},
			topology.Link{Delay: ms(5), Loss: 0.02, Reorder: 0.02, ReorderBy: ms(25)}},
	} {
		if err := b.counts(ctx, c.name, c.there, c.back); err != nil {
			return fmt.Errorf("counting %s: %w", c.name, err)
		}
	}
	return nil
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// truthOf compares round trips. The processors are kept from halting, for all that is compared:
// what waking the relay up takes is part of the path, and the relay cannot see it.
func (b *bench) truthOf(ctx context.Context, rtt time.Duration) (err error) {
	w, p, err := emulated(ctx, topology.Link{Delay: rtt / 2}, topology.Link{Delay: rtt / 2}, wan.Options{Log: os.Stderr, Awake: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	label := strconv.FormatInt(rtt.Milliseconds(), 10) + "ms"
	udp := exchange{kind: "udp", bytes: datagram, interval: paced, count: 150}
	tcp := exchange{kind: "tcp", bytes: 64, interval: paced, count: 150}
	errorOf := func(measure func(context.Context, place, exchange) (reading, error), e exchange) (float64, error) {
		since := time.Now()
		r, err := measure(ctx, p, e)
		if err != nil {
			return 0, err
		}
		applied, err := appliedRTT(ctx, w, e, since)
		return r.p50 - applied, err
	}
	var ours, oursTCP, theirs []float64
	for i := range b.rounds {
		u, err1 := errorOf(b.own, udp)
		t, err2 := errorOf(b.own, tcp)
		s, err3 := errorOf(sockperf, tcp)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		ours, oursTCP, theirs = append(ours, u), append(oursTCP, t), append(theirs, s)
		b.say("round %d, %s applied: p50 less what was applied: our udp %+.1f µs, our tcp %+.1f µs, sockperf's tcp %+.1f µs", i+1, label, u, t, s)
	}
	b.figure("truth_udp_error_"+label, math.Abs(median(ours)), "us", atMost(100))
	b.figure("truth_tcp_error_over_sockperf_"+label, math.Abs(median(oursTCP))-math.Abs(median(theirs)), "us", atMost(50))
	return nil
}

// appliedRTT is the sum of the medians of what both directions applied, in µs.
func appliedRTT(ctx context.Context, w *wan.WAN, e exchange, since time.Time) (float64, error) {
	q := relay.Query{Protocol: e.kind, Since: since}
	if e.kind == "udp" {
		q.Length = e.bytes + udpHeaders
	}
	sum := 0.0
	for _, from := range []string{nearNode, farNode} {
		q.From = from
		packets, err := w.Reports().Packets(ctx, q)
		if err != nil {
			return 0, err
		}
		var delays []float64
		for _, packet := range packets {
			if packet.Payload > 0 && packet.Verdict == relay.Delivered {
				delays = append(delays, float64(packet.Left.Mono-packet.Arrived.Mono)/1000)
			}
		}
		if len(delays) == 0 {
			return 0, errors.New("the emulator saw no packet")
		}
		sum += median(delays)
	}
	return sum, nil
}

// counts compares loss, duplication and reordering by direction with the emulator's.
func (b *bench) counts(ctx context.Context, name string, there, back topology.Link) (err error) {
	w, p, err := emulated(ctx, there, back, wan.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	r, err := b.reflector(p)
	if err != nil {
		return err
	}
	defer r.stop()
	since := time.Now()
	m, err := b.ping(ctx, p, exchange{kind: "udp", bytes: datagram, interval: 10 * time.Millisecond, count: 2000}, "-w", "0")
	if err != nil {
		return err
	}
	var sides [2]relay.Counters
	for i, from := range []string{nearNode, farNode} {
		packets, err := w.Reports().Packets(ctx, relay.Query{From: from, Protocol: "udp", Length: datagram + udpHeaders, Since: since})
		if err != nil {
			return err
		}
		sides[i] = relay.Tally(packets)
	}
	c, off := m.Counts, 0
	for _, d := range []struct {
		what    string
		ours    *int
		applied uint64
	}{
		{"lost forward", c.LostForward, sides[0].Lost}, {"lost reverse", c.LostReverse, sides[1].Lost},
		{"duplicate forward", c.DuplicateForward, sides[0].Duplicated}, {"duplicate reverse", c.DuplicateReverse, sides[1].Duplicated},
		{"reordered forward", c.ReorderedForward, sides[0].Reordered}, {"reordered reverse", c.ReorderedReverse, sides[1].Reordered},
	} {
		if d.ours == nil {
			return fmt.Errorf("%s is unknown", d.what)
		}
		b.say("%s: %s: measured %d, applied %d", name, d.what, *d.ours, d.applied)
		off += int(math.Abs(float64(*d.ours) - float64(d.applied)))
	}
	b.figure("truth_"+name+"_off", float64(off), "packets", atMost(0))
	return nil
}
