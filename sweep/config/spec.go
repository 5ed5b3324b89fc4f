package config

import (
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// What a probe has where the file says nothing.
const (
	defaultTimeout    = 2 * time.Second
	defaultWarmup     = 5
	defaultUDPRequest = wire.DefaultDatagramBytes
	defaultEcho       = 56 // what ping sends
)

// spec reads how the probe measures. ok is false when anything of it is wrong.
func (r *reader) spec(s section) (spec wire.Spec, ok bool) {
	before := len(r.faults)
	kind, kindRead := s.text("kind")
	spec = wire.Spec{Kind: wire.Kind(kind), Timeout: defaultTimeout, Warmup: defaultWarmup}
	unread := map[string]bool{ // reported already
		"kind":     !kindRead,
		"count":    !s.number("count", &spec.Count) || !s.has("count"),
		"interval": !s.duration("interval", &spec.Interval) || !s.has("interval"),
		"timeout":  !s.duration("timeout", &spec.Timeout),
		"warmup":   !s.number("warmup", &spec.Warmup),
	}
	if spec.Interval == 0 && !unread["interval"] {
		unread["interval"] = true
		r.fault(s.lineOf("interval"), "%s.interval 0s: want 1ms to 1m: samples that wait for each other cannot show how long a stall was", s.at)
	}
	r.kindKeys(s, &spec, unread)
	for _, err := range each(spec.Validate()) {
		// Every fault of a spec begins with the word that names its key here.
		word, _, _ := strings.Cut(err.Error(), " ")
		if !unread[word] {
			r.fault(s.lineOf(word), "%s.%s", s.at, err)
		}
	}
	ok = len(r.faults) == before && !unread["kind"] && !unread["count"] && !unread["interval"] && !unread["request"]
	if span := spec.Span(); ok && span > MaxSpan {
		ok = false
		r.fault(s.lineOf("count"), "%s.count %d: a run of %d samples, %d of them warm-up, every %s takes %s: want at most %s; take fewer, or a shorter interval",
			s.at, spec.Count, spec.Count+spec.Warmup, spec.Warmup, spec.Interval, span, MaxSpan)
	}
	return spec, ok
}

// kindKeys reads the keys that only some kinds have, and refuses them for the others.
func (r *reader) kindKeys(s section, spec *wire.Spec, unread map[string]bool) {
	if !slices.Contains(wire.Kinds(), spec.Kind) {
		return // then nobody can say what it has
	}
	refuse := func(why string, keys ...string) {
		for _, key := range keys {
			if s.has(key) {
				r.fault(s.lineOf(key), "%s: "+why+"; leave it out", s.place(key), spec.Kind)
			}
		}
	}
	const noSizes, sameSize, none = "kind %q has no message sizes", "a reply of kind %q has the request's size", "kind %q has none"
	if spec.Kind != wire.KindHTTP {
		refuse(none, "method", "connection")
	}
	refuse(none, bulkKeys()...)
	switch spec.Kind {
	case wire.KindTCP:
		s.need("request")
		spec.ResponseBytes = wire.MinMessageBytes
		unread["request"] = !s.number("request", &spec.RequestBytes) || !s.has("request")
		unread["response"] = !s.number("response", &spec.ResponseBytes) || !s.has("response") || unread["request"]
	case wire.KindUDP, wire.KindICMP:
		refuse(sameSize, "response")
		spec.RequestBytes = defaultUDPRequest
		if spec.Kind == wire.KindICMP {
			spec.RequestBytes = defaultEcho
		}
		unread["request"] = !s.number("request", &spec.RequestBytes)
	case wire.KindHTTP:
		refuse(noSizes, "request", "response")
		spec.Method, spec.Connection = "GET", wire.ConnectionFresh
		unread["method"] = !r.word(s, "method", &spec.Method)
		unread["connection"] = !r.word(s, "connection", &spec.Connection)
	default:
		refuse(noSizes, "request", "response")
	}
}

// word reads a key's text. It leaves to alone when the key is absent, and says whether to can be
// relied on.
func (r *reader) word(s section, key string, to *string) bool {
	if !s.has(key) {
		return true
	}
	text, ok := s.text(key)
	if ok {
		*to = text
	}
	return ok
}

// each takes joined errors apart.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
