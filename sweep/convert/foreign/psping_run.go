package foreign

import (
	"fmt"
	"math"
	"net"
	"regexp"
	"strconv"
	"strings"

	"isochrone/prober/wire"
)

// pspingRun is one test.
type pspingRun struct {
	version     string
	begins      int // line
	test        string
	kind        wire.Kind
	udp         bool
	destination string
	source      string
	warmup      int // echoes that come first and do not count; known says whether it is told
	known       bool
	labelled    bool // the echoes of the warm-up say so
	// What the lines of the echoes came to, the warm-up left out.
	seen, echoes, failed, unresolved int
	pending                          bool // an echo's result may stand on the next line
	pendingWarm                      bool
	samples                          sampleList
	firstRow, lastRow                int
	// The statistics, the last ones where there are several.
	sent, received, lost, total Quantity
	least, most, mean           Quantity
	receiver                    bool
	complaint, complaintAt      string
}

var (
	pspingConnect = regexp.MustCompile(`^Connecting to \S+( \(warmup\))?:(?: from (\S+):)?(?: (.*))?$`)
	pspingReply   = regexp.MustCompile(`^Reply from \S+?( \(warmup\))?: ([\d.]+)ms`)
	pspingPings   = regexp.MustCompile(`^ *Sent = (\d+), Received = (\d+), Lost = (\d+) \(`)
	pspingBytes   = regexp.MustCompile(`^ *Sent = (\d+), Size = \d+, Total Bytes: (\d+),`)
	// The largest is called Maxiumum up to version 2.10.
	pspingSpread  = regexp.MustCompile(`^ *Minimum = ([\d.]+) ?(\S+), Max[a-z]+ = ([\d.]+) ?\S+, Average = ([\d.]+) ?(\S+)$`)
	pspingSection = regexp.MustCompile(`statistics(?: for \S+| \(post warmup\))?:$`)
	pspingBin     = regexp.MustCompile(`^(?:[\d.]+\s+\d+|(?:Latency|Bandwidth)\s+Count)$`)
	pspingTime    = regexp.MustCompile(`^([\d.]+)ms$`)
)

// take reads a line that does not begin a test.
func (r *pspingRun) take(line string, lines *numberedLines) *Fault {
	where := fmt.Sprintf("line %d", lines.line)
	if m := pspingConnect.FindStringSubmatch(line); m != nil && r.kind == wire.KindConnect {
		return r.connect(m, lines)
	}
	if m := pspingReply.FindStringSubmatch(line); m != nil && r.kind == wire.KindICMP {
		return r.echo(m[1] != "", m[2], "", lines)
	}
	pending := r.pending
	r.pending = false
	if m := pspingWarmup.FindStringSubmatch(line); m != nil {
		if n, err := strconv.Atoi(m[1] + m[2]); err == nil && n <= math.MaxInt32 {
			r.warmup, r.known = n, true
		}
		return nil
	}
	if m := pspingPings.FindStringSubmatch(line); m != nil {
		r.sent, r.received, r.lost = Quantity{m[1], "", where}, Quantity{m[2], "", where}, Quantity{m[3], "", where}
		return nil
	}
	if m := pspingBytes.FindStringSubmatch(line); m != nil {
		r.sent, r.total = Quantity{m[1], "", where}, Quantity{m[2], "B", where}
		return nil
	}
	if m := pspingSpread.FindStringSubmatch(line); m != nil {
		r.least, r.most, r.mean = Quantity{m[1], m[2], where}, Quantity{m[3], m[5], where}, Quantity{m[4], m[5], where}
		return nil
	}
	if pspingSection.MatchString(line) {
		r.receiver = strings.Contains(line, "receiver bandwidth")
		return nil
	}
	if line == "" || pspingBin.MatchString(line) || line == "Connected" || strings.HasPrefix(line, "Setting warmup count") {
		return nil
	}
	return r.complain(line, pending, lines)
}

// complain takes a line that is none of PsPing's own forms: the system's words.
func (r *pspingRun) complain(line string, pending bool, lines *numberedLines) *Fault {
	if pending {
		return r.echo(r.pendingWarm, "", line, lines)
	}
	if r.kind == wire.KindICMP && !r.sent.there() && failureInWords(line, "") != "" {
		return r.echo(false, "", line, lines)
	}
	if r.complaint == "" {
		r.complaint, r.complaintAt = line, fmt.Sprintf("line %d", lines.line)
	}
	return nil
}

// connect reads "Connecting to … (warmup): from …: 2.00ms". Without a result the connect was interrupted,
// or its error stands on the next line.
func (r *pspingRun) connect(m []string, lines *numberedLines) *Fault {
	warm, result := m[1] != "", strings.TrimSpace(m[3])
	if host, _, err := net.SplitHostPort(m[2]); err == nil && r.source == "" && host != "0.0.0.0" && host != "::" {
		r.source = host
	}
	if r.pending = result == ""; r.pending {
		r.pendingWarm = warm
		return nil
	}
	if t := pspingTime.FindStringSubmatch(result); t != nil {
		return r.echo(warm, t[1], "", lines)
	}
	return r.echo(warm, "", result, lines)
}

// echo takes the result of one connect or echo: its time, or what went wrong.
func (r *pspingRun) echo(warm bool, ms, complaint string, lines *numberedLines) *Fault {
	r.seen++
	r.labelled = r.labelled || warm
	if warm || r.kind == wire.KindICMP && !r.labelled && r.seen <= r.warmup {
		return nil // ICMP echoes of the warm-up look like all others
	}
	if r.firstRow == 0 {
		r.firstRow = lines.line
	}
	r.lastRow = lines.line
	r.echoes++
	if ms == "" {
		r.failed++
		if r.complaint == "" {
			r.complaint, r.complaintAt = complaint, fmt.Sprintf("line %d", lines.line)
		}
		return nil
	}
	ns, err := Quantity{Text: ms, Unit: "ms"}.nanoseconds()
	if err != nil || ns == nil {
		return lines.fault(fmt.Sprintf("%.60q is no time", ms))
	}
	if *ns == 0 { // below the resolution
		r.unresolved++
		return nil
	}
	if err := r.samples.add(int64(math.Round(*ns))); err != nil {
		return lines.fault(err.Error())
	}
	return nil
}
