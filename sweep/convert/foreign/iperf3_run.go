package foreign

import (
	"math"
	"strconv"

	"isochrone/sweep/convert/jsontext"
)

// iperf3Run is what a document says of one run.
type iperf3Run struct {
	known      bool // there is something of it
	ends       bool // to its end
	start, end jsontext.Value
	failed     string // iperf3's own words
	extra      string
	line       int

	intervals int // all that are whole
	// sums are of the streams of test_start.reverse's direction, and of the other one of --bidir.
	sums [2]iperf3Sum
	rtt  iperf3RTT
}

// iperf3Sum adds up the intervals of a direction, the ramp left out.
type iperf3Sum struct {
	intervals      int
	from           string // where the last one began, as it is written
	bytes, seconds float64
	rampBytes      float64
	sends          bool // counted by the sender
	packets, lost  float64
	retransmits    *float64 // null where the sender's kernel does not tell
	jitter         string   // of the last one, as it is written, in ms
}

// iperf3RTT is what the sender's kernel says at the ends of intervals, mean over the streams, in µs.
type iperf3RTT struct {
	smoothed, variation, least float64
	text                       string // of one stream, as it is written
}

// take adds one part.
func (r *iperf3Run) take(name string, v jsontext.Value) {
	r.known = true
	switch name {
	case "start":
		r.start = v
	case "end":
		r.end = v
	case "error":
		r.failed = v.Text()
	case "extra_data":
		r.extra = v.Text()
	case "intervals":
		if v.Kind() == jsontext.Object {
			r.interval(v)
		}
	}
}

func (r *iperf3Run) interval(v jsontext.Value) {
	r.intervals++
	fresh := r.sums[0].add(v.Get("sum"))
	if r.sums[1].add(v.Get("sum_bidir_reverse")) || fresh {
		r.rtt.of(v.Get("streams"))
	}
}

// add adds an interval's sum. When the other end goes away, the last interval is written twice.
func (s *iperf3Sum) add(v jsontext.Value) bool {
	bytes, ok := iperf3Number(v.Get("bytes"))
	seconds, timed := iperf3Number(v.Get("seconds"))
	from := v.Get("start").Text() + " " + v.Get("omitted").Text()
	if !ok || !timed || bytes < 0 || seconds < 0 || s.intervals > 0 && from == s.from {
		return false
	}
	s.intervals++
	s.from = from
	if v.Get("omitted").True() {
		s.rampBytes += bytes
		return true
	}
	s.bytes += bytes
	s.seconds += seconds
	s.sends = v.Get("sender").True()
	s.jitter = v.Get("jitter_ms").Text()
	if n, ok := iperf3Number(v.Get("packets")); ok {
		s.packets += n
	}
	if n, ok := iperf3Number(v.Get("lost_packets")); ok { // negative where late ones came in
		s.lost += n
	}
	if n, ok := iperf3Number(v.Get("retransmits")); ok && n >= 0 {
		if s.retransmits == nil {
			s.retransmits = new(float64)
		}
		*s.retransmits += n
	}
	return true
}

func (t *iperf3RTT) of(streams jsontext.Value) {
	n, smoothed, variation := 0.0, 0.0, 0.0
	for _, s := range streams.Values() {
		rtt, ok := iperf3Number(s.Get("rtt"))
		if !ok || rtt <= 0 {
			continue
		}
		if t.least == 0 || rtt < t.least {
			t.least = rtt
		}
		v, _ := iperf3Number(s.Get("rttvar"))
		n, smoothed, variation = n+1, smoothed+rtt, variation+v
	}
	if n > 0 {
		t.smoothed, t.variation = smoothed/n, variation/n
		t.text = strconv.FormatFloat(t.smoothed, 'f', -1, 64)
	}
}

// rate is what the intervals come to, in bit/s.
func (s *iperf3Sum) rate() float64 {
	if s.seconds <= 0 {
		return 0
	}
	return s.bytes * 8 / s.seconds
}

// server says whether the server wrote the document.
func (r *iperf3Run) server() bool {
	return r.start.Get("accepted_connection").Kind() == jsontext.Object && !r.start.Has("connecting_to")
}

// id tells runs apart, and the two sides of one; empty where the document does not.
func (r *iperf3Run) id() string {
	cookie := r.start.Get("cookie").Text()
	if cookie == "" || len(cookie) > 100 {
		return ""
	}
	return cookie + strconv.FormatBool(r.server())
}

// iperf3Number is a number, if it is a finite one.
func iperf3Number(v jsontext.Value) (float64, bool) {
	if v.Kind() != jsontext.Number {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Text(), 64)
	return n, err == nil && !math.IsInf(n, 0)
}
