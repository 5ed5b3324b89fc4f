package main

import (
	"cmp"
	"strings"

	"isochrone/prober/wire"
)

// planBandwidth turns the command line into a run. given says which flags were given.
func planBandwidth(text string, f *bandwidthFlags, given func(string) bool) (*bandwidth, error) {
	if err := f.check(given); err != nil {
		return nil, err
	}
	b := &bandwidth{flags: f, network: "ip"}
	var err error
	if b.target, err = reflectorTarget(text, wire.KindThroughput); err != nil {
		return nil, err
	}
	if b.secret, b.warning, err = readKeyFile(f.keyFile); err != nil {
		return nil, err
	}
	switch {
	case f.only4:
		b.network = "ip4"
	case f.only6:
		b.network = "ip6"
	}
	b.spec = wire.Spec{
		Kind: wire.KindThroughput, Timeout: f.timeout, RequestBytes: f.size,
		Bulk: wire.Bulk{
			MaxBytes: f.maxBytes, Duration: f.during, Ramp: f.ramp, Direction: wire.Direction(f.direction),
			Streams: f.streams, RateBPS: f.rate, Congestion: f.congestion,
		},
	}
	if err := b.spec.Validate(); err != nil {
		return nil, usage("see: prober help bandwidth", "%w", err)
	}
	return b, nil
}

func (f *bandwidthFlags) check(given func(string) bool) error {
	for _, c := range []struct{ one, other string }{{"ipv4", "ipv6"}, {"json", "xml"}} {
		if given(c.one) && given(c.other) {
			return usage("give one of them", "--%s and --%s exclude each other", c.one, c.other)
		}
	}
	switch {
	case f.keyFile == "":
		return usage("start \"prober reflect --key-file FILE\" there and give the same key here",
			"bandwidth needs --key-file: only a reflector that knows the key takes part")
	case f.noIntervals && !f.json && !f.xml:
		return usage("give --json or --xml, or leave it out", "--no-intervals: text has no intervals")
	}
	return nil
}

// reflectorTarget reads the host or host:port of a prober reflect.
func reflectorTarget(text string, kind wire.Kind) (target, error) {
	if strings.Contains(text, "://") {
		return target{}, usage("give host:port of the reflector", "a URL is no target of kind %s", kind)
	}
	t := target{given: text, kind: kind}
	var err error
	if t.host, t.port, err = splitTarget(text); err != nil {
		return target{}, err
	}
	t.port = cmp.Or(t.port, reflectPort)
	return t, nil
}
