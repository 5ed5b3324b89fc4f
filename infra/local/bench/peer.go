package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// reading is what one run of a tool came to, in µs.
type reading struct{ p50, p99 float64 }

const (
	peerPort = "20111"
	ourPort  = "20112"
)

// exchange is what is measured: messages of a size, back to back where interval is 0.
type exchange struct {
	kind     string // tcp or udp
	bytes    int
	interval time.Duration
	count    int // of ours; sockperf and irtt measure for as long as it takes at that interval
}

func (e exchange) pacing() string {
	if e.interval == 0 {
		return "back to back"
	}
	return "one every " + e.interval.String()
}

func (e exchange) seconds() int {
	return max(int((time.Duration(e.count)*e.interval).Seconds()+0.5), 2)
}

var percentile = regexp.MustCompile(`percentile (50|99)\.000 =\s+([0-9.]+)`)

// sockperf measures a ping-pong with Mellanox' tool. Both tools are left on all processors.
func sockperf(ctx context.Context, p place, e exchange) (reading, error) {
	server := []string{"sockperf", "server", "-i", p.far, "-p", peerPort}
	client := []string{"sockperf", "ping-pong", "-i", p.far, "-p", peerPort, "-m", strconv.Itoa(e.bytes), "-t", strconv.Itoa(e.seconds()), "--full-rtt"}
	if e.kind == "tcp" {
		server, client = append(server, "--tcp"), append(client, "--tcp")
	}
	if e.interval > 0 {
		client = append(client, "--mps="+strconv.Itoa(int(time.Second/e.interval)))
	}
	s, err := p.serve(server)
	if err != nil {
		return reading{}, err
	}
	defer s.stop()
	out, err := p.client(ctx, client)
	if err != nil {
		return reading{}, err
	}
	var r reading
	for _, m := range percentile.FindAllSubmatch(out, -1) {
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return reading{}, fmt.Errorf("reading what sockperf printed: %w", err)
		}
		if string(m[1]) == "50" {
			r.p50 = v
		} else {
			r.p99 = v
		}
	}
	if r.p50 == 0 || r.p99 == 0 {
		return reading{}, fmt.Errorf("reading what sockperf printed: no percentiles in\n%s", out)
	}
	return r, nil
}

// irtt measures with irtt (github.com/heistp/irtt), udp only.
func irtt(ctx context.Context, p place, e exchange) (reading, error) {
	s, err := p.serve([]string{"irtt", "server", "-b", p.far + ":" + peerPort})
	if err != nil {
		return reading{}, err
	}
	defer s.stop()
	out, err := p.client(ctx, []string{"irtt", "client", "-Q", "-i", e.interval.String(), "-d", strconv.Itoa(e.seconds()) + "s",
		"-l", strconv.Itoa(e.bytes), "-o", "-", p.far + ":" + peerPort})
	if err != nil {
		return reading{}, err
	}
	var printed struct {
		RoundTrips []struct {
			Delay struct {
				RTT float64 `json:"rtt"`
			} `json:"delay"`
		} `json:"round_trips"`
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		return reading{}, fmt.Errorf("reading what irtt printed: %w", err)
	}
	var rtts []float64
	for _, t := range printed.RoundTrips {
		if t.Delay.RTT > 0 {
			rtts = append(rtts, t.Delay.RTT/1000)
		}
	}
	if len(rtts) == 0 {
		return reading{}, fmt.Errorf("reading what irtt printed: no round trips")
	}
	return reading{quantile(rtts, 0.5), quantile(rtts, 0.99)}, nil
}
