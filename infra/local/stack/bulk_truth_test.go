package stack_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan/relay"
	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

const (
	// talkBytes is more than hellos, openings and what goes over the control connection come to.
	talkBytes = 64 << 10
	// flightBytes is more than the network holds of a throughput run: sent, and given up before it came.
	flightBytes = 256 << 10
	// lateBytes is more than comes after the target has counted, until the source has heard of it.
	lateBytes = 1 << 20
	// ownUS is more than the two ends add to a round trip, at the median, when they are built with the race
	// detector and the machine is busy; apartUS is more than that differs between two runs made together.
	ownUS, apartUS = 15_000, 5_000
)

// checkBulk checks a run's figures against each other and against what the network carried.
func checkBulk(t *testing.T, s *stack.Stack, r *bulkResult) {
	t.Helper()
	b := &r.Bulk
	if b.MovedBytes == nil || *b.MovedBytes <= 0 || b.BudgetReached == nil || *b.BudgetReached {
		t.Fatalf("%s: it moved %v bytes, budget reached %v; want some, and no", r.Series, b.MovedBytes, b.BudgetReached)
	}
	moved := int64(*b.MovedBytes)
	if r.run.Bulk.Bytes != moved {
		t.Errorf("%s: %d bytes in its document, %d in its row", r.Series, r.run.Bulk.Bytes, moved)
	}
	there, back := carried(t, s, &r.Row)
	t.Logf("%s: %d bytes moved, the network carried %d and %d", r.Series, moved, there, back)
	least, most := moved, moved+talkBytes
	switch r.Kind {
	case wire.KindThroughput:
		least -= flightBytes
		checkThroughput(t, s, r, there, back)
	case wire.KindSaturate:
		most += checkSaturation(t, r)
	case wire.KindStream:
		checkStream(t, r)
	case wire.KindLoad:
		checkLoad(t, s, r)
	}
	// What TCP sent again without need counts twice with the network.
	if there+back < least || there+back > most+moved/20 {
		t.Errorf("%s: %d bytes moved, and the network carried %d of payload; want %d to %d, and 5 %% more for what was sent again", r.Series, moved, there+back, least, most)
	}
}

// carried is the TCP payload that the network delivered from source to target and back, of the connections
// that began with a run.
func carried(t *testing.T, s *stack.Stack, r *tables.Row) (there, back int64) {
	t.Helper()
	// The plan keeps that much before a run free of others.
	since, until := r.PlannedStart.Add(-2*time.Second).UnixNano(), r.End.UnixNano()
	sum := func(from, to string) (n int64) {
		flows, err := s.WAN.Reports().Flows(t.Context(), relay.Query{From: from, To: to, Path: r.Series.Path, Protocol: "tcp"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range flows {
			if f.First.Wall >= since && f.First.Wall <= until {
				n += int64(f.DeliveredPayload)
			}
		}
		return n
	}
	return sum(r.Series.Source, r.Series.Target), sum(r.Series.Target, r.Series.Source)
}

// packets are those of TCP that the network delivered from one node to another while a run was under way.
func packets(t *testing.T, s *stack.Stack, r *bulkResult, from, to string) (out []relay.Packet) {
	t.Helper()
	all, err := s.WAN.Reports().Packets(t.Context(), relay.Query{From: from, To: to, Path: r.Series.Path, Protocol: "tcp", Since: *r.Start})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Verdict == relay.Delivered && p.Payload > 0 && p.Left.Wall <= r.End.UnixNano() {
			out = append(out, p)
		}
	}
	return out
}

// checkThroughput checks the rate of each direction against the packets of the time that was counted.
func checkThroughput(t *testing.T, s *stack.Stack, r *bulkResult, there, back int64) {
	t.Helper()
	received := map[wire.Direction]int64{}
	for _, v := range r.intervals {
		if v.Direction == nil || v.Bytes == nil {
			t.Fatalf("%s: an interval without direction or bytes: %+v", r.Series, v)
		}
		received[wire.Direction(*v.Direction)] += *v.Bytes
	}
	var sum int64
	for _, f := range r.run.Bulk.Flows {
		from, to, network, bps := r.Series.Source, r.Series.Target, there, r.Bulk.Throughput.UpBPS
		if f.Direction == wire.DirectionDown {
			from, to, network, bps = to, from, back, r.Bulk.Throughput.DownBPS
		}
		n := received[f.Direction]
		sum += n
		if n != f.Bytes+f.RampBytes || n <= 0 || n > network {
			t.Errorf("%s %s: %d bytes in Parquet, %d in the document, and the network carried %d", r.Series, f.Direction, n, f.Bytes+f.RampBytes, network)
		}
		begin := r.Start.Add(time.Duration(f.RampNS)).UnixNano()
		var payload int64
		for _, p := range packets(t, s, r, from, to) {
			if p.Left.Wall >= begin && p.Left.Wall < begin+f.CountedNS {
				payload += int64(p.Payload)
			}
		}
		applied := float64(payload) * 8 / time.Duration(f.CountedNS).Seconds()
		if bps == nil || math.Abs(*bps/applied-1) > 0.1 {
			t.Errorf("%s %s: measured %v bit/s, and the network carried %.0f; want that within 10 %%", r.Series, f.Direction, figure(bps), applied)
		} else {
			t.Logf("%s %s: %.2f Mbit/s, %+.2f %% off what the network carried", r.Series, f.Direction, *bps/1e6, (*bps/applied-1)*100)
		}
	}
	want := 1
	if r.Bulk.Throughput.Direction == wire.DirectionBoth {
		want = 2
	}
	if moved := int64(*r.Bulk.MovedBytes); len(received) != want || sum > moved || sum < moved-lateBytes {
		t.Errorf("%s: %d bytes in %d directions in Parquet, and %d moved; want %d directions, and no more than %d bytes that came too late", r.Series, sum, len(received), moved, want, lateBytes)
	}
}

// checkSaturation returns what the small side of its requests comes to, in bytes.
func checkSaturation(t *testing.T, r *bulkResult) int64 {
	t.Helper()
	var requests, bytes int64
	for _, v := range r.intervals {
		if v.Requests == nil || v.Bytes == nil || *v.Requests == 0 || v.bands() != *v.Requests {
			t.Errorf("%s: a level of %v requests, of which %d in bands", r.Series, figure(v.Requests), v.bands())
			continue
		}
		requests, bytes = requests+*v.Requests, bytes+*v.Bytes
	}
	const transfer, under = 4096, 4
	moved := int64(*r.Bulk.MovedBytes)
	// Those that are answered after their level's end are in none.
	after := int64(len(r.intervals)) * under * transfer
	if len(r.intervals) == 0 || bytes != requests*transfer || bytes > moved || bytes < moved-after {
		t.Errorf("%s: %d levels with %d requests and %d bytes in Parquet, and %d moved", r.Series, len(r.intervals), requests, bytes, moved)
	}
	if best := r.Bulk.Saturation.BestBPS; best == nil || *best <= 0 || *best > 2*40e6 { // reads and writes have a direction each
		t.Errorf("%s: its best level has %v bit/s", r.Series, figure(best))
	}
	const small = 16 // the other message of a transfer
	return moved / transfer * small
}

func checkStream(t *testing.T, r *bulkResult) {
	t.Helper()
	const messages, size, applied = 800, 1024, 10_000 // µs
	var received int64
	for _, v := range r.intervals {
		if v.Received != nil {
			received += *v.Received
		}
	}
	x := &r.Bulk.Stream
	if x.Messages == nil || *x.Messages != messages || received != messages || int64(*r.Bulk.MovedBytes) != messages*size {
		t.Errorf("%s: %v messages taken, %d in Parquet, %.0f bytes; want %d of %d", r.Series, figure(x.Messages), received, *r.Bulk.MovedBytes, messages, size)
	}
	if x.DelayP50US == nil || x.DelayBoundUS == nil || *x.DelayP50US < applied-*x.DelayBoundUS || *x.DelayP50US > applied+*x.DelayBoundUS+ownUS {
		t.Errorf("%s: a delay of %v µs, bound %v; the network's is %d", r.Series, figure(x.DelayP50US), figure(x.DelayBoundUS), applied)
	}
}

// checkLoad checks the network's part of a run's round trips against what its packets took.
func checkLoad(t *testing.T, s *stack.Stack, r *bulkResult) {
	t.Helper()
	if len(r.run.Samples.RTTNS) != r.Counts.Sent || r.Counts.Sent < 20 || r.Counts.Received != r.Counts.Sent || len(r.intervals) != 0 {
		t.Errorf("%s: %+v, %d samples and %d intervals; want all of some requests answered", r.Series, r.Counts, len(r.run.Samples.RTTNS), len(r.intervals))
	}
	applied := 0.0
	for _, way := range [][2]string{{r.Series.Source, r.Series.Target}, {r.Series.Target, r.Series.Source}} {
		var took []int64
		for _, p := range packets(t, s, r, way[0], way[1]) {
			took = append(took, p.Left.Mono-p.Arrived.Mono)
		}
		if len(took) == 0 {
			t.Fatalf("%s: no packet from %s to %s", r.Series, way[0], way[1])
		}
		slices.Sort(took)
		applied += float64(took[len(took)/2]) / 1000
	}
	if server := r.Noise.ServerP50US; server == nil || r.Series.Target == "web" && *server < float64(websiteTakes.Microseconds()) {
		t.Errorf("%s: the server took %v µs, want at least the website's %s", r.Series, figure(server), websiteTakes)
	}
	network := r.Bulk.Load.NetworkP50US
	if network == nil || *network < applied-1000 || *network > applied+ownUS {
		t.Errorf("%s: a network time of %v µs; the network took %.0f", r.Series, figure(network), applied)
	} else {
		t.Logf("%s: a network time of %.2f ms, %+.2f ms off what the network took", r.Series, *network/1000, (*network-applied)/1000)
	}
}

// checkPaths asks the command line by how much the two paths differ: in throughput as the rows say, in
// round trips as the network delays.
func checkPaths(t *testing.T, s *stack.Stack, results []bulkResult) {
	t.Helper()
	out, code := sweepCommand(t, s, "compare", "--paths", "public,peering", "--since", "1h", "--format", "json")
	var answer struct {
		Differences []struct {
			Probe, Unit string
			Source      *string
			Slots       int
			Difference  *float64
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 {
		t.Fatalf("sweep compare ended with %d: %v\n%s", code, err, out)
	}
	bps := map[string]float64{}
	for i := range results {
		if r := &results[i]; r.Series.Probe == "up" && r.Bulk.Throughput.UpBPS != nil {
			bps[r.Series.Path] = *r.Bulk.Throughput.UpBPS
		}
	}
	rtt, up := 0, 0
	for _, d := range answer.Differences {
		switch {
		case d.Source == nil: // all pairs together
		case d.Difference == nil:
			t.Errorf("probe %s from %s: no difference", d.Probe, *d.Source)
		case d.Probe == "rtt":
			rtt++
			if d.Slots != 2 || d.Unit != "us" || math.Abs(*d.Difference-10_000) > apartUS {
				t.Errorf("rtt from %s: %.0f %s in %d slots; want 10,000 us in 2", *d.Source, *d.Difference, d.Unit, d.Slots)
			}
		case d.Probe == "up":
			up++
			want := bps["public"] - bps["peering"]
			if d.Slots != 1 || want >= 0 || math.Abs(*d.Difference/want-1) > 1e-6 {
				t.Errorf("up from %s: %.0f %s in %d slots; want %.0f bit/s in 1", *d.Source, *d.Difference, d.Unit, d.Slots, want)
			}
		}
	}
	if rtt != 2 || up != 1 {
		t.Errorf("%d and %d pairs of probes rtt and up, want 2 and 1:\n%s", rtt, up, out)
	}
}

// figure is a figure for people: <nil> where there is none.
func figure[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}
