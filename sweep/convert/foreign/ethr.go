package foreign

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

var ethr = &Format{Name: "ethr", Title: "ethr -o, its log", read: readEthr,
	recognise: func(h *Head) bool { return isEthr(h.object()) }}

// isEthr says whether an object is a line of the log.
func isEthr(v jsontext.Value) bool {
	switch v.Get("Type").Text() {
	case "INFO", "ERROR", "DEBUG":
		return v.Has("Time", "Title", "Message") && v.Len() == 4
	case "LatencyResult":
		return v.Has("Time", "RemoteAddr", "Protocol", "Avg", "P9999")
	case "TestResult":
		return v.Has("Time", "RemoteAddr", "Protocol", "BitsPerSecond", "ConnectionsPerSecond")
	}
	return false
}

// ethrRun is what is known of the run that the log tells of: the program appends to the log that it
// finds, so that one may hold several.
type ethrRun struct {
	title, host, address string
	begun                *toldRecord
	failed               *toldRecord // the first error
	found                int         // findings of this run
	perLatency           int         // round trips of a latency result

	results []toldRecord // of bandwidth, packets or connections, one a second

	ping     []int64 // round trips of connections or echoes that were made one by one
	icmp     bool
	lost     int
	why      string // the last of those that were lost
	failures map[wire.Failure]int
	first    *toldRecord
	stats    *ethrCounts
}

// ethrCounts are the counts of a series of pings.
type ethrCounts struct {
	sent, received, lost Quantity
}

var (
	ethrTo      = regexp.MustCompile(`^Using destination: (.*), ip: (.*), port: (.*)$`)
	ethrLatency = regexp.MustCompile(`^Running latency test: (\d+), \d+$`)
	ethrTCP     = regexp.MustCompile(`^\[tcp\] (\[warmup\] )?Connection from .* to (\[.*\]:\d+): ([0-9.]+(?:ns|us|ms|s))$`)
	ethrTCPLost = regexp.MustCompile(`^\[tcp\] (\[warmup\] )?Connection to .*: Timed out \((.*)\)$`)
	ethrICMP    = regexp.MustCompile(`^\[icmp\] (\[warmup\] )?Ping to (.*): ([0-9.]+(?:ns|us|ms|s))$`)
	ethrNoICMP  = regexp.MustCompile(`^\[icmp\] (\[warmup\] )?Ping to (.*)$`)
	ethrSent    = regexp.MustCompile(`^ *Sent = (\d+), Received = (\d+), Lost = (\d+)$`)
)

// ethrReader collects what belongs together.
type ethrReader struct {
	d   *Document
	run ethrRun
}

func readEthr(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	e := ethrReader{d: d}
	for r := range toldRecords(text, d) {
		if r.Cut() {
			break
		}
		var err error
		switch r.Get("Type").Text() {
		case "INFO", "DEBUG":
			err = e.message(r, r.Get("Message").Text())
		case "ERROR":
			if e.run.failed == nil {
				e.run.failed = &r
			}
		case "TestResult":
			err = e.result(r)
		case "LatencyResult":
			err = e.latency(r)
		}
		if err != nil {
			return err
		}
	}
	return e.end(bytes.Count(text, []byte{'\n'}) + 1)
}

// message reads what the program says between its results.
func (e *ethrReader) message(r toldRecord, text string) error {
	run := &e.run
	if m := ethrTo.FindStringSubmatch(text); m != nil {
		if err := e.end(r.line); err != nil {
			return err
		}
		e.run = ethrRun{begun: &r, title: r.Get("Title").Text(), host: m[1]}
		if net.ParseIP(m[2]) != nil && m[3] != "" {
			e.run.address = net.JoinHostPort(m[2], m[3])
		}
		return nil
	}
	if m := ethrLatency.FindStringSubmatch(text); m != nil {
		run.perLatency, _ = strconv.Atoi(m[1])
	} else if m := ethrTCP.FindStringSubmatch(text); m != nil {
		return e.pinged(r, m[1], m[3], false)
	} else if m := ethrICMP.FindStringSubmatch(text); m != nil {
		return e.pinged(r, m[1], m[3], true)
	} else if m := ethrTCPLost.FindStringSubmatch(text); m != nil {
		e.pingLost(r, m[1], m[2], false)
	} else if m := ethrNoICMP.FindStringSubmatch(text); m != nil {
		e.pingLost(r, m[1], m[2], true)
	} else if m := ethrSent.FindStringSubmatch(text); m != nil {
		where := r.where("Message")
		run.stats = &ethrCounts{Quantity{m[1], "", where}, Quantity{m[2], "", where}, Quantity{m[3], "", where}}
		if m[2] == "0" { // no latency result follows
			return e.pings(r)
		}
	}
	return nil
}

// finding begins a finding of the run.
func (e *ethrReader) finding(kind wire.Kind, r toldRecord) Finding {
	f := Finding{Tool: "ethr", Variant: e.run.title, To: e.run.host, Run: wire.Run{Kind: kind, Address: e.run.address}}
	if f.Variant == "" {
		f.Variant = r.Get("Title").Text()
	}
	if f.To == "" {
		f.To = r.Get("RemoteAddr").Text()
	}
	return f
}

func (e *ethrReader) add(f Finding) error {
	e.run.found++
	return e.d.add(f)
}

// latency is a result of many round trips over one connection, or the summary of pings.
func (e *ethrReader) latency(r toldRecord) error {
	if e.run.stats != nil {
		return e.pings(r)
	}
	kind := wire.KindTCP
	if r.Get("Protocol").Text() == "ICMP" {
		kind = wire.KindICMP
	}
	f := e.finding(kind, r)
	if at, q, ok := r.time("Time"); ok { // when it was there: it took no longer than a second or two
		f.began(at, q)
	}
	n := e.run.perLatency
	f.ethrFigures(e.d, r, n)
	if f.Summary.Mean == nil && f.Summary.Min == nil {
		return nil
	}
	return e.add(f)
}

// ethrFigures reads the figures of a latency result. Versions to 1.0.0 write them under the wrong
// names, each quantile under the next one's and the largest under P50: then P50 is larger than P90,
// which it cannot be otherwise.
func (f *Finding) ethrFigures(d *Document, r toldRecord, n int) {
	at := func(name string) Quantity { return r.quantity("", name) }
	p50, _ := at("P50").nanoseconds()
	p90, _ := at("P90").nanoseconds()
	names := [...]string{"P50", "P90", "P95", "P99", "P999", "Max"}
	if p50 != nil && p90 != nil && *p50 > *p90 {
		names = [...]string{"P90", "P95", "P99", "P999", "P9999", "P50"}
	}
	s := &f.Summary
	d.tell(r.line, f.duration("rtt_min_us", &s.Min, at("Min")), f.duration("rtt_mean_us", &s.Mean, at("Avg")), f.duration("rtt_max_us", &s.Max, at(names[5])),
		f.toldQuantile("rtt_p50_us", &s.P50, at(names[0]), .5, n), f.toldQuantile("rtt_p90_us", &s.P90, at(names[1]), .9, n), f.toldQuantile("rtt_p95_us", &s.P95, at(names[2]), .95, n),
		f.toldQuantile("rtt_p99_us", &s.P99, at(names[3]), .99, n), f.toldQuantile("rtt_p999_us", &s.P999, at(names[4]), .999, n))
}

// result is one second of a test for bandwidth, packets or connections.
func (e *ethrReader) result(r toldRecord) error {
	if len(e.run.results) > 0 {
		last := e.run.results[len(e.run.results)-1]
		if ethrColumn(last) != ethrColumn(r) || last.Get("RemoteAddr").Text() != r.Get("RemoteAddr").Text() || last.Get("Protocol").Text() != r.Get("Protocol").Text() {
			if err := e.rates(); err != nil {
				return err
			}
		}
	}
	e.run.results = append(e.run.results, r)
	return nil
}

// ethrColumn is the name of the figure that a result has.
func ethrColumn(r toldRecord) string {
	for _, name := range []string{"BitsPerSecond", "ConnectionsPerSecond", "PacketsPerSecond"} {
		if r.quantity("", name).there() {
			return name
		}
	}
	return ""
}

// rates ends a series of seconds: their mean, since each is as long as the others.
func (e *ethrReader) rates() error {
	results := e.run.results
	e.run.results = nil
	name := ""
	if len(results) > 0 {
		name = ethrColumn(results[0])
	}
	if name != "BitsPerSecond" && name != "ConnectionsPerSecond" {
		return nil
	}
	sum, n := 0.0, 0
	for _, r := range results {
		q := r.quantity("", name)
		v, err := ethrNumber(q)
		if err != nil || v == nil {
			e.d.tell(r.line, err)
			continue
		}
		sum += *v
		n++
	}
	if n == 0 {
		return nil
	}
	kind := wire.KindThroughput
	if name == "ConnectionsPerSecond" {
		kind = wire.KindLoad
	}
	first, last := results[0], results[len(results)-1]
	f := e.finding(kind, first)
	if at, q, ok := first.time("Time"); ok { // it is written at the second's end
		f.began(at.Add(-time.Second), q)
		if end, _, ok := last.time("Time"); ok && !end.Before(at) {
			f.Run.End = &end
		}
	}
	mean := sum / float64(n)
	from := Quantity{fmt.Sprintf("%s … %s, mean of %d", first.Get(name).Text(), last.Get(name).Text(), n), "1/s", fmt.Sprintf("lines %d to %d, %s", first.line, last.line, name)}
	switch {
	case mean == 0:
		f.toldFail(e.why(wire.FailureProtocol))
	case kind == wire.KindLoad:
		f.bulk().Load.RequestsPerS = &mean
		f.explain("load_requests_per_s", from)
	default:
		from.Unit = "bit/s"
		f.bulk().Throughput.Direction, f.Summary.Bulk.Throughput.UpBPS = wire.DirectionUp, &mean
		f.Run.Detail = "ethr's log does not say whether it sent or, with -r, received: taken as sent"
		f.explain("throughput_up_bps", from)
	}
	return e.add(f)
}

// ethrNumber is a number with a letter behind: K, M, G and T are powers of 1000.
func ethrNumber(q Quantity) (*float64, error) {
	return q.in(map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}, 0, maxRate, "a rate")
}

// why is the failure that the run's first error tells.
func (e *ethrReader) why(rest wire.Failure) (wire.Failure, string) {
	if e.run.failed == nil {
		return rest, "nothing was moved"
	}
	words := e.run.failed.Get("Message").Text()
	return failureInWords(words, rest), words
}

// end ends a run: what was begun and has no summary, and one of which there are but errors.
func (e *ethrReader) end(line int) error {
	if err := e.rates(); err != nil {
		return err
	}
	run := &e.run
	if run.first != nil {
		e.d.leave(Fault{Line: line, Offset: NoOffset, Reason: "the run ends without the counts of its pings: they are those of its lines"})
		if err := e.pings(*run.first); err != nil {
			return err
		}
	}
	if run.found > 0 || run.failed == nil {
		return nil
	}
	f := e.finding(wire.KindThroughput, *run.failed)
	if run.perLatency > 0 || strings.Contains(run.failed.Get("Message").Text(), "latency") {
		f.Run.Kind = wire.KindTCP
	}
	f.toldFail(e.why(wire.FailureProtocol))
	begun := run.begun
	if begun == nil {
		begun = run.failed
	}
	if at, q, ok := begun.time("Time"); ok {
		f.began(at, q)
	}
	return e.add(f)
}
