package foreign

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

var ndt7 = &Format{Name: "ndt7", Title: "ndt7-client -format json, and its summary (-quiet)", read: readNDT7,
	recognise: func(h *Head) bool { return isNDT7Event(h.object()) || isNDT7Summary(h.object()) }}

// isNDT7Event says whether an object is an event: a Key, and a Value that names the test.
func isNDT7Event(v jsontext.Value) bool {
	switch v.Get("Key").Text() {
	case "starting", "error", "connected", "measurement", "complete":
		test := v.Get("Value", "Test").Text()
		return test == "download" || test == "upload"
	}
	return false
}

func isNDT7Summary(v jsontext.Value) bool {
	return v.Has("ServerFQDN", "ServerIP", "ClientIP") && !v.Has("Key")
}

// ndt7Test is one direction: the last of what each end says of it.
type ndt7Test struct {
	client, server, connection, failed *toldRecord
}

// ndt7Run is a download and an upload, one after the other, and their summary.
type ndt7Run struct {
	tests   map[string]*ndt7Test
	summary *toldRecord
	server  string
	line    int
}

func (r *ndt7Run) test(name string) *ndt7Test {
	if r.tests == nil {
		r.tests = map[string]*ndt7Test{}
	}
	if r.tests[name] == nil {
		r.tests[name] = &ndt7Test{}
	}
	return r.tests[name]
}

// readNDT7 reads any number of runs: each ends with its summary, or where a test starts again.
func readNDT7(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	var run ndt7Run
	end := func(whole bool) error {
		ended := run
		run = ndt7Run{}
		if !whole && ended.tests != nil {
			d.leave(Fault{Line: ended.line, Offset: NoOffset, Reason: "the run ends without its summary"})
		}
		f, ok := ended.finding(d)
		if !ok {
			return nil
		}
		return d.add(f)
	}
	for r := range toldRecords(text, d) {
		run.line = r.line
		switch {
		case isNDT7Summary(r.Value):
			run.summary = &r
			if err := end(true); err != nil {
				return err
			}
		case isNDT7Event(r.Value):
			name := r.Get("Value", "Test").Text()
			if r.Get("Key").Text() == "starting" && run.tests[name] != nil {
				if err := end(false); err != nil {
					return err
				}
				run.line = r.line
			}
			run.event(r, run.test(name))
		}
	}
	run.line = bytes.Count(text, []byte{'\n'}) + 1
	return end(false)
}

// event keeps what counts of an event. One that the text cuts off is not to be trusted.
func (r *ndt7Run) event(e toldRecord, t *ndt7Test) {
	if e.Cut() {
		return
	}
	switch e.Get("Key").Text() {
	case "error":
		t.failed = &e
	case "connected":
		r.server = e.Get("Value", "Server").Text()
	case "measurement":
		if e.Get("Value", "ConnectionInfo").Kind() == jsontext.Object {
			t.connection = &e
		}
		switch e.Get("Value", "Origin").Text() {
		case "client":
			if e.Get("Value", "AppInfo").Kind() == jsontext.Object {
				t.client = &e
			}
		case "server":
			if e.Get("Value", "TCPInfo").Kind() == jsontext.Object {
				t.server = &e
			}
		}
	}
}

func (r *ndt7Run) finding(d *Document) (Finding, bool) {
	if r.summary == nil && r.tests == nil {
		return Finding{}, false
	}
	f := Finding{Tool: "ndt7-client", To: r.server, Run: wire.Run{Kind: wire.KindThroughput}}
	down, up := r.test("download"), r.test("upload")
	f.ndt7Ends(r, down, up)
	for _, name := range []string{"download", "upload"} {
		if e := r.test(name).failed; e != nil {
			words := e.Get("Value", "Failure").Text()
			f.Run.Detail = joinDetail(f.Run.Detail, name+": "+words)
			f.Run.Failure = failureInWords(words, wire.FailureProtocol)
		}
	}
	f.ndt7Down(d, r, down)
	f.ndt7Up(d, r, up)
	if f.Summary.Bulk != nil {
		f.Run.Failure = ""
		f.ndt7Kernel(d, r, down)
		return f, true
	}
	if f.Run.Failure == "" {
		f.toldFail(wire.FailureProtocol, "neither direction was measured")
	}
	return f, true
}

func joinDetail(have, more string) string {
	if have == "" {
		return more
	}
	return have + "; " + more
}

// ndt7Ends takes addresses from the server's word. Nothing says when the test was made: the number in
// a UUID is when the server was started.
func (f *Finding) ndt7Ends(r *ndt7Run, tests ...*ndt7Test) {
	for _, t := range tests {
		if t.connection == nil {
			continue
		}
		at := t.connection.Get("Value", "ConnectionInfo")
		if host, _, err := net.SplitHostPort(at.Get("Client").Text()); err == nil && f.From == "" {
			f.From = host
		}
		if address := at.Get("Server").Text(); f.Run.Address == "" {
			if _, _, err := net.SplitHostPort(address); err == nil {
				f.Run.Address = address
			}
		}
	}
	if s := r.summary; s != nil {
		if f.To == "" {
			f.To = s.Get("ServerFQDN").Text()
		}
		if f.From == "" {
			f.From = s.Get("ClientIP").Text()
		}
		if ip, port := s.Get("ServerIP").Text(), s.Get("ServerPort").Text(); f.Run.Address == "" && net.ParseIP(ip) != nil && port != "" {
			f.Run.Address = net.JoinHostPort(ip, port)
		}
	}
}

// ndt7Rate is bytes over microseconds since the test began, both of one message.
func (f *Finding) ndt7Rate(d *Document, e *toldRecord, column string, at **float64, info, bytes string) bool {
	n, err := e.quantity("B", "Value", info, bytes).bytes()
	took, err2 := e.quantity("us", "Value", info, "ElapsedTime").nanoseconds()
	d.tell(e.line, err, err2)
	if n == nil || took == nil || *n == 0 || *took == 0 {
		return false
	}
	bps := *n * 8 / (*took / 1e9)
	if bps > maxRate {
		d.tell(e.line, Quantity{Where: e.where("Value", info)}.fault("%g bit/s is not to be believed", bps))
		return false
	}
	*at = &bps
	f.Summary.Bulk.MovedBytes += int64(*n)
	f.explain("moved_bytes", e.quantity("B", "Value", info, bytes))
	f.explain(column, Quantity{e.Get("Value", info, bytes).Text() + " B in " + e.Get("Value", info, "ElapsedTime").Text() + " µs", "", e.where("Value", info, bytes)})
	return true
}

// ndt7Down is what the client received, by the last time it says so.
func (f *Finding) ndt7Down(d *Document, r *ndt7Run, t *ndt7Test) {
	bulk := f.bulk()
	if t.client == nil || !f.ndt7Rate(d, t.client, "throughput_down_bps", &bulk.Throughput.DownBPS, "AppInfo", "NumBytes") {
		f.ndt7Summary(d, r, ndt7Pair(r.summary, "Download"), "download")
	}
	f.ndt7Directions()
}

// ndt7Up is what the server received. What the client says of its upload is what it handed to its own
// system, which is not there yet.
func (f *Finding) ndt7Up(d *Document, r *ndt7Run, t *ndt7Test) {
	bulk := f.bulk()
	if t.server == nil || !f.ndt7Rate(d, t.server, "throughput_up_bps", &bulk.Throughput.UpBPS, "TCPInfo", "BytesReceived") {
		f.ndt7Summary(d, r, ndt7Pair(r.summary, "Upload"), "upload")
	}
	f.ndt7Directions()
}

// ndt7Directions says which ways were measured; without any there is no bulk.
func (f *Finding) ndt7Directions() {
	t := &f.Summary.Bulk.Throughput
	switch {
	case t.UpBPS != nil && t.DownBPS != nil:
		t.Direction = wire.DirectionBoth
	case t.UpBPS != nil:
		t.Direction = wire.DirectionUp
	case t.DownBPS != nil:
		t.Direction = wire.DirectionDown
	default:
		f.Summary.Bulk = nil
	}
}

// ndt7Pair is a summary's throughput: of a direction's object, or, in old versions, itself the pair. A
// pair without a unit was not measured.
func ndt7Pair(s *toldRecord, names ...string) Quantity {
	if s == nil {
		return Quantity{}
	}
	v := s.Get(names...)
	if v.Has("Throughput") {
		names = append(names, "Throughput")
		v = v.Get("Throughput")
	}
	unit := v.Get("Unit").Text()
	if unit == "" {
		return Quantity{}
	}
	return quantityOf(v.Get("Value"), unit, s.where(append(names, "Value")...))
}

func (f *Finding) ndt7Summary(d *Document, r *ndt7Run, q Quantity, name string) {
	t := &f.bulk().Throughput
	column, at := "throughput_down_bps", &t.DownBPS
	if name == "upload" {
		column, at = "throughput_up_bps", &t.UpBPS
	}
	if bps, err := q.bitsPerSecond(); err != nil || bps == nil || *bps == 0 {
		if err != nil {
			d.tell(r.line, err)
		}
		return
	}
	d.tell(r.line, f.rate(column, at, q))
}

// ndt7Kernel is what the server's kernel says at the end of the download, in which it is the sender.
func (f *Finding) ndt7Kernel(d *Document, r *ndt7Run, down *ndt7Test) {
	e := down.server
	if e == nil {
		if s := r.summary; s != nil && s.Get("Download", "Latency", "Unit").Text() != "" {
			d.tell(s.line, f.duration("rtt_min_us", &f.Summary.Min, s.quantity(s.Get("Download", "Latency", "Unit").Text(), "Download", "Latency", "Value")))
		}
		return
	}
	info := func(unit, name string) Quantity { return e.quantity(unit, "Value", "TCPInfo", name) }
	d.tell(e.line, f.duration("rtt_min_us", &f.Summary.Min, info("us", "MinRTT")))
	t := &f.Summary.Bulk.Throughput
	if n, err := info("segments", "TotalRetrans").count(); err == nil && n != nil {
		t.DownRetransmits = n
		f.explain("retransmit_down_count", info("segments", "TotalRetrans"))
	}
	f.ndt7Limited(d, e)
	f.ndt7TCPInfo(d, e)
}

// ndt7Limited is the part of the busy time in which the sender was held back.
func (f *Finding) ndt7Limited(d *Document, e *toldRecord) {
	var times [3]float64
	for i, name := range []string{"BusyTime", "RWndLimited", "SndBufLimited"} {
		v, err := e.quantity("us", "Value", "TCPInfo", name).nanoseconds()
		if err != nil || v == nil {
			d.tell(e.line, err)
			return
		}
		times[i] = *v
	}
	ratio := (times[1] + times[2]) / times[0]
	if times[0] == 0 || ratio > 1 {
		return
	}
	t := &f.Summary.Bulk.Throughput
	t.DownWindowLimited = &ratio
	if ratio > 0.5 {
		t.WindowLimited = wire.DirectionDown
	}
	f.explain("window_limited_down_ratio", Quantity{fmt.Sprintf("(%s + %s) ÷ %s", e.Get("Value", "TCPInfo", "RWndLimited").Text(), e.Get("Value", "TCPInfo", "SndBufLimited").Text(),
		e.Get("Value", "TCPInfo", "BusyTime").Text()), "us", e.where("Value", "TCPInfo", "BusyTime")})
}

// ndt7TCPInfo takes the kernel's figures over if all are there: a row has no place for some of them.
// DeliveryRate is bytes a second, as tcp_info of Linux has it.
func (f *Finding) ndt7TCPInfo(d *Document, e *toldRecord) {
	var out wire.TCPInfo
	var explained []Explanation
	for _, figure := range []struct {
		name, unit, column string
		at                 *int64
		read               func(Quantity) (*float64, error)
		times              float64
	}{
		{"RTT", "us", "tcp_rtt_us", &out.RTTUS, Quantity.nanoseconds, 1e-3},
		{"MinRTT", "us", "tcp_min_rtt_us", &out.MinRTTUS, Quantity.nanoseconds, 1e-3},
		{"RTTVar", "us", "tcp_rttvar_us", &out.RTTVarUS, Quantity.nanoseconds, 1e-3},
		{"TotalRetrans", "segments", "tcp_retransmit_count", &out.Retransmits, toldCount, 1},
		{"DeliveryRate", "B/s", "tcp_delivery_rate_bps", &out.DeliveryRateBPS, Quantity.bitsPerSecond, 1},
		{"SndMSS", "B", "tcp_mss_bytes", &out.MSSBytes, Quantity.bytes, 1},
		{"SndCwnd", "segments", "tcp_congestion_window_segments", &out.CongestionWindow, toldCount, 1},
	} {
		q := e.quantity(figure.unit, "Value", "TCPInfo", figure.name)
		v, err := figure.read(q)
		if err != nil || v == nil {
			d.tell(e.line, err)
			return
		}
		*figure.at = int64(math.Round(*v * figure.times))
		explained = append(explained, Explanation{figure.column, cut(q.Text), q.Unit, q.Where})
	}
	f.Run.TCPInfo = &out
	f.Explained = append(f.Explained, explained...)
}

func toldCount(q Quantity) (*float64, error) {
	n, err := q.count()
	if err != nil || n == nil {
		return nil, err
	}
	v := float64(*n)
	return &v, nil
}
