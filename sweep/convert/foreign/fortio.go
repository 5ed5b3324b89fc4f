package foreign

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/convert/jsontext"
)

var fortio = &Format{Name: "fortio", Title: "fortio load -json", read: readFortio,
	recognise: func(h *Head) bool {
		return h.object().Has("RunType", "StartTime", "ActualQPS", "NumThreads", "DurationHistogram")
	}}

func readFortio(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	for r := range toldRecords(text, d) {
		if !r.Has("RunType", "DurationHistogram") {
			d.leave(Fault{Line: r.line, Offset: r.offset, Reason: "this object is no run of fortio"})
			continue
		}
		f, ok := fortioFinding(d, r)
		if !ok {
			continue
		}
		if err := d.add(f); err != nil {
			return err
		}
	}
	return nil
}

// fortioFinding is one run. It is not to be had of one that was cut off before its histogram's end.
func fortioFinding(d *Document, r toldRecord) (Finding, bool) {
	f := Finding{Tool: strings.TrimSpace("fortio " + r.Get("Version").Text()), Run: wire.Run{Kind: wire.KindLoad}}
	f.fortioEnds(r)
	f.fortioTimes(r)
	if r.Get("error").True() {
		words := strings.TrimSpace(r.Get("message").Text() + " " + r.Get("exception").Text())
		f.toldFail(failureInWords(words, wire.FailureProtocol), words)
		return f, true
	}
	counts := &f.Run.Counts
	sent := r.quantity("", "DurationHistogram", "Count")
	failed, from, known := fortioFailed(d, r)
	d.tell(r.line, f.count("sent_count", &counts.Sent, &f.Counted.Sent, sent))
	if !f.Counted.Sent || r.Get("DurationHistogram").Cut() {
		d.leave(Fault{Line: r.line, Offset: r.offset, Where: "DurationHistogram", Reason: "a run without its histogram"})
		return f, false
	}
	if counts.Sent == 0 {
		f.toldFail(wire.FailureCanceled, "no call was made")
		return f, true
	}
	if known && failed <= counts.Sent {
		counts.Received, counts.Lost = counts.Sent-failed, failed
		f.Counted.Received, f.Counted.Lost = true, true
		f.explain("lost_count", from)
	}
	f.fortioFailures(r)
	if f.Counted.Received && counts.Received == 0 {
		f.fortioAllFailed(r)
		return f, true
	}
	f.fortioRate(d, r)
	f.fortioRoundTrips(d, r)
	return f, true
}

// fortioEnds: what was asked is a URL, or host:port of the other protocols.
func (f *Finding) fortioEnds(r toldRecord) {
	target := r.Get("URL").Text()
	if target == "" {
		target = r.Get("Destination").Text()
	}
	if strings.Contains(target, "://") {
		if u, err := url.Parse(target); err == nil {
			target = u.Host
		}
	}
	f.To = target
	if host, _, err := net.SplitHostPort(target); err == nil {
		f.To = host
	}
	addresses := r.Get("IPCountMap")
	if addresses.Len() == 1 { // of several, none is the one
		for address := range addresses.Members() {
			if _, _, err := net.SplitHostPort(address); err == nil && len(address) < 100 {
				f.Run.Address = address
			}
		}
	}
}

// fortioTimes: StartTime has a zone, and ActualDuration is nanoseconds.
func (f *Finding) fortioTimes(r toldRecord) {
	start, q, ok := r.time("StartTime")
	if !ok {
		return
	}
	f.began(start, q)
	if took, err := r.quantity("ns", "ActualDuration").nanoseconds(); err == nil && took != nil {
		end := start.Add(time.Duration(*took))
		f.Run.End = &end
	}
}

// fortioFailed is how many calls failed. Old versions say it by their codes alone.
func fortioFailed(d *Document, r toldRecord) (n int, from Quantity, known bool) {
	q := r.quantity("", "ErrorsDurationHistogram", "Count")
	if told, err := q.count(); err != nil {
		d.tell(r.line, err)
		return 0, q, false
	} else if told != nil {
		return *told, q, true
	}
	codes, whole := fortioCodes(r)
	if !whole {
		return 0, q, false
	}
	for _, c := range codes {
		count, err := c.calls.count()
		if err != nil || count == nil || *count > math.MaxInt32-n {
			return 0, q, false
		}
		if !fortioOK(c.code) {
			n += *count
		}
	}
	return n, Quantity{strconv.Itoa(n), "", r.where("RetCodes")}, true
}

// fortioCode is a code with which calls ended, and how many did.
type fortioCode struct {
	code  string
	calls Quantity
}

// maxFortioCodes bounds the codes that are read: those of HTTP, and the words of a few errors.
const maxFortioCodes = 1000

// fortioCodes are all codes. Whole is false where there are none, too many, some twice, or the text
// ends among them.
func fortioCodes(r toldRecord) (out []fortioCode, whole bool) {
	codes := r.Get("RetCodes")
	seen := map[string]bool{}
	for code, calls := range codes.Members() {
		if seen[code] || len(out) >= maxFortioCodes {
			return out, false
		}
		seen[code] = true
		out = append(out, fortioCode{code, quantityOf(calls, "", r.where("RetCodes", code))})
	}
	return out, codes.Kind() == jsontext.Object && !codes.Cut()
}

// fortioOK says whether fortio takes a code for success: 2xx and the teapot of HTTP, OK of TCP and UDP,
// SERVING of gRPC.
func fortioOK(code string) bool {
	return len(code) == 3 && code[0] == '2' || code == "418" || code == "OK" || code == "SERVING"
}

// fortioFailures counts the failures of which the code says what they were. −1 is any failure of a
// socket.
func (f *Finding) fortioFailures(r toldRecord) {
	codes, _ := fortioCodes(r)
	for _, c := range codes {
		n, err := c.calls.count()
		if err != nil || n == nil || *n == 0 || fortioOK(c.code) {
			continue
		}
		what, ok := fortioFailure(c.code)
		if !ok {
			continue
		}
		if f.Summary.Failures == nil {
			f.Summary.Failures = map[wire.Failure]int{}
		}
		f.Summary.Failures[what] += *n
		f.explain("failed_"+string(what)+"_count", c.calls)
	}
}

// fortioFailure is what a code tells, if it does: a status of HTTP, or words of TCP and UDP.
func fortioFailure(code string) (wire.Failure, bool) {
	if n, err := strconv.Atoi(code); err == nil {
		return wire.FailureHTTPStatus, n >= 300
	}
	what := failureInWords(code, "")
	if what == "" && code == "short read" { // of UDP: nothing came
		what = wire.FailureTimeout
	}
	return what, what != ""
}

func (f *Finding) fortioAllFailed(r toldRecord) {
	var words []string
	code, most := wire.FailureUnreachable, 0
	codes, _ := fortioCodes(r)
	for _, c := range codes {
		n, err := c.calls.count()
		if err != nil || n == nil {
			continue
		}
		if len(words) < 10 {
			words = append(words, fmt.Sprintf("%d of code %.80s", *n, c.code))
		}
		if what, ok := fortioFailure(c.code); ok && *n > most {
			code, most = what, *n
		}
	}
	f.toldFail(code, fmt.Sprintf("all %d calls failed: %s", f.Run.Counts.Sent, strings.Join(words, ", ")))
}

// fortioRate: ActualQPS counts the calls that failed in; a rate of answers leaves them out.
func (f *Finding) fortioRate(d *Document, r toldRecord) {
	load := &f.bulk().Load
	threads := r.quantity("", "NumThreads")
	if users, err := threads.count(); err != nil {
		d.tell(r.line, err)
	} else if users != nil {
		load.Users = users
		f.explain("load_user_count", threads)
	}
	moved := r.quantity("B", "BytesReceived")
	if n, err := moved.bytes(); err == nil && n != nil {
		f.Summary.Bulk.MovedBytes = int64(*n)
		if sent, err := r.quantity("B", "BytesSent").bytes(); err == nil && sent != nil {
			f.Summary.Bulk.MovedBytes += int64(*sent)
		}
		f.explain("moved_bytes", moved)
	}
	if !f.Counted.Received {
		return
	}
	if took, err := r.quantity("ns", "ActualDuration").nanoseconds(); err != nil || took == nil || *took == 0 {
		d.tell(r.line, err)
	} else {
		rate := float64(f.Run.Counts.Received) / (*took / 1e9)
		load.RequestsPerS = &rate
		f.explain("load_requests_per_s", Quantity{fmt.Sprintf("%d answers in %s ns", f.Run.Counts.Received, r.Get("ActualDuration").Text()), "", r.where("ActualDuration")})
	}
}

// fortioRoundTrips reads the histogram, in seconds. It holds the calls that failed too, as fast or as
// slow as they failed: where there are any, only the mean of the others can be told. Its buckets are
// ranges, and its percentiles are fortio's own.
func (f *Finding) fortioRoundTrips(d *Document, r toldRecord) {
	s, n := &f.Summary, f.Run.Counts.Sent
	if !f.Counted.Lost {
		return
	}
	if f.Run.Counts.Lost > 0 {
		f.Run.Detail = fmt.Sprintf("%d of %d calls failed; fortio counts them in all its times: the mean is of the others, the rest is left out", f.Run.Counts.Lost, n)
		f.fortioMean(d, r)
		return
	}
	at := func(name string) Quantity { return r.quantity("s", "DurationHistogram", name) }
	d.tell(r.line, f.duration("rtt_min_us", &s.Min, at("Min")), f.duration("rtt_mean_us", &s.Mean, at("Avg")), f.duration("rtt_max_us", &s.Max, at("Max")))
	if sd := at("StdDev"); n > 1 {
		sd.Unit = "s"
		d.tell(r.line, f.duration("rtt_stddev_us", &s.Stddev, sd))
		if s.Stddev != nil { // fortio divides by n
			*s.Stddev *= math.Sqrt(float64(n) / float64(n-1))
		}
	}
	columns := map[string]struct {
		column string
		at     *summary.Quantile
		p      float64
	}{"50": {"rtt_p50_us", &s.P50, .5}, "90": {"rtt_p90_us", &s.P90, .9}, "95": {"rtt_p95_us", &s.P95, .95}, "99": {"rtt_p99_us", &s.P99, .99}, "99.9": {"rtt_p999_us", &s.P999, .999}}
	for i, v := range r.Get("DurationHistogram", "Percentiles").Values() {
		if c, ok := columns[v.Get("Percentile").Text()]; ok && c.at.Value == nil {
			d.tell(r.line, f.toldQuantile(c.column, c.at, quantityOf(v.Get("Value"), "s", r.where(fmt.Sprintf("DurationHistogram.Percentiles[%d]", i))), c.p, n))
		}
	}
}

// fortioMean is the mean of the calls that did not fail.
func (f *Finding) fortioMean(d *Document, r toldRecord) {
	all, err := r.quantity("s", "DurationHistogram", "Sum").in(durations, 0, math.MaxFloat64, "a time")
	bad, err2 := r.quantity("s", "ErrorsDurationHistogram", "Sum").in(durations, 0, math.MaxFloat64, "a time")
	d.tell(r.line, err, err2)
	if all == nil || bad == nil || *all < *bad {
		return
	}
	mean := (*all - *bad) / float64(f.Run.Counts.Received)
	if mean > maxDurationNS {
		return
	}
	f.Summary.Mean = &mean
	f.explain("rtt_mean_us", Quantity{fmt.Sprintf("(%s − %s) ÷ %d", r.Get("DurationHistogram", "Sum").Text(), r.Get("ErrorsDurationHistogram", "Sum").Text(), f.Run.Counts.Received), "s", r.where("DurationHistogram.Sum")})
}
