package stack_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan/relay"
	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// Three probers with published delays between them, a link that loses, one that copies and one that
// reorders.
const (
	networkConfig = `
version: 1
environment: wide
loopback: true
timing: {lead: 5s, late: 1m, grace: 1m}
probers:
  - {region: westeurope, addresses: {public: [10.90.0.11/32]}}
  - {region: northeurope, addresses: {public: [10.90.0.12/32]}}
  - {region: eastus, addresses: {public: [10.90.0.13/32]}}
probes:
  - {name: udp, kind: udp, schedule: "* * * * *", paths: [public], count: 200, interval: 20ms, timeout: 1s, warmup: 0}
  - {name: tcp, kind: tcp, schedule: "* * * * *", paths: [public], count: 50, interval: 20ms, timeout: 1s, warmup: 2, request: 64}
  - {name: connect, kind: connect, schedule: "* * * * *", paths: [public], count: 50, interval: 20ms, timeout: 1s, warmup: 0}
  - {name: icmp, kind: icmp, schedule: "* * * * *", paths: [public], count: 50, interval: 20ms, timeout: 1s, warmup: 0}
`
	network = `
version: 1
seed: 7
delays: published
pairs:
  - {from: westeurope, to: northeurope, loss: 0.05}
  - {from: northeurope, to: westeurope, loss: 0.03}
  - {from: eastus, to: westeurope, duplicate: 0.05}
  - {from: northeurope, to: eastus, reorder: 0.05, reorder_by: 50ms}
`
	// sampleBytes is the IP packet of a udp sample; no control packet has this length.
	sampleBytes = 20 + 8 + wire.DefaultDatagramBytes
)

// What a sweep measures behind the emulated network is what the network did: round trips within
// 2 ms, and of the udp samples every loss, copy and overtaking, by direction.
func TestASweepMeasuresWhatTheNetworkDid(t *testing.T) {
	s := start(t, []byte(networkConfig), func(o *stack.Options) {
		o.Network, o.NetworkName, o.NetworkLog = []byte(network), "the test's network", t.Output()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	outcome, err := s.Sweep(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row, err := range s.Tables.Runs(ctx, tables.RunQuery{Since: outcome.Slot, Until: outcome.Slot.Add(time.Minute)}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if row.Failure != "" || row.P50US == nil {
			t.Errorf("%s: %s (%s)", row.Series, row.Failure, row.Detail)
			continue
		}
		measured, what := *row.P50US, "p50"
		if holdsBack(row) {
			measured, what = *row.MinUS, "the smallest round trip"
		} else if row.Noise.Timestamps == wire.TimestampsUser && row.Noise.ClientP50US != nil {
			measured -= *row.Noise.ClientP50US // this machine's own share, which the row tells
		}
		if off := measured - appliedUS(t, s, row.Series); off < -2000 || off > 2000 {
			t.Errorf("%s: %s is %.3f ms, %+.3f ms off what was applied", row.Series, what, measured/1000, off/1000)
		}
		if row.Kind == wire.KindUDP {
			sameCounts(t, s, &row)
		}
	}
	if want := 4 * 3 * 2; rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
	for _, p := range s.Config.Probers {
		if n, err := s.WAN.Overrun(p.ID); err != nil || n != 0 {
			t.Errorf("node %q: %d packets were dropped before the relay saw them (%v): the counters are not exact", p.ID, n, err)
		}
	}
}

// holdsBack says whether a run's round trips hold what TCP does of itself: what it loses it sends again,
// what overtakes has to wait, and what is behind it too, so that not even the median needs to be
// the network's delay.
func holdsBack(row tables.Row) bool {
	if row.Kind != wire.KindTCP && row.Kind != wire.KindConnect {
		return false
	}
	between := func(a, b string) bool {
		return row.Series.Source == a && row.Series.Target == b || row.Series.Source == b && row.Series.Target == a
	}
	return between("westeurope", "northeurope") || between("northeurope", "eastus")
}

// appliedUS is what the network delayed packets there and back, at the median.
func appliedUS(t *testing.T, s *stack.Stack, series wire.Series) float64 {
	t.Helper()
	sum := 0.0
	for _, q := range []relay.Query{{From: series.Source, To: series.Target}, {From: series.Target, To: series.Source}} {
		links, err := s.WAN.Reports().Links(t.Context(), q)
		if err != nil || len(links.Links) != 1 {
			t.Fatalf("asking for the link from %s to %s: %d links, %v", q.From, q.To, len(links.Links), err)
		}
		sum += float64(links.Links[0].Delays.P50) / 1000
	}
	return sum
}

// sameCounts compares a udp run's counts by direction with the records of its packets.
func sameCounts(t *testing.T, s *stack.Stack, row *tables.Row) {
	t.Helper()
	target, err := netip.ParseAddrPort(row.Address)
	if err != nil {
		t.Fatal(err)
	}
	source := s.WAN.Address(row.Series.Source, "public")
	tally := func(q relay.Query) relay.Counters {
		q.Protocol, q.Length = "udp", sampleBytes
		packets, err := s.WAN.Reports().Packets(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return relay.Tally(packets)
	}
	there := tally(relay.Query{Source: source, Destination: target.Addr(), DestinationPort: target.Port()})
	back := tally(relay.Query{Source: target.Addr(), SourcePort: target.Port(), Destination: source})
	if there.In != uint64(row.Counts.Sent) {
		t.Errorf("%s: %d samples sent, the network saw %d", row.Series, row.Counts.Sent, there.In)
	}
	names := []string{"lost forward", "lost reverse", "duplicate forward", "duplicate reverse", "reordered forward", "reordered reverse"}
	c := row.Counts
	applied := []uint64{there.Lost, back.Lost, there.Duplicated, back.Duplicated, there.Reordered, back.Reordered}
	for i, measured := range []*int{c.LostForward, c.LostReverse, c.DuplicateForward, c.DuplicateReverse, c.ReorderedForward, c.ReorderedReverse} {
		if measured == nil {
			t.Errorf("%s: %s is unknown", row.Series, names[i])
		} else if uint64(*measured) != applied[i] {
			t.Errorf("%s: %s: measured %d, applied %d", row.Series, names[i], *measured, applied[i])
		}
	}
	if slices.Max(applied) > 0 {
		t.Logf("%s: %v", row.Series, applied)
	}
}
