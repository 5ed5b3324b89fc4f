package foreign

import (
	"fmt"
	"regexp"
	"strings"

	"isochrone/prober/wire"
)

// sockperfRun is one client's output: what holds for all its servers, and the statistics of the one
// that is being read.
type sockperfRun struct {
	begins  int // line
	version string
	log     bool // the log of all messages, which does not name its peers
	server  bool // the output of a server
	peers   []sockperfConnection
	section sockperfSection
	handed  bool
}

type sockperfConnection struct{ host, port, protocol string }

// sockperfSection holds the statistics of one server.
type sockperfSection struct {
	server string
	label  string // latency or rtt, as the figures are
	// Figures, each with its line.
	sent, received, dropped, duplicated, overtaking Quantity
	mean, stddev, least, most                       Quantity
	p50, p90, p99, p999                             Quantity
	observations                                    Quantity
	samples                                         sampleList
	rows, rowsEnd                                   int // lines of the samples; 0: none
	ended                                           bool
	// What throughput mode prints.
	messages, seconds, size, rate Quantity
	failure                       wire.Failure
	detail, detailAt              string
}

func (s *sockperfSection) measured() bool {
	return s.mean.there() || s.samples.n > 0 || s.rate.there()
}

// sockperfForms are the lines with figures; a group each, in order. What a line has of its form is looked
// for first: a log has millions of lines, and an expression takes long to find nothing.
var sockperfForms = []struct {
	has  string
	form *regexp.Regexp
	to   func(*sockperfSection) []*Quantity
}{
	{`[Valid Duration]`, regexp.MustCompile(`\[Valid Duration\] RunTime=[\d.]+ sec; SentMessages=(\d+); ReceivedMessages=(\d+)`),
		func(s *sockperfSection) []*Quantity { return []*Quantity{&s.sent, &s.received} }},
	{`# dropped messages`, regexp.MustCompile(`# dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)`),
		func(s *sockperfSection) []*Quantity { return []*Quantity{&s.dropped, &s.duplicated, &s.overtaking} }},
	{`observations;`, regexp.MustCompile(`Total (\d+) observations;`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.observations} }},
	{`<MAX>`, regexp.MustCompile(`---> <MAX> observation = +([\d.]+)$`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.most} }},
	{`<MIN>`, regexp.MustCompile(`---> <MIN> observation = +([\d.]+)$`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.least} }},
	{`99.900`, regexp.MustCompile(`---> percentile 99\.900 = +([\d.]+)$`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.p999} }},
	{`99.000`, regexp.MustCompile(`---> percentile 99\.000 = +([\d.]+)$`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.p99} }},
	{`90.000`, regexp.MustCompile(`---> percentile 90\.000 = +([\d.]+)$`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.p90} }},
	{`50.000`, regexp.MustCompile(`---> percentile 50\.000 = +([\d.]+)$`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.p50} }},
	{`messages sent in`, regexp.MustCompile(`Total of (\d+) messages sent in ([\d.]+) sec`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.messages, &s.seconds} }},
	{`NOTE: `, regexp.MustCompile(`NOTE: test was performed, using msg-size=(\d+)[,.]`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.size} }},
	{`Summary: BandWidth`, regexp.MustCompile(`Summary: BandWidth is ([\d.]+ [MG]Bps) \(`), func(s *sockperfSection) []*Quantity { return []*Quantity{&s.rate} }},
}

// sockperfMean is the one line that says what all figures are.
var sockperfMean = regexp.MustCompile(`^====> avg-(latency|rtt)=([\d.]+) \(std-dev=([\d.]+)[,)]`)

// take reads a line that is not the beginning of a run.
func (r *sockperfRun) take(line string, lines *numberedLines) *Fault {
	s := &r.section
	where := fmt.Sprintf("line %d", lines.line)
	if m := sockperfMean.FindStringSubmatch(line[max(strings.Index(line, "====>"), 0):]); m != nil {
		s.label = m[1]
		s.mean, s.stddev = Quantity{m[2], "usec", where}, Quantity{m[3], "usec", where}
		return nil
	}
	if m := sockperfPeer.FindStringSubmatch(line); m != nil {
		if len(r.peers) < 1000 {
			r.peers = append(r.peers, sockperfConnection{m[1], m[2], m[3]})
		}
		return nil
	}
	for _, f := range sockperfForms {
		if !strings.Contains(line, f.has) {
			continue
		}
		if m := f.form.FindStringSubmatch(line); m != nil {
			for i, q := range f.to(s) {
				*q = Quantity{Text: m[i+1], Where: where}
			}
			return nil
		}
	}
	r.word(line, lines)
	return nil
}

// word reads the lines that say in words what happened.
func (r *sockperfRun) word(line string, lines *numberedLines) {
	s := &r.section
	text, where := strings.TrimPrefix(line, "sockperf: "), fmt.Sprintf("line %d", lines.line)
	switch {
	case strings.HasPrefix(line, "packet, txTime(sec), rxTime(sec), "):
		s.rows = lines.line + 1
	case strings.HasPrefix(line, "-----") && s.rows > 0:
		s.ended = true
	case strings.HasPrefix(text, "[SERVER] listen on"):
		r.server = true
	case strings.HasPrefix(text, "ERROR: "):
		s.detail = strings.TrimPrefix(text, "ERROR: ")
		s.failure, s.detailAt = failureInWords(s.detail, wire.FailureLocal), where
	case strings.HasPrefix(text, "No messages were received from the server"):
		s.failure, s.detail, s.detailAt = wire.FailureTimeout, text, where
	case strings.HasPrefix(text, "No valid observations found"), strings.HasPrefix(text, "Test end before test start"):
		// Messages came back, but none in the time that sockperf counts.
		s.failure, s.detail, s.detailAt = wire.FailureCanceled, text, where
	}
}

// isRow says whether a line is one message of the log.
func (s *sockperfSection) isRow(line string) bool {
	return s.rows > 0 && !s.ended && line != "" && line[0] >= '0' && line[0] <= '9'
}

// row reads "12, 2.420763809, 2.420781147, 8.669": the times are those of one clock, in seconds.
func (s *sockperfSection) row(line string, lines *numberedLines) *Fault {
	fields := strings.Split(line, ", ")
	if len(fields) != 4 || !lines.ended {
		return lines.fault(fmt.Sprintf("%.60q: want packet, txTime, rxTime and latency", line))
	}
	sent, ok := nanosecondsOf(fields[1])
	back, too := nanosecondsOf(fields[2])
	if !ok || !too || back < sent || float64(back-sent) > maxDurationNS {
		return lines.fault(fmt.Sprintf("%.60q: txTime and rxTime give no round trip", line))
	}
	s.rowsEnd = lines.line
	if err := s.samples.add(back - sent); err != nil {
		return lines.fault(err.Error())
	}
	return nil
}

// nanosecondsOf reads seconds with nine decimal places, to the last digit: a float64 has not
// enough of them.
func nanosecondsOf(text string) (int64, bool) {
	whole, part, ok := strings.Cut(text, ".")
	if !ok || len(whole) == 0 || len(whole) > 9 || len(part) != 9 {
		return 0, false
	}
	var ns int64
	for _, c := range whole + part {
		if c < '0' || c > '9' {
			return 0, false
		}
		ns = ns*10 + int64(c-'0')
	}
	return ns, true
}
