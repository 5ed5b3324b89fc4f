package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
	"isochrone/prober/report"
)

// transfer is what is measured of a path's throughput: from near to far.
type transfer struct {
	streams       int
	ramp, seconds int // the ramp is left out on both sides
	congestion    string
}

const mbit = 1_000_000

// throughput measures beside iperf3 on an emulated long path, and on loopback, where both depend on
// which processor the kernel puts them on; and holds what is measured to what the emulator carried.
func (b *bench) throughput(ctx context.Context) error {
	if err := needs("iperf3", "iperf3"); err != nil {
		return err
	}
	for _, c := range []struct {
		name    string
		loss    float64
		streams int
	}{{"200mbit_80ms", 0, 1}, {"200mbit_80ms_loss_4_streams", 0.0002, 4}} {
		link := topology.Link{Delay: ms(40), Rate: 200 * mbit, Loss: c.loss}
		if err := b.besideIperf(ctx, c.name, link, transfer{c.streams, 5, 15, "cubic"}); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, streams := range []int{1, 4} {
		if err := b.onLoopback(ctx, transfer{streams, 1, 3, "cubic"}); err != nil {
			return fmt.Errorf("loopback: %w", err)
		}
	}
	for _, rate := range []int64{10, 100, 1000} {
		if err := b.shaped(ctx, rate); err != nil {
			return fmt.Errorf("%d Mbit/s: %w", rate, err)
		}
	}
	return nil
}

// besideIperf compares on a shaped path, round by round.
func (b *bench) besideIperf(ctx context.Context, name string, link topology.Link, m transfer) (err error) {
	w, p, err := emulated(ctx, link, link, wan.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	ours, theirs, err := b.inTurn(ctx, p, name, m)
	if err != nil {
		return err
	}
	b.figure("throughput_"+name+"_over_iperf3", median(ours)/median(theirs), "ratio", &bar{limit: 0.97, least: true})
	return nil
}

// onLoopback compares where nothing shapes. Each side's rounds fall into two or more modes; the best
// round of ours is held to the median of theirs.
func (b *bench) onLoopback(ctx context.Context, m transfer) error {
	name := "loopback_" + strconv.Itoa(m.streams)
	ours, theirs, err := b.inTurn(ctx, loopback, name, m)
	if err != nil {
		return err
	}
	b.figure("throughput_"+name+"_median_over_iperf3", median(ours)/median(theirs), "ratio", nil)
	b.figure("throughput_"+name+"_best_over_iperf3", quantile(ours, 1)/median(theirs), "ratio", &bar{limit: 1, least: true})
	return nil
}

// inTurn measures both, one after the other, in Mbit/s.
func (b *bench) inTurn(ctx context.Context, p place, name string, m transfer) (ours, theirs []float64, err error) {
	for i := range b.rounds {
		d, err1 := b.bandwidth(ctx, p, m)
		t, err2 := iperf3(ctx, p, m)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		f := d.Flows[0]
		o := *f.PayloadBPS / mbit
		ours, theirs = append(ours, o), append(theirs, t)
		b.say("round %d, %s, %s: ours %.1f Mbit/s (%d sent again, window-limited %.0f %%), iperf3 %.1f Mbit/s", i+1, name, m.congestion, o, *f.Retransmits, *f.WindowLimitedRatio*100, t)
	}
	return ours, theirs, nil
}

// bandwidth measures with our own tool, both ends.
func (b *bench) bandwidth(ctx context.Context, p place, m transfer) (report.Bandwidth, error) {
	var d report.Bandwidth
	key, err := b.keyFile()
	if err != nil {
		return d, err
	}
	r, err := p.serve(b.prober("reflect", "--listen", p.far+":"+ourPort, "--key-file", key, "--max-bytes", "1TB"))
	if err != nil {
		return d, err
	}
	defer r.stop()
	out, err := p.client(ctx, b.prober("bandwidth", p.far+":"+ourPort, "--key-file", key, "--json", "-q", "--max-bytes", "1TB",
		"--streams", strconv.Itoa(m.streams), "--ramp", strconv.Itoa(m.ramp), "-t", strconv.Itoa(m.seconds), "--congestion", m.congestion))
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return d, fmt.Errorf("reading what prober bandwidth printed: %w", err)
	}
	if len(d.Flows) != 1 || d.Flows[0].PayloadBPS == nil || d.Flows[0].Retransmits == nil || d.Flows[0].WindowLimitedRatio == nil {
		return d, fmt.Errorf("prober bandwidth measured nothing: %s %s", d.Failure, d.Detail)
	}
	return d, nil
}

// iperf3 measures with iperf3, in Mbit/s as its receiver counted.
func iperf3(ctx context.Context, p place, m transfer) (float64, error) {
	s, err := p.serve([]string{"iperf3", "-s", "-B", p.far, "-p", peerPort})
	if err != nil {
		return 0, err
	}
	defer s.stop()
	out, err := p.client(ctx, []string{"iperf3", "-c", p.far, "-p", peerPort, "-P", strconv.Itoa(m.streams),
		"-O", strconv.Itoa(m.ramp), "-t", strconv.Itoa(m.seconds), "-C", m.congestion, "-J"})
	if err != nil {
		return 0, err
	}
	var printed struct {
		End struct {
			Received struct {
				BPS float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		return 0, fmt.Errorf("reading what iperf3 printed: %w", err)
	}
	if printed.End.Received.BPS <= 0 {
		return 0, fmt.Errorf("iperf3 measured nothing:\n%s", out)
	}
	return printed.End.Received.BPS / mbit, nil
}

// carried is how much payload the emulator had delivered from near to far by then.
type carried struct {
	at    time.Time
	bytes uint64
}

// shaped holds the rate to what the emulator delivered meanwhile.
func (b *bench) shaped(ctx context.Context, rate int64) (err error) {
	link := topology.Link{Delay: ms(5), Rate: rate * mbit}
	w, p, err := emulated(ctx, link, link, wan.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	m := transfer{4, 2, 5, "cubic"}
	var off []float64
	for i := range b.rounds {
		watching, stop := context.WithCancel(ctx)
		watched := make(chan []carried, 1)
		go func() { watched <- watch(watching, w) }()
		d, err := b.bandwidth(ctx, p, m)
		stop()
		counted := <-watched
		if err != nil {
			return err
		}
		f := d.Flows[0]
		from := d.Started.Add(time.Duration(float64(f.RampUS) * 1000))
		to := from.Add(time.Duration(float64(f.CountedUS) * 1000))
		applied := (deliveredBy(counted, to) - deliveredBy(counted, from)) * 8 / to.Sub(from).Seconds() / mbit
		off = append(off, math.Abs(*f.PayloadBPS/mbit/applied-1)*100)
		b.say("round %d, %d Mbit/s: measured %.2f Mbit/s, carried %.2f Mbit/s of payload", i+1, rate, *f.PayloadBPS/mbit, applied)
	}
	b.figure("throughput_off_at_"+strconv.FormatInt(rate, 10)+"mbit", median(off), "percent", atMost(3))
	return nil
}

// watch reads the emulator's counter until ctx ends.
func watch(ctx context.Context, w *wan.WAN) (out []carried) {
	for ctx.Err() == nil {
		links, err := w.Reports().Links(ctx, relay.Query{From: nearNode})
		if err != nil {
			return out
		}
		sum := uint64(0)
		for _, l := range links.Links {
			sum += l.DeliveredPayload
		}
		out = append(out, carried{time.Now(), sum})
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return out
}

// deliveredBy is the counter at a time between two readings.
func deliveredBy(readings []carried, at time.Time) float64 {
	i := sort.Search(len(readings), func(i int) bool { return readings[i].at.After(at) })
	if i == 0 || i == len(readings) {
		return math.NaN() // shows as a figure that falls short
	}
	before, after := readings[i-1], readings[i]
	part := at.Sub(before.at).Seconds() / after.at.Sub(before.at).Seconds()
	return float64(before.bytes) + part*float64(after.bytes-before.bytes)
}
