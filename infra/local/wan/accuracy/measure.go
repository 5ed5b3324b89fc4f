package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

const path = "public"

// result is what came of the round trips of one length. Times are in ns, sorted.
type result struct {
	excess []int64 // measured round trip less the two delays applied
	late   []int64 // the delay applied one way, less the one asked for
	cpu    float64 // of the relay, as a share of one processor
}

func (r result) String() string {
	at := func(s []int64, p float64) float64 { return float64(s[int(p*float64(len(s)-1))]) / 1e6 }
	return fmt.Sprintf("measured less applied: p1 %+.3f p50 %+.3f p99 %+.3f ms; applied less asked, one way: p50 %+.3f p99 %+.3f ms; relay's processor time %.1f %%",
		at(r.excess, .01), at(r.excess, .5), at(r.excess, .99), at(r.late, .5), at(r.late, .99), r.cpu*100)
}

func measure(ctx context.Context, roundTrip time.Duration, count int, interval time.Duration, o wan.Options) (r result, err error) {
	subnets := topology.DefaultSubnets()
	t := topology.Topology{Subnets: subnets, Default: topology.Link{Delay: roundTrip / 2}}
	for i, name := range []string{"near", "far"} {
		t.Nodes = append(t.Nodes, topology.Node{Name: name, Addresses: map[string]netip.Addr{path: topology.Address(subnets[path], i)}})
	}
	w, err := wan.Start(ctx, t, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	near, err := open(w, "near")
	if err != nil {
		return r, err
	}
	defer near.close()
	far, err := open(w, "far")
	if err != nil {
		return r, err
	}
	defer far.close()
	before, began := processorTime(w.RelayPID()), time.Now()
	rounds, err := exchange(near, far, count, interval)
	if err != nil {
		return r, err
	}
	r.cpu = (processorTime(w.RelayPID()) - before).Seconds() / time.Since(began).Seconds()
	if _, err := w.Reports().Settled(ctx, relay.Query{}); err != nil {
		return r, err
	}
	there, err := w.Reports().Packets(ctx, relay.Query{From: "near", Protocol: "udp"})
	if err != nil {
		return r, err
	}
	back, err := w.Reports().Packets(ctx, relay.Query{From: "far", Protocol: "udp"})
	if err != nil {
		return r, err
	}
	if len(there) != count || len(back) != count {
		return r, fmt.Errorf("the relay saw %d packets there and %d back, want %d", len(there), len(back), count)
	}
	for i, measured := range rounds {
		var applied int64
		for _, p := range []relay.Packet{there[i], back[i]} {
			d := p.Left.Mono - p.Arrived.Mono
			applied += d
			r.late = append(r.late, d-int64(roundTrip/2))
		}
		r.excess = append(r.excess, measured-applied)
	}
	slices.Sort(r.excess)
	slices.Sort(r.late)
	return r, nil
}

// processorTime is what a process has used (proc(5): utime and stime, in hundredths of a second).
func processorTime(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
