package foreign

import (
	"fmt"
	"math"
	"net"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// hand makes a finding of the statistics that were read.
func (r *sockperfRun) hand(d *Document) error {
	s := &r.section
	first := !r.handed
	r.handed = true
	leave := func(reason string) error {
		d.leave(Fault{Line: r.begins, Offset: NoOffset, Reason: reason})
		return nil
	}
	if r.server {
		return leave("this is the output of sockperf's server, which measures nothing: the client's is wanted")
	}
	if !s.measured() && s.failure == "" {
		if first {
			return leave("it ends before the statistics")
		}
		return nil
	}
	kind, mixed := r.kind()
	if mixed {
		return leave("its figures are of TCP and UDP together: measure them apart")
	}
	f := Finding{Tool: "sockperf", Run: wire.Run{Kind: kind}}
	if r.version != "" {
		f.Tool += " " + r.version
	}
	if len(r.peers) == 1 {
		f.To, f.Run.Address = r.peers[0].host, net.JoinHostPort(r.peers[0].host, r.peers[0].port)
	}
	if s.server != "" && s.server != "0" {
		f.Variant = "server-" + s.server
	}
	var err error
	switch {
	case s.rate.there():
		if kind != wire.KindTCP {
			return leave("sockperf's throughput over UDP is what was sent, and nobody says what arrived")
		}
		err = s.throughput(&f, len(r.peers))
	case s.measured():
		err = s.roundTrips(&f, d, r.begins)
	default:
		f.Run.Failure, f.Run.Detail = s.failure, s.detail
		f.explain("failure", Quantity{Text: s.detail, Where: s.detailAt})
	}
	if err != nil {
		return leave(err.Error())
	}
	return d.add(f)
}

// sockperfUnnamed is the kind where the log does not say which transport it was.
const sockperfUnnamed wire.Kind = "message"

// kind is what the messages were sent over. A client that never came to name its peers could not
// connect, which only TCP does.
func (r *sockperfRun) kind() (k wire.Kind, mixed bool) {
	k = sockperfUnnamed
	if r.section.failure != "" && !r.log {
		k = wire.KindTCP
	}
	for i, p := range r.peers {
		if p.protocol != r.peers[0].protocol {
			return k, true
		}
		if i == 0 {
			k = map[string]wire.Kind{"TCP": wire.KindTCP, "UDP": wire.KindUDP}[p.protocol]
		}
	}
	return k, false
}

// roundTrips fills in the figures: from the samples where all are there, else the printed ones.
func (s *sockperfSection) roundTrips(f *Finding, d *Document, begins int) error {
	cut := Fault{Line: begins, Offset: NoOffset}
	if err := s.counts(f); err != nil {
		return err
	}
	received, err := s.received.count()
	if err != nil {
		return err
	}
	if s.samples.n > 0 && (received == nil || *received == s.samples.n || !s.mean.there()) {
		s.samples.into(f, Quantity{fmt.Sprintf("%d rows", s.samples.n), "s, rxTime − txTime", fmt.Sprintf("lines %d to %d", s.rows, s.rowsEnd)})
		if !s.ended {
			cut.Reason = "the log of messages ends early"
			d.leave(cut)
		}
		return nil
	}
	if s.samples.n > 0 {
		cut.Reason = fmt.Sprintf("the log has %d of %s messages: the figures above it are taken", s.samples.n, s.received.Text)
		d.leave(cut)
	} else if !s.least.there() {
		cut.Reason = "its percentiles are cut off"
		d.leave(cut)
	}
	return s.printed(f)
}

// printed fills in the figures as sockperf prints them, doubled where they are half round trips. Its
// quantiles are printed however few the observations; a column needs ten beyond it.
func (s *sockperfSection) printed(f *Finding) error {
	n, err := s.observations.count()
	if err != nil {
		return err
	}
	sum := &f.Summary
	for _, c := range []struct {
		column string
		to     **float64
		q      Quantity
		least  int
	}{
		{"rtt_mean_us", &sum.Mean, s.mean, 1}, {"rtt_stddev_us", &sum.Stddev, s.stddev, 2},
		{"rtt_min_us", &sum.Min, s.least, 1}, {"rtt_max_us", &sum.Max, s.most, 1},
		{"rtt_p50_us", &sum.P50.Value, s.p50, 20}, {"rtt_p90_us", &sum.P90.Value, s.p90, 100},
		{"rtt_p99_us", &sum.P99.Value, s.p99, 1000}, {"rtt_p999_us", &sum.P999.Value, s.p999, 10_000},
	} {
		if c.least > 1 && (n == nil || *n < c.least) {
			continue
		}
		c.q.Unit = "usec"
		v, err := c.q.nanoseconds()
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		if s.label == "latency" {
			*v, c.q.Unit = *v*2, "usec, half the round trip"
		}
		*c.to = v
		f.explain(c.column, c.q)
	}
	return nil
}

// counts fills in what was asked for and came back. SentMessages counts those too that ask for no
// reply (--reply-every), and ReceivedMessages leaves out replies that overtook others; what was asked
// for is what came, in order or not, and what did not. Overtaking replies are not the overtaken ones
// that RFC 4737 counts.
func (s *sockperfSection) counts(f *Finding) error {
	received, err := s.received.count()
	if err != nil || received == nil {
		return err
	}
	overtaking, err := s.overtaking.count()
	if err != nil || overtaking == nil {
		return err
	}
	if err := f.count("lost_count", &f.Run.Counts.Lost, &f.Counted.Lost, s.dropped); err != nil {
		return err
	}
	if err := f.count("duplicate_count", &f.Run.Counts.Duplicate, &f.Counted.Duplicate, s.duplicated); err != nil {
		return err
	}
	c, known := &f.Run.Counts, &f.Counted
	if *received > math.MaxInt32-*overtaking-c.Lost {
		return s.received.fault("too many messages")
	}
	c.Received, known.Received = *received+*overtaking, true
	c.Sent, known.Sent = c.Received+c.Lost, true
	f.explain("received_count", Quantity{Text: fmt.Sprintf("%d in order + %d out of order", *received, *overtaking), Where: s.received.Where})
	f.explain("sent_count", Quantity{Text: fmt.Sprintf("%d received + %d dropped", c.Received, c.Lost), Where: s.dropped.Where})
	return nil
}

// throughput fills in what was sent on connections. sockperf's MB are of 1024² bytes, its Mb are
// those times eight, and its GB are a thousand of those MB.
func (s *sockperfSection) throughput(f *Finding, streams int) error {
	f.Run.Kind = wire.KindThroughput
	t := &f.bulk().Throughput
	q := Quantity{Text: s.rate.Text[:len(s.rate.Text)-len(" MBps")], Unit: "MiB/s", Where: s.rate.Where}
	if err := f.rate("throughput_up_bps", &t.UpBPS, q); err != nil {
		return err
	}
	if s.rate.Text[len(s.rate.Text)-len("GBps")] == 'G' && t.UpBPS != nil {
		*t.UpBPS *= 1000
		f.Explained[len(f.Explained)-1].Unit = "1000 MiB/s"
	}
	t.Direction = wire.DirectionUp
	if streams > 0 {
		t.Streams = &streams
	}
	return s.moved(f.bulk(), f)
}

// moved fills in the bytes: messages times their size, which is told unless it is 1472 or varies; then
// the rate times the time.
func (s *sockperfSection) moved(b *summary.Bulk, f *Finding) error {
	size, err := s.size.count()
	if err != nil {
		return err
	}
	messages, err := s.messages.in(map[string]float64{"": 1}, 0, 1e15, "a count")
	if err != nil {
		return err
	}
	if size != nil && messages != nil {
		bytes := *messages * float64(*size)
		if bytes > maxBytes {
			return s.messages.fault("%s messages of %d bytes are not to be believed", s.messages.Text, *size)
		}
		b.MovedBytes = int64(bytes)
		f.explain("moved_bytes", Quantity{Text: fmt.Sprintf("%s messages × %d", s.messages.Text, *size), Unit: "B", Where: s.messages.Where})
		return nil
	}
	s.seconds.Unit = "s"
	ns, err := s.seconds.nanoseconds()
	if err != nil || ns == nil || b.Throughput.UpBPS == nil {
		return err
	}
	b.MovedBytes = int64(*b.Throughput.UpBPS / 8 * *ns / 1e9)
	f.explain("moved_bytes", Quantity{Text: s.rate.Text + " × " + s.seconds.Text + " s", Unit: "MiB/s × s", Where: s.seconds.Where})
	return nil
}
