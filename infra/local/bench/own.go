package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"isochrone/prober/wire"
)

// measured is what `prober ping --json` prints, as far as it matters here.
type measured struct {
	Failure string       `json:"failure"`
	Detail  string       `json:"detail"`
	Counts  wire.Counts  `json:"counts"`
	Samples wire.Samples `json:"samples"`
}

// rtts are the round trips in µs.
func (m measured) rtts() []float64 {
	var out []float64
	for _, ns := range m.Samples.RTTNS {
		if ns != wire.Null {
			out = append(out, float64(ns)/1000)
		}
	}
	return out
}

// keyFile is the key that both ends of our own tool share.
func (b *bench) keyFile() (string, error) {
	name := filepath.Join(b.programs, "key")
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	seed := wire.NewSeed()
	text, err := seed.MarshalText()
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	return name, nil
}

// reflector starts our own far end.
func (b *bench) reflector(p place) (*process, error) {
	key, err := b.keyFile()
	if err != nil {
		return nil, err
	}
	return p.serve(b.prober("reflect", "--listen", p.far+":"+ourPort, "--key-file", key))
}

// ping measures with our own tool, against a reflector that runs already.
func (b *bench) ping(ctx context.Context, p place, e exchange, more ...string) (measured, error) {
	key, err := b.keyFile()
	if err != nil {
		return measured{}, err
	}
	args := []string{"ping", p.far + ":" + ourPort, "--kind", e.kind, "--key-file", key, "--json",
		"-i", e.interval.String(), "-l", strconv.Itoa(e.bytes)}
	args = append(args, "-n", strconv.Itoa(e.count))
	if e.kind == "tcp" {
		args = append(args, "--response", strconv.Itoa(e.bytes)) // as sockperf's
	}
	out, err := p.client(ctx, b.prober(append(args, more...)...))
	if err != nil {
		return measured{}, err
	}
	var m measured
	if err := json.Unmarshal(out, &m); err != nil {
		return measured{}, fmt.Errorf("reading what prober ping printed: %w", err)
	}
	if m.Failure != "" || m.Counts.Received == 0 {
		return m, errors.New("prober ping measured nothing: " + m.Failure + " " + m.Detail)
	}
	return m, nil
}

// own measures with our own tool, both ends.
func (b *bench) own(ctx context.Context, p place, e exchange) (reading, error) {
	r, err := b.reflector(p)
	if err != nil {
		return reading{}, err
	}
	defer r.stop()
	m, err := b.ping(ctx, p, e)
	if err != nil {
		return reading{}, err
	}
	rtts := m.rtts()
	return reading{quantile(rtts, 0.5), quantile(rtts, 0.99)}, nil
}
