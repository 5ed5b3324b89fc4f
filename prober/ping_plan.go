package main

import (
	"cmp"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// planPing turns the command line into a run. given says which flags were given.
func planPing(text string, f *pingFlags, given func(string) bool) (*ping, error) {
	if err := f.check(given); err != nil {
		return nil, err
	}
	p := &ping{flags: f, network: "ip"}
	var err error
	if p.target, err = parseTarget(text, wire.Kind(f.kind), f.keyFile != ""); err != nil {
		return nil, err
	}
	if err := f.checkKind(p.target.kind, given); err != nil {
		return nil, err
	}
	if f.keyFile != "" {
		if p.secret, p.warning, err = readKeyFile(f.keyFile); err != nil {
			return nil, err
		}
	}
	switch {
	case f.only4:
		p.network = "ip4"
	case f.only6:
		p.network = "ip6"
	}
	p.spec = f.spec(p.target.kind)
	if f.during > 0 && p.spec.ClosedLoop() {
		p.stop = f.during
	}
	return p, p.checkSpec()
}

// check looks for flags that exclude each other, whatever is measured.
func (f *pingFlags) check(given func(string) bool) error {
	for _, c := range []struct {
		one, other, remedy string
	}{
		{"count", "time", "give -n, or -t: the count is then the time by the interval"},
		{"ipv4", "ipv6", "give one of -4 and -6"},
		{"json", "xml", "give one of --json and --xml"},
	} {
		if given(c.one) && given(c.other) {
			return usage(c.remedy, "--%s and --%s exclude each other", c.one, c.other)
		}
	}
	switch {
	case given("time") && f.during == 0:
		return usage("", "--time 0: want more than nothing")
	case f.noSamples && !f.json && !f.xml:
		return usage("give --json or --xml, or leave it out", "--no-samples: text has no samples")
	case f.keyFile == "" && given("key-file"):
		return usage("", "--key-file: no name")
	}
	return nil
}

// checkKind looks for flags that the kind does not have.
func (f *pingFlags) checkKind(kind wire.Kind, given func(string) bool) error {
	for _, c := range []struct {
		flag  string
		kinds []wire.Kind
	}{
		{"size", []wire.Kind{wire.KindTCP, wire.KindUDP, wire.KindICMP}},
		{"response", []wire.Kind{wire.KindTCP}},
		{"method", []wire.Kind{wire.KindHTTP}},
		{"connection", []wire.Kind{wire.KindHTTP}},
		{"key-file", []wire.Kind{wire.KindTCP, wire.KindUDP}},
		{"ipv4", []wire.Kind{wire.KindConnect, wire.KindTCP, wire.KindUDP, wire.KindICMP}},
		{"ipv6", []wire.Kind{wire.KindConnect, wire.KindTCP, wire.KindUDP, wire.KindICMP}},
	} {
		has := false
		names := make([]string, len(c.kinds))
		for i, k := range c.kinds {
			has = has || k == kind
			names[i] = string(k)
		}
		if given(c.flag) && !has {
			return usage("give --kind, or leave the flag out", "--%s belongs to kind %s, and this is %s", c.flag, strings.Join(names, ", "), kind)
		}
	}
	if kind == wire.KindTCP && f.keyFile == "" {
		return usage("start \"prober reflect --key-file FILE\" there and give the same key here; or use --kind connect, which needs nothing there",
			"kind tcp needs --key-file: only a reflector that knows the key answers")
	}
	return nil
}

func (f *pingFlags) spec(kind wire.Kind) wire.Spec {
	s := wire.Spec{Kind: kind, Count: f.count, Warmup: f.warmup, Interval: f.interval, Timeout: f.timeout}
	switch kind {
	case wire.KindTCP:
		s.RequestBytes = cmp.Or(f.size, 64)
		s.ResponseBytes = cmp.Or(f.response, wire.MinMessageBytes)
	case wire.KindUDP:
		s.RequestBytes = cmp.Or(f.size, wire.DefaultDatagramBytes)
	case wire.KindICMP:
		s.RequestBytes = cmp.Or(f.size, 56) // as of every ping
	case wire.KindHTTP:
		s.Method = cmp.Or(f.method, "GET")
		s.Connection = cmp.Or(f.connection, wire.ConnectionFresh)
	}
	if f.during > 0 {
		s.Count = wire.MaxSamples
		if s.Interval > 0 {
			s.Count = int(max(f.during/s.Interval, 1))
		}
	}
	return s
}

// sharedSession is how long a reflector keeps a session with a shared key open, from when it first
// hears of it. sessionMargin covers what a run does after its last sample: replies are waited for,
// and the session is closed.
const (
	sharedSession = time.Hour
	sessionMargin = openingBound
)

func (p *ping) checkSpec() error {
	if err := p.spec.Validate(); err != nil {
		return usage("see: prober help ping", "%w", err)
	}
	took := p.spec.Span()
	if p.spec.ClosedLoop() { // how long that takes is not known before; see request
		took = p.stop
	}
	if p.secret != nil && took+sessionMargin > sharedSession {
		return usage("measure in several runs", "the run takes %s: want at most %s, as a session with a shared key lasts %s", took.Round(time.Second), sharedSession-sessionMargin, sharedSession)
	}
	return nil
}
