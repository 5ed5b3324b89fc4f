package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
	"isochrone/prober/report"
)

const (
	saturatedMbit  = 1000 // what the path of group saturate is shaped to
	saturateRounds = 3    // at the most: a round takes a minute
)

// saturate fills a shaped path with transfers of 62,780 bytes, written and read. The emulator counts whole IP
// packets, of which 1,448 bytes in 1,500 are payload: the most that there can be is 3.5 % below the
// shaped rate.
func (b *bench) saturate(ctx context.Context) (err error) {
	link := topology.Link{Delay: ms(1), Rate: saturatedMbit * 1_000_000}
	w, p, err := emulated(ctx, link, link, wan.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	for _, c := range []struct {
		name string
		read int
	}{{"write", 0}, {"read", 100}} {
		var off []float64
		unequal := 0
		for i := range min(b.rounds, saturateRounds) {
			var d report.Saturate
			if err := b.bulk(ctx, p, &d, "saturate", "-l", "62780", "-t", "4", "--outstanding", "64", "--read", strconv.Itoa(c.read)); err != nil {
				return err
			}
			if len(d.Levels) == 0 {
				return fmt.Errorf("prober saturate measured nothing: %s %s", d.Failure, d.Detail)
			}
			best, text := 0.0, ""
			for _, l := range d.Levels {
				best = max(best, l.PayloadBPS/1e6)
				text += fmt.Sprintf(" %d: %.0f (p99 %.1f ms)", l.Outstanding, l.PayloadBPS/1e6, float64(l.P99US)/1000)
				sum := 0
				for _, band := range l.Bands {
					sum += band.Count
				}
				if sum != l.Requests {
					unequal++
				}
			}
			b.say("round %d, %s: Mbit/s of payload by requests under way:%s", i+1, c.name, text)
			off = append(off, math.Abs(best/saturatedMbit-1)*100)
		}
		b.figure("saturate_"+c.name+"_62780_off_the_shaped_rate", median(off), "percent", atMost(5))
		b.figure("saturate_"+c.name+"_levels_whose_bands_do_not_add_up", float64(unequal), "levels", atMost(0))
	}
	return nil
}

// stream sends 50,000 messages at 2,000 a second into a sink of 591 a second, once: it takes 85 s.
func (b *bench) stream(ctx context.Context) (err error) {
	link := topology.Link{Delay: ms(10)}
	w, p, err := emulated(ctx, link, link, wan.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	var d report.Stream
	if err := b.bulk(ctx, p, &d, "stream", "-l", "1024", "-n", "50000", "--rate", "2000", "--sink-rate", "591"); err != nil {
		return err
	}
	if d.Taken != 50_000 || d.SourceRate == nil || d.TargetRate == nil || d.PredictedLastUS == nil || *d.PredictedLastUS <= 0 {
		return fmt.Errorf("prober stream took %d of 50000 messages: %s %s", d.Taken, d.Failure, d.Detail)
	}
	b.say("A %.1f/s, B %.1f/s, the last message's delay %.3f s, N/B - N/A %.3f s, p50 %.3f s, p99 %.3f s, backlog at most %d",
		*d.SourceRate, *d.TargetRate, float64(*d.DelayLastUS)/1e6, float64(*d.PredictedLastUS)/1e6, float64(*d.DelayP50US)/1e6, float64(*d.DelayP99US)/1e6, *d.MaxBacklog)
	off := func(got, want float64) float64 { return math.Abs(got/want-1) * 100 }
	b.figure("stream_last_delay_off_the_formula", off(float64(*d.DelayLastUS), float64(*d.PredictedLastUS)), "percent", atMost(5))
	b.figure("stream_source_rate_off", off(*d.SourceRate, 2000), "percent", atMost(5))
	b.figure("stream_sink_rate_off", off(*d.TargetRate, 591), "percent", atMost(5))
	return nil
}

// bulk measures with a command of our own tool that loads the network, both ends, and reads what it prints.
func (b *bench) bulk(ctx context.Context, p place, into any, command string, args ...string) error {
	key, err := b.keyFile()
	if err != nil {
		return err
	}
	r, err := p.serve(b.prober("reflect", "--listen", p.far+":"+ourPort, "--key-file", key, "--max-bytes", "1TB"))
	if err != nil {
		return err
	}
	defer r.stop()
	out, err := p.client(ctx, b.prober(append([]string{command, p.far + ":" + ourPort, "--key-file", key, "--json", "-q", "--max-bytes", "1TB"}, args...)...))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("reading what prober %s printed: %w", command, err)
	}
	return nil
}
