package config

import (
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// What a bulk probe has where the file says nothing.
const (
	defaultBulkTimeout = 10 * time.Second
	defaultDuration    = 10 * time.Second // of throughput: what is counted
	defaultRamp        = 2 * time.Second
	defaultLevel       = 5 * time.Second // of saturate, at each number of requests under way
	defaultOutstanding = 32
	defaultLoadRamp    = time.Second
)

// latencyKeys are the keys that only latency kinds have, or all of the kinds.
func latencyKeys() []string {
	return []string{"count", "interval", "warmup", "request", "response", "method", "connection"}
}

// bulkKeys are the keys that only bulk kinds have.
func bulkKeys() []string {
	return []string{"max_bytes", "duration", "ramp", "direction", "streams", "rate", "congestion", "read", "outstanding",
		"messages", "batch", "sink_rate", "users", "loops"}
}

// bulkReader reads the keys of a bulk probe, and keeps which it has looked at.
type bulkReader struct {
	section
	looked []string
	// unread are the keys whose value cannot be relied on, or is missing: it is reported already.
	unread map[string]bool
}

// key notes a key, and whether its value could be read.
func (b *bulkReader) key(name string, ok bool) {
	b.looked = append(b.looked, name)
	b.unread[name] = !ok
}

// needed is key for one that must be there.
func (b *bulkReader) needed(name string, ok bool) {
	b.need(name)
	b.key(name, ok && b.has(name))
}

// bulk reads how a bulk probe loads the network. endpoints says that it names one as a target.
// ok is false when anything of it is wrong.
func (r *reader) bulk(s section, kind wire.Kind, endpoints bool) (spec wire.Spec, ok bool) {
	before := len(r.faults)
	spec = wire.Spec{Kind: kind, Timeout: defaultBulkTimeout}
	b := &bulkReader{section: s, unread: map[string]bool{}}
	b.key("timeout", s.duration("timeout", &spec.Timeout))
	b.needed("max_bytes", s.quantity("max_bytes", byteUnits, &spec.Bulk.MaxBytes))
	switch kind {
	case wire.KindThroughput:
		b.throughput(&spec)
	case wire.KindSaturate:
		b.saturate(&spec)
	case wire.KindStream:
		b.stream(&spec)
	case wire.KindLoad:
		b.load(&spec, endpoints)
	}
	for _, key := range append(latencyKeys(), bulkKeys()...) {
		if s.has(key) && !slices.Contains(b.looked, key) {
			b.unread[key] = true
			r.fault(s.lineOf(key), "%s: %s has none; leave it out", s.place(key), b.who(kind, spec))
		}
	}
	for _, err := range each(spec.Validate()) {
		// Every fault of a spec begins with the word that names its key here.
		word, _, _ := strings.Cut(err.Error(), " ")
		if !b.unread[word] {
			r.fault(s.lineOf(word), "%s.%s", s.at, err)
		}
	}
	missing := slices.ContainsFunc(b.looked, func(key string) bool { return b.unread[key] })
	return spec, len(r.faults) == before && !missing
}

func (b *bulkReader) who(kind wire.Kind, spec wire.Spec) string {
	switch {
	case kind != wire.KindLoad:
		return `kind "` + string(kind) + `"`
	case spec.AsksURL():
		return `kind "load" of a url`
	}
	return `kind "load" of probers`
}

func (b *bulkReader) throughput(spec *wire.Spec) {
	o := &spec.Bulk
	spec.RequestBytes = wire.DefaultChunkBytes
	o.Duration, o.Ramp, o.Direction = defaultDuration, defaultRamp, wire.DirectionUp
	direction := string(o.Direction)
	b.key("duration", b.duration("duration", &o.Duration))
	b.key("ramp", b.duration("ramp", &o.Ramp))
	b.key("direction", b.r.word(b.section, "direction", &direction))
	b.key("streams", b.number("streams", &o.Streams))
	rate := b.quantity("rate", bitRateUnits, &o.RateBPS)
	if b.has("rate") && rate && o.RateBPS == 0 {
		rate = false
		b.r.fault(b.lineOf("rate"), "%s 0bit: want at least 1bit; leave it out for no cap", b.place("rate"))
	}
	b.key("rate", rate)
	b.key("request", b.size("request", &spec.RequestBytes))
	b.key("congestion", b.r.word(b.section, "congestion", &o.Congestion))
	o.Direction = wire.Direction(direction)
}

func (b *bulkReader) saturate(spec *wire.Spec) {
	o := &spec.Bulk
	o.Duration, o.Outstanding = defaultLevel, defaultOutstanding
	b.needed("request", b.size("request", &spec.RequestBytes))
	b.key("read", b.number("read", &o.ReadPercent))
	b.key("outstanding", b.number("outstanding", &o.Outstanding))
	b.key("duration", b.duration("duration", &o.Duration))
}

func (b *bulkReader) stream(spec *wire.Spec) {
	o := &spec.Bulk
	o.Batch = 1
	b.needed("request", b.size("request", &spec.RequestBytes))
	b.needed("messages", b.number("messages", &o.Messages))
	b.needed("rate", b.number("rate", &o.MessageRate))
	b.key("batch", b.number("batch", &o.Batch))
	b.key("sink_rate", b.number("sink_rate", &o.SinkRate))
}

// load is of a URL where the probe has a method or an endpoint to ask, else of probers.
func (b *bulkReader) load(spec *wire.Spec, endpoints bool) {
	o := &spec.Bulk
	o.Ramp = defaultLoadRamp
	b.needed("users", b.number("users", &o.Users))
	b.key("ramp", b.duration("ramp", &o.Ramp))
	loops, duration := b.number("loops", &o.Loops), b.duration("duration", &o.Duration)
	b.key("duration", duration)
	b.key("loops", loops && duration)
	if endpoints || b.has("method") {
		spec.Method, spec.Connection = "GET", wire.ConnectionKeepAlive
		b.key("method", b.r.word(b.section, "method", &spec.Method))
		return
	}
	spec.ResponseBytes = wire.MinMessageBytes
	b.needed("request", b.size("request", &spec.RequestBytes))
	b.key("response", b.size("response", &spec.ResponseBytes))
}
