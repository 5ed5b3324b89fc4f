package foreign

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

var ookla = &Format{Name: "ookla", Title: "speedtest -f json, json-pretty or jsonl of Ookla", recognise: recogniseOokla, read: readOokla}

// recogniseOokla looks behind the licence and the log lines that the program prints in front.
func recogniseOokla(h *Head) bool {
	if isOokla(h.object()) {
		return true
	}
	if h.json.Kind() != jsontext.Absent && h.text[0] != '[' { // a log line begins with a bracket
		return false
	}
	at := bytes.Index(h.text, []byte("\n{"))
	return at >= 0 && h.root == "" && isOokla(newHead(h.text[at+1:]).json)
}

// isOokla says whether an object is a record of the program's.
func isOokla(v jsontext.Value) bool {
	if !v.Has("type", "timestamp") {
		return false
	}
	switch kind := v.Get("type").Text(); kind {
	case "result":
		return v.Get("ping").Kind() == jsontext.Object || v.Get("download").Kind() == jsontext.Object || v.Get("upload").Kind() == jsontext.Object
	case "testStart":
		return v.Has("isp") || v.Has("server")
	case "ping", "download", "upload":
		return v.Get(kind).Has("progress")
	case "log":
		return v.Len() == 4 && v.Has("message", "level")
	}
	return false
}

// ooklaTest is what was read of a test whose result is still to come.
type ooklaTest struct {
	begun   *toldRecord           // testStart
	phases  map[string]toldRecord // those that went to their end
	message string                // the first error
	failed  toldRecord
	some    bool
}

// readOokla reads any number of tests: their results, and of jsonl what comes before.
func readOokla(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	test := ooklaTest{}
	for r := range toldRecords(text, d) {
		kind := r.Get("type").Text()
		switch {
		case kind == "testStart":
			if err := test.end(d, r.line); err != nil {
				return err
			}
			test = ooklaTest{begun: &r, some: true}
		case kind == "result":
			if err := d.add(ooklaFinding(d, r, &test)); err != nil {
				return err
			}
			test = ooklaTest{}
		case kind == "ping", kind == "download", kind == "upload":
			test.phase(kind, r)
		case kind == "log" && r.Get("level").Text() == "error":
			test.fail(r, r.Get("message").Text())
		case kind == "" && r.Get("error").Kind() == jsontext.String:
			test.fail(r, r.Get("error").Text())
		}
	}
	return test.end(d, bytes.Count(text, []byte{'\n'})+1)
}

func (t *ooklaTest) fail(r toldRecord, message string) {
	if t.message == "" {
		t.message, t.failed = message, r
	}
	t.some = true
}

// phase keeps what a phase came to; what it says on its way is a running mean.
func (t *ooklaTest) phase(kind string, r toldRecord) {
	t.some = true
	if r.Get(kind, "progress").Text() != "1" {
		return
	}
	if t.phases == nil {
		t.phases = map[string]toldRecord{}
	}
	t.phases[kind] = r
}

// end tells of a test that has no result.
func (t *ooklaTest) end(d *Document, line int) error {
	if !t.some {
		return nil
	}
	if t.message == "" {
		d.leave(Fault{Line: line, Offset: NoOffset, Reason: "the test ends without its result"})
	}
	f := Finding{Tool: "Ookla speedtest", Run: wire.Run{Kind: wire.KindThroughput}}
	if t.begun != nil {
		f.ooklaEnds(*t.begun)
		if at, q, ok := t.begun.time("timestamp"); ok {
			f.began(at, q)
		}
	}
	for _, kind := range []string{"download", "upload"} {
		if r, ok := t.phases[kind]; ok {
			f.ooklaDirection(d, r, kind)
		}
	}
	if f.Summary.Bulk == nil {
		if t.message == "" {
			return nil
		}
		f.toldFail(failureInWords(t.message, wire.FailureUnreachable), t.message)
		if at, q, ok := t.failed.time("timestamp"); ok && f.Run.Start == nil {
			f.began(at, q)
		}
		return d.add(f)
	}
	f.ooklaMoved(d, t.phases["download"], t.phases["upload"])
	if r, ok := t.phases["ping"]; ok {
		f.ooklaPing(d, r)
	}
	return d.add(f)
}

// ooklaFinding is what a result says.
func ooklaFinding(d *Document, r toldRecord, test *ooklaTest) Finding {
	f := Finding{Tool: "Ookla speedtest", Run: wire.Run{Kind: wire.KindThroughput, Detail: test.message}}
	f.ooklaEnds(r)
	f.ooklaDirection(d, r, "download")
	f.ooklaDirection(d, r, "upload")
	f.ooklaTimes(r, test)
	if f.Summary.Bulk == nil {
		message := test.message
		if message == "" {
			message = "the result has no bandwidth"
		}
		f.toldFail(failureInWords(message, wire.FailureProtocol), message)
		return f
	}
	f.ooklaMoved(d, r)
	f.ooklaPing(d, r)
	d.tell(r.line, f.ratio("loss_ratio", &f.Summary.LossRatio, r.quantity("%", "packetLoss")))
	return f
}

// ooklaEnds says between which ends the test was made.
func (f *Finding) ooklaEnds(r toldRecord) {
	f.From = r.Get("interface", "internalIp").Text()
	f.To = r.Get("server", "host").Text()
	if host, _, err := net.SplitHostPort(f.To); err == nil {
		f.To = host
	}
	if ip, port := r.Get("server", "ip").Text(), r.Get("server", "port").Text(); net.ParseIP(ip) != nil && port != "" {
		f.Run.Address = net.JoinHostPort(ip, port)
	}
}

// ooklaTimes: a result is stamped when it is there, and says how long the two directions took.
func (f *Finding) ooklaTimes(r toldRecord, test *ooklaTest) {
	end, q, ok := r.time("timestamp")
	if !ok {
		return
	}
	if test.begun != nil {
		if at, q, ok := test.begun.time("timestamp"); ok && !at.After(end) {
			f.began(at, q)
			f.Run.End = &end
			return
		}
	}
	var took float64
	for _, kind := range []string{"download", "upload"} {
		if ns, err := r.quantity("ms", kind, "elapsed").nanoseconds(); err == nil && ns != nil {
			took += *ns
		}
	}
	q.Unit = fmt.Sprintf("RFC 3339, when it ended, less the %s that the directions took", time.Duration(took))
	f.began(end.Add(-time.Duration(took)), q)
	f.Run.End = &end
}

// ooklaDirection reads a direction: its bandwidth is bytes a second, with the beginning left out.
// One in which nothing was moved was not measured.
func (f *Finding) ooklaDirection(d *Document, r toldRecord, kind string) {
	bandwidth := r.quantity("B/s", kind, "bandwidth")
	if bps, err := bandwidth.bitsPerSecond(); err != nil || bps == nil || *bps == 0 {
		d.tell(r.line, err)
		return
	}
	t := &f.bulk().Throughput
	column, at, way := "throughput_down_bps", &t.DownBPS, wire.DirectionDown
	if kind == "upload" {
		column, at, way = "throughput_up_bps", &t.UpBPS, wire.DirectionUp
	}
	d.tell(r.line, f.rate(column, at, bandwidth))
	if t.Direction != "" && t.Direction != way {
		way = wire.DirectionBoth
	}
	t.Direction = way
}

// ooklaMoved is what the directions that were measured moved.
func (f *Finding) ooklaMoved(d *Document, records ...toldRecord) {
	var text, where []string
	for _, r := range records {
		for _, kind := range []string{"download", "upload"} {
			q := r.quantity("B", kind, "bytes")
			n, err := q.bytes()
			d.tell(r.line, err)
			if n != nil {
				f.bulk().MovedBytes += int64(*n)
				text, where = append(text, q.Text), append(where, q.Where)
			}
		}
	}
	if len(text) > 0 {
		f.explain("moved_bytes", Quantity{strings.Join(text, " + "), "B", strings.Join(where, "; ")})
	}
}

// ooklaPing reads the round trips of the idle line. Which mean latency is the program does not say; of
// the loaded line it is the interquartile one. jitter is the mean of the differences, not smoothed.
func (f *Finding) ooklaPing(d *Document, r toldRecord) {
	s := &f.Summary
	for _, figure := range []struct {
		name, column string
		at           **float64
	}{{"low", "rtt_min_us", &s.Min}, {"latency", "rtt_mean_us", &s.Mean}, {"high", "rtt_max_us", &s.Max}, {"jitter", "rtt_jitter_us", &s.Jitter}} {
		d.tell(r.line, f.duration(figure.column, figure.at, r.quantity("ms", "ping", figure.name)))
	}
}
