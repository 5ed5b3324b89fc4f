package foreign

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strings"

	"isochrone/prober/wire"
)

// mtr is the report of mtr as JSON or XML. The route's last hub is the target, if it is the
// destination: mtr ends its list with the destination, with the hub that refused, or with "???" behind the
// last one that answered (ui/net.c, net_max). A report tells no time, and not by which protocol mtr
// asked: it is taken for icmp, mtr's own choice.
var mtr = &Format{Name: "mtr", Title: "mtr --json and --xml",
	recognise: isMtr,
	read:      readMtr,
}

func isMtr(h *Head) bool {
	if h.root == "MTR" {
		return bytes.Contains(h.text, []byte(" SRC=")) && bytes.Contains(h.text, []byte(" DST=")) && bytes.Contains(h.text, []byte(" TESTS="))
	}
	return h.object().Get("report", "mtr").Has("src", "dst", "tests")
}

func readMtr(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<")) {
		return readMtrXML(text, d)
	}
	return readMtrJSON(text, d)
}

// mtrHub is a hub as a report writes it.
type mtrHub struct {
	host                                          string
	loss, snt, drop, rcv, best, avg, wrst, stddev Quantity
	decimals                                      int // of the loss, as mtr knows it
	where                                         string
}

// mtrReport is one report while it is read. Of its hubs the last is kept, and the last that answered.
type mtrReport struct {
	src, dst string
	line     int
	hubs     int
	last     mtrHub
	answered string
}

// noHub is what mtr writes where nobody answered.
const noHub = "???"

func (r *mtrReport) hub(h mtrHub) {
	r.hubs++
	if r.last = h; h.host != noHub {
		r.answered = fmt.Sprintf("%.60s (hub %d)", h.host, r.hubs)
	}
}

// finding makes the report's finding.
func (r *mtrReport) finding() (*Finding, *Fault) {
	f := &Finding{Tool: "mtr", From: r.src, To: r.dst, Run: wire.Run{Kind: wire.KindICMP}}
	if r.hubs == 0 {
		f.Run.Failure, f.Run.Detail = wire.FailureTimeout, "no hub answered"
		f.explain("failure", Quantity{Text: "hubs: none", Where: "line " + fmt.Sprint(r.line)})
		return f, nil
	}
	h := &r.last
	reached, address := r.reached()
	if reached {
		f.Run.Address = address
	} else {
		f.Run.Address = hostAddress(r.dst)
	}
	if err := h.counts(f, reached); err != nil {
		return nil, r.fault("%v", err)
	}
	switch {
	case !reached && h.host == noHub:
		f.Run.Failure, f.Run.Detail = wire.FailureTimeout, "the destination did not answer"
		if r.answered != "" {
			f.Run.Detail += "; the last hub that did is " + r.answered
		}
	case !reached:
		f.Run.Failure, f.Run.Detail = wire.FailureUnreachable, "the last hub is "+r.answered+", and not the destination"
	case f.Counted.Received && f.Run.Counts.Received == 0:
		f.Run.Failure, f.Run.Detail = wire.FailureTimeout, "the destination did not answer"
	default:
		if err := h.figures(f); err != nil {
			return nil, r.fault("%v", err)
		}
		if f.Run.Counts.Received == 0 && f.Summary.Mean == nil && f.Summary.Max == nil {
			return nil, r.fault("the last hub has neither counts nor times")
		}
	}
	if f.Run.Failure != "" {
		f.explain("failure", Quantity{Text: h.host, Where: h.where})
	}
	return f, nil
}

func (r *mtrReport) fault(format string, args ...any) *Fault {
	return &Fault{Line: r.line, Offset: NoOffset, Reason: fmt.Sprintf("the report on %.60q: ", r.dst) + fmt.Sprintf(format, args...)}
}

// reached says whether the last hub is the destination, and its address as far as it is told. The two
// are compared where both are addresses; a name tells nothing, because mtr shows that of the reverse
// zone.
func (r *mtrReport) reached() (ok bool, address string) {
	host := r.last.host
	if host == noHub {
		return false, ""
	}
	if _, inside, ok := strings.Cut(host, " ("); ok { // -b: "name (address)"
		host = strings.TrimSuffix(inside, ")")
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return true, hostAddress(r.dst)
	}
	if dst, err := netip.ParseAddr(r.dst); err == nil && dst.WithZone("") != at.WithZone("") {
		return false, at.String()
	}
	return true, at.String()
}

// counts fills in the counts. The loss is rounded, so that of many packets it does not tell how many
// were lost: then it stays a ratio.
func (h *mtrHub) counts(f *Finding, reached bool) error {
	c, known := &f.Run.Counts, &f.Counted
	if err := f.count("sent_count", &c.Sent, &known.Sent, h.snt); err != nil {
		return err
	}
	if !reached { // what answered was not the destination
		c.Lost, known.Lost, known.Received = c.Sent, known.Sent, known.Sent
		return nil
	}
	loss, err := h.loss.ratio()
	if err != nil {
		return err
	}
	var dropped, received bool
	if err := f.count("lost_count", &c.Lost, &dropped, h.drop); err != nil {
		return err
	}
	if err := f.count("received_count", &c.Received, &received, h.rcv); err != nil {
		return err
	}
	known.Lost, known.Received = dropped, received
	sure := known.Sent && loss != nil && float64(c.Sent)*math.Pow10(-h.decimals-2) < 0.5
	switch {
	case dropped && received:
	case known.Sent && dropped:
		c.Received, known.Received = max(c.Sent-c.Lost, 0), true
	case known.Sent && received:
		c.Lost, known.Lost = max(c.Sent-c.Received, 0), true
	case sure:
		c.Lost = int(math.Round(float64(c.Sent) * min(*loss, 1)))
		c.Received, known.Lost, known.Received = c.Sent-c.Lost, true, true
		f.explain("lost_count", Quantity{Text: h.loss.Text, Unit: "% of Snt", Where: h.loss.Where})
	case loss != nil:
		return f.ratio("loss_ratio", &f.Summary.LossRatio, h.loss)
	}
	return nil
}

// figures fills in the times. mtr's StDev is of the sample (ui/net.c, net_stdev); of fewer than two
// replies it writes 0. A time of 0 is one that the rounding ate.
func (h *mtrHub) figures(f *Finding) error {
	s := &f.Summary
	for _, x := range []struct {
		column string
		at     **float64
		q      Quantity
	}{{"rtt_min_us", &s.Min, h.best}, {"rtt_mean_us", &s.Mean, h.avg}, {"rtt_max_us", &s.Max, h.wrst}, {"rtt_stddev_us", &s.Stddev, h.stddev}} {
		v, err := x.q.nanoseconds()
		if err != nil {
			return err
		}
		if v == nil || *v == 0 || x.at == &s.Stddev && f.Counted.Received && f.Run.Counts.Received < 2 {
			continue
		}
		if err := f.duration(x.column, x.at, x.q); err != nil {
			return err
		}
	}
	return nil
}
