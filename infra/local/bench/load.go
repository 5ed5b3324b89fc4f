package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
	"isochrone/prober/wire"
)

// The load of people who did it by hand, against a server that works for a time of its own.
const (
	loadUsers, loadLoops    = 100, 100
	loadRTT                 = 20 * time.Millisecond
	serverLeast, serverMost = time.Millisecond, 50 * time.Millisecond
	// loadBarUS is how far the median network time may be from what the emulator applied.
	loadBarUS = 500
)

// load compares the network's time, as `prober load` tells it from the server's, with what the
// emulator applied. Beside it stands the network's time of the requests whose server was quickest
// and slowest: the server's time is not to show in it.
func (b *bench) load(ctx context.Context) (err error) {
	if err := b.buildAppserver(ctx); err != nil {
		return err
	}
	link := topology.Link{Delay: loadRTT / 2}
	w, p, err := emulated(ctx, link, link, wan.Options{Log: os.Stderr, Awake: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	var off, tail, rates []float64
	for i := range b.rounds {
		since := time.Now()
		m, err := b.loaded(ctx, p)
		if err != nil {
			return err
		}
		applied, err := appliedRTT(ctx, w, exchange{kind: "tcp"}, since)
		if err != nil {
			return err
		}
		network, quick, slow := m.networks()
		own := m.owns()
		p50, p99 := quantile(network, 0.5), quantile(network, 0.99)
		b.say("round %d: %d requests, %.0f a second, server p50 %.1f ms; network p50 %.3f ms, p99 %.3f ms, applied %.3f ms; p50 of the quickest and slowest fourth %.3f and %.3f ms; answers read %.3f ms late",
			i+1, m.Counts.Received, m.Rate, quantile(m.servers(), 0.5)/1000, p50/1000, p99/1000, applied/1000, quantile(quick, 0.5)/1000, quantile(slow, 0.5)/1000, quantile(own, 0.5)/1000)
		off, tail, rates = append(off, math.Abs(p50-applied)), append(tail, p99-applied), append(rates, m.Rate)
	}
	b.figure("load_network_p50_error_20ms", median(off), "us", atMost(loadBarUS))
	b.figure("load_network_p99_over_applied_20ms", median(tail), "us", nil)
	b.figure("load_requests_per_s_20ms", median(rates), "1/s", nil)
	return nil
}

func (b *bench) buildAppserver(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(b.programs, "appserver"), "./infra/local/appserver")
	cmd.Dir, cmd.Env = b.root, append(slices.Clone(b.environ), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the server that is loaded: %w\n%s", err, out)
	}
	return nil
}

// loadMeasured is what `prober load --json` prints, as far as it matters here.
type loadMeasured struct {
	measured
	Rate float64 `json:"requests_per_s"`
}

// loaded makes one load run against a server of its own.
func (b *bench) loaded(ctx context.Context, p place) (loadMeasured, error) {
	address := p.far + ":" + peerPort
	s, err := p.serve([]string{filepath.Join(b.programs, "appserver"), "--listen", address, "--least", serverLeast.String(), "--most", serverMost.String()})
	if err != nil {
		return loadMeasured{}, err
	}
	defer s.stop()
	out, err := p.client(ctx, b.prober("load", "http://"+address+"/", "--users", strconv.Itoa(loadUsers), "--ramp", "1s", "--loops", strconv.Itoa(loadLoops), "--json", "-q"))
	if err != nil {
		return loadMeasured{}, err
	}
	var m loadMeasured
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("reading what prober load printed: %w", err)
	}
	if m.Counts.Received != loadUsers*loadLoops {
		return m, fmt.Errorf("%d of %d requests were answered: %s %s", m.Counts.Received, loadUsers*loadLoops, m.Failure, m.Detail)
	}
	return m, nil
}

// servers are the server's own times in µs.
func (m loadMeasured) servers() (out []float64) {
	for _, ns := range m.Samples.ServerNS {
		out = append(out, float64(ns)/1000)
	}
	return out
}

// owns are how long answers had come before they were read, in µs.
func (m loadMeasured) owns() (out []float64) {
	for _, ns := range m.Samples.ClientNS.Values() {
		out = append(out, float64(ns)/1000)
	}
	return out
}

// networks are the network's times in µs: of all requests that opened no connection, and of the
// fourths of them whose server was quickest and slowest.
func (m loadMeasured) networks() (all, quick, slow []float64) {
	servers := m.servers()
	first, third := quantile(servers, 0.25), quantile(servers, 0.75)
	for i, rtt := range m.rtts() { // all were answered
		if m.Samples.ConnectNS[i] != wire.Null {
			continue
		}
		network := rtt - servers[i]
		all = append(all, network)
		if servers[i] <= first {
			quick = append(quick, network)
		} else if servers[i] >= third {
			slow = append(slow, network)
		}
	}
	return all, quick, slow
}
