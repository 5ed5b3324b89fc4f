package main

import (
	"cmp"
	"strings"

	"isochrone/prober/wire"
)

// planLoad turns the command line into a run. given says which flags were given.
func planLoad(text string, f *loadFlags, given func(string) bool) (*load, error) {
	if err := f.check(given); err != nil {
		return nil, err
	}
	l := &load{flags: f, network: "ip"}
	isURL := strings.Contains(text, "://")
	if err := f.checkTarget(isURL, given); err != nil {
		return nil, err
	}
	kind := wire.KindTCP // as far as the target's name and port go
	if isURL {
		kind = wire.KindHTTP
	}
	var err error
	if l.target, err = parseTarget(text, kind, f.keyFile != ""); err != nil {
		return nil, err
	}
	if f.keyFile != "" {
		if l.secret, l.warning, err = readKeyFile(f.keyFile); err != nil {
			return nil, err
		}
	}
	switch {
	case f.only4:
		l.network = "ip4"
	case f.only6:
		l.network = "ip6"
	}
	l.spec = f.spec(isURL)
	if err := l.spec.Validate(); err != nil {
		return nil, usage("see: prober help load", "%w", err)
	}
	return l, nil
}

// check looks for flags that exclude each other, whatever is loaded.
func (f *loadFlags) check(given func(string) bool) error {
	for _, c := range []struct{ one, other, remedy string }{
		{"loops", "time", "give --loops, or -t: users ask until the time is over"},
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

// checkTarget looks for flags that the target does not have.
func (f *loadFlags) checkTarget(isURL bool, given func(string) bool) error {
	if !isURL && f.keyFile == "" {
		return usage("give a URL, http://… or https://…; or start \"prober reflect --key-file FILE\" there and give the same key here",
			"a target that is no URL needs --key-file: only a reflector that knows the key answers")
	}
	flags, what := []string{"method"}, "a URL, and this is a reflector"
	if isURL {
		flags, what = []string{"key-file", "size", "response", "ipv4", "ipv6"}, "a reflector, and this is a URL"
	}
	for _, name := range flags {
		if given(name) {
			return usage("leave the flag out", "--%s belongs to %s", name, what)
		}
	}
	return nil
}

func (f *loadFlags) spec(isURL bool) wire.Spec {
	s := wire.Spec{Kind: wire.KindLoad, Timeout: f.timeout, Bulk: wire.Bulk{
		MaxBytes: f.maxBytes, Users: f.users, Ramp: f.ramp, Loops: f.loops,
	}}
	if f.during > 0 {
		s.Bulk.Loops, s.Bulk.Duration = 0, f.during
	}
	if isURL {
		s.Method, s.Connection = cmp.Or(f.method, "GET"), wire.ConnectionKeepAlive
	} else {
		s.RequestBytes, s.ResponseBytes = cmp.Or(f.size, 64), cmp.Or(f.response, 64)
	}
	return s
}
