package foreign

import (
	"fmt"
	"io"
	"net"
	"strings"

	"isochrone/prober/wire"
)

// connectionMonitor reads rows of the tables of Azure's Connection Monitor, as Log Analytics hands them
// out: its CSV export, the answer of its query interface, a list of objects as the command line prints
// it, or an object a line, as data export writes them.
var connectionMonitor = &Format{Name: "connmonitor", Title: "Connection Monitor's rows (NWConnectionMonitorTestResult)", Streams: true,
	recognise: isConnectionMonitor, read: readConnectionMonitor}

func isConnectionMonitor(h *Head) bool {
	if lines := h.lines(1); len(lines) == 1 {
		names, _ := connMonitorHeader(connMonitorSplit(lines[0]))
		return isConnMonitorTable(func(name string) bool { _, ok := names[name]; return ok })
	}
	v := h.object()
	if columns := v.Get("tables").At(0).Get("columns"); columns.Len() > 0 {
		has := map[string]bool{}
		for _, c := range columns.Values() {
			has[c.Get("name").Text()] = true
		}
		return isConnMonitorTable(func(name string) bool { return has[name] })
	}
	return isConnMonitorTable(func(name string) bool { return v.Has(name) })
}

// isConnMonitorTable tells the tables by names that no other has, and that a row cannot do without.
func isConnMonitorTable(has func(string) bool) bool {
	return has("TimeGenerated") && (has("ChecksTotal") && has("ChecksFailed") || has("AvgRoundTripTimeMs")) &&
		(has("SourceName") || has("SourceAddress") || has("SourceIP")) && (has("DestinationName") || has("DestinationAddress") || has("DestinationIP"))
}

// connMonitorRow is one row, whatever it was written in.
type connMonitorRow struct {
	line   int   // 0 where there is none
	offset int64 // NoOffset where there is none
	where  string
	zone   string // of the times, by the header of a CSV export; empty where it names none
	cell   func(column string) string
}

// get is a figure of the row.
func (r *connMonitorRow) get(column, unit string) Quantity {
	return Quantity{Text: r.text(column), Unit: unit, Where: r.where + ", " + column}
}

// text is a text of the row. Azure's command line writes None for what is not there.
func (r *connMonitorRow) text(column string) string {
	if s := strings.TrimSpace(r.cell(column)); s != "None" && s != "null" {
		return strings.Clone(s) // the rest of the row need not be kept with it
	}
	return ""
}

// fault is the row's fault; where is the column, if it is the fault of one.
func (r *connMonitorRow) fault(where, reason string) Fault {
	where = strings.TrimPrefix(where, r.where+", ")
	if r.line == 0 && where != "" {
		where = r.where + ", " + where
	} else if r.line == 0 {
		where = r.where
	}
	return Fault{Line: r.line, Offset: r.offset, Where: where, Reason: reason}
}

// connMonitorReader collects rows. What the order of day and month is, and whether there are several
// tests between two ends, is known when all have been read.
type connMonitorReader struct {
	d     *Document
	rows  []connMonitorNote // one a finding
	order connMonitorOrder
}

// connMonitorNote is what is kept of a row until all have been read.
type connMonitorNote struct {
	row           Fault // its place
	group, config string
	record        string
	path          bool
	date          connMonitorDate // a time whose day and month are not yet told apart; zero for none
	time          Quantity
}

func readConnectionMonitor(in io.Reader, d *Document) error {
	c := &connMonitorReader{d: d}
	if err := c.read(in); err != nil {
		return err
	}
	c.finish()
	return nil
}

// row adds one row's finding, or notes why there is none.
func (c *connMonitorReader) row(r *connMonitorRow) error {
	f, note, err := c.finding(r)
	if err != nil {
		fault, ok := err.(*Fault)
		if !ok {
			return err
		}
		c.d.leave(r.fault(fault.Where, fault.Reason))
		return nil
	}
	if err := c.d.add(f); err != nil {
		return err
	}
	c.rows = append(c.rows, note)
	return nil
}

func (c *connMonitorReader) finding(r *connMonitorRow) (f Finding, note connMonitorNote, err error) {
	first := func(columns ...string) string {
		for _, column := range columns {
			if s := r.text(column); s != "" {
				return s
			}
		}
		return ""
	}
	f.Tool = "Azure Connection Monitor"
	f.From, f.To = first("SourceName", "SourceAddress", "SourceIP"), first("DestinationName", "DestinationAddress", "DestinationIP")
	note = connMonitorNote{row: r.fault("", ""), group: r.text("TestGroupName"), config: r.text("TestConfigurationName"), record: r.text("RecordId"),
		path: r.text("Type") == "NWConnectionMonitorPathResult" || r.text("PathTestResult") != "" || r.text("TopologyId") != ""}
	if f.Run.Kind, err = connMonitorKind(r.get("Protocol", "")); err != nil {
		return f, note, err
	}
	if address := first("DestinationIP", "DestinationAddress"); address != "" {
		f.Run.Address = address
		if port := r.text("DestinationPort"); port != "" && port != "0" && f.Run.Kind != wire.KindICMP {
			f.Run.Address = net.JoinHostPort(address, port)
		}
		f.explain("address", Quantity{Text: f.Run.Address, Where: r.where + ", DestinationIP"})
	}
	if err := c.began(&f, &note, r); err != nil {
		return f, note, err
	}
	return f, note, connMonitorOutcome(&f, r)
}

// connMonitorKind is what a test of the protocol measures: the handshake of TCP, an echo, or a whole
// request.
func connMonitorKind(q Quantity) (wire.Kind, error) {
	switch strings.ToUpper(q.Text) {
	case "TCP":
		return wire.KindConnect, nil
	case "ICMP":
		return wire.KindICMP, nil
	case "HTTP", "HTTPS":
		return wire.KindHTTP, nil
	case "": // a query may leave the column out
		return "check", nil
	}
	return "", q.fault("%.40q is none of TCP, ICMP and HTTP", q.Text)
}

// connMonitorOutcome reads checks and round trips. Round trips of checks that all failed are written
// as 0, or not at all; so 0 is no round trip. JitterMs is a mean deviation, which is neither the
// jitter nor the deviation of a row's columns.
func connMonitorOutcome(f *Finding, r *connMonitorRow) error {
	c, k := &f.Run.Counts, &f.Counted
	if err := f.count("sent_count", &c.Sent, &k.Sent, r.get("ChecksTotal", "")); err != nil {
		return err
	}
	if err := f.count("lost_count", &c.Lost, &k.Lost, r.get("ChecksFailed", "")); err != nil {
		return err
	}
	if k.Sent && k.Lost {
		if c.Lost > c.Sent {
			return r.get("ChecksFailed", "").fault("%d of %d checks failed", c.Lost, c.Sent)
		}
		c.Received, k.Received = c.Sent-c.Lost, true
		f.explain("received_count", Quantity{Text: fmt.Sprintf("%d − %d", c.Sent, c.Lost), Where: r.where + ", ChecksTotal, ChecksFailed"})
	}
	if k.Received && c.Received == 0 {
		connMonitorFailure(f, r)
		return nil
	}
	s := &f.Summary
	for _, one := range []struct {
		column, name string
		at           **float64
	}{{"rtt_min_us", "MinRoundTripTimeMs", &s.Min}, {"rtt_mean_us", "AvgRoundTripTimeMs", &s.Mean}, {"rtt_max_us", "MaxRoundTripTimeMs", &s.Max}} {
		q := r.get(one.name, "ms")
		if ns, err := q.nanoseconds(); err != nil {
			return err
		} else if ns == nil || *ns == 0 {
			continue
		}
		if err := f.duration(one.column, one.at, q); err != nil {
			return err
		}
	}
	if s.Min != nil && s.Max != nil && (*s.Min > *s.Max || s.Mean != nil && (*s.Mean < *s.Min*0.999 || *s.Mean > *s.Max*1.001)) {
		return r.get("MinRoundTripTimeMs", "").fault("the smallest, mean and largest round trip contradict each other")
	}
	if s.Min == nil && s.Mean == nil && s.Max == nil && !k.Received {
		connMonitorFailure(f, r)
	}
	return nil
}

// connMonitorFailure makes the row a failed run. Checks that were not made at all are no timeout.
func connMonitorFailure(f *Finding, r *connMonitorRow) {
	f.Run.Failure = wire.FailureTimeout
	if f.Run.Counts.Sent == 0 {
		f.Run.Failure = wire.FailureCanceled
	}
	var words []string
	for _, column := range []string{"TestResult", "PathTestResult", "TestResultCriterion", "PathTestResultCriterion", "PathResultCriterion", "Issues"} {
		if s := r.text(column); s != "" {
			words = append(words, s)
		}
	}
	f.Run.Detail = wire.CutDetail(strings.Join(words, ": ")) // Issues may list all hops
	f.explain("failure", Quantity{Text: f.Run.Detail, Where: r.where + ", TestResult"})
}
