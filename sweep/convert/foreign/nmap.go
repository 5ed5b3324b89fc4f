package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/xmltext"
)

// nmap is nmap's XML. Of a host it tells srtt, the round trips of its probes smoothed as TCP does it (RFC
// 6298: a mean in which the newest counts 1/8; timing.cc of nmap). That is a mean, and of one probe, as
// with -sn, the round trip itself. rttvar is no column's: it is a smoothed deviation that nmap never
// lets fall below 5 ms.
var nmap = &Format{Name: "nmap", Title: "nmap -oX", Streams: true,
	recognise: func(h *Head) bool {
		return h.root == "nmaprun" && bytes.Contains(h.text, []byte(` scanner="nmap"`)) && bytes.Contains(h.text, []byte(" xmloutputversion="))
	},
	read: readNmap,
}

func readNmap(in io.Reader, d *Document) error {
	x := nmapReader{d: d}
	r := xmltext.NewReader(in, xmltext.Options{Doctype: xmltext.BareDoctype})
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if fault, ok := errors.AsType[*xmltext.Fault](err); ok {
			d.leave(Fault{Line: fault.Line, Offset: fault.Offset, Reason: fault.Text})
			return nil
		}
		if err != nil {
			return err
		}
		switch t.Kind {
		case xmltext.Start:
			x.depth++
			x.start(t)
		case xmltext.End:
			x.depth--
			if err := x.end(string(t.Name)); err != nil {
				return err
			}
		}
	}
}

// nmapReader gathers hosts token by token.
type nmapReader struct {
	d        *Document
	depth    int
	tool     string
	protocol string   // of the ports that were scanned; empty without a scan, nmapSeveral of TCP and UDP
	began    Quantity // the scan
	down     int      // hosts that were named as down

	isHost        bool // inside a host, which the rest is of
	line          int
	from, to      Quantity
	address, name string
	state, reason string
	srtt          Quantity
}

func (x *nmapReader) start(t *xmltext.Token) {
	name := string(t.Name)
	attribute := func(a string) Quantity {
		v, _ := t.Attribute(a)
		return Quantity{Text: strings.ToValidUTF8(string(v[:min(len(v), maxNmapText)]), ""), Where: fmt.Sprintf("line %d, %s/@%s", t.Line, name, a)}
	}
	switch {
	case x.depth == 1 && name == "nmaprun":
		x.tool, x.began = strings.TrimSpace("nmap "+attribute("version").Text), attribute("start")
	case x.depth == 2 && name == "scaninfo":
		if p := attribute("protocol").Text; x.protocol == "" {
			x.protocol = p
		} else if p != x.protocol { // an element each
			x.protocol = nmapSeveral
		}
	case x.depth == 2 && name == "host":
		x.isHost, x.line, x.from, x.to = true, t.Line, attribute("starttime"), attribute("endtime")
		x.address, x.name, x.state, x.reason, x.srtt = "", "", "", "", Quantity{}
	case x.depth == 3 && x.isHost && name == "status":
		x.state, x.reason = attribute("state").Text, attribute("reason").Text
	case x.depth == 3 && x.isHost && name == "address":
		if a := attribute("addr").Text; x.address == "" && hostAddress(a) != "" {
			x.address = a
		}
	case x.depth == 4 && x.isHost && name == "hostname":
		if attribute("type").Text == "user" {
			x.name = attribute("name").Text
		}
	case x.depth == 3 && x.isHost && name == "times":
		x.srtt = attribute("srtt")
		x.srtt.Unit = "µs"
	case x.depth == 3 && name == "hosts":
		x.unnamed(attribute("down"), attribute("total"), t.Line)
	}
}

// nmapSeveral is the protocol of a scan with several, whose probes have one srtt together.
const nmapSeveral = "several"

// maxNmapText is the most that is kept of an attribute: an address, a name, a number.
const maxNmapText = 256

func (x *nmapReader) end(name string) error {
	if x.depth != 1 || name != "host" || !x.isHost {
		return nil
	}
	x.isHost = false
	f, fault := x.finding()
	if fault != nil {
		x.d.leave(*fault)
	}
	if f == nil {
		return nil
	}
	return x.d.add(*f)
}

// finding makes a host's finding; nil when nothing was measured and nothing failed.
func (x *nmapReader) finding() (*Finding, *Fault) {
	fault := func(format string, args ...any) *Fault {
		return &Fault{Line: x.line, Offset: NoOffset, Where: "host " + x.address, Reason: fmt.Sprintf(format, args...)}
	}
	f := &Finding{Tool: x.tool, To: x.address, Run: wire.Run{Kind: x.kind(), Address: hostAddress(x.address)}}
	if x.name != "" {
		f.To = x.name
	}
	x.times(f)
	switch x.state {
	case "down":
		x.down++
		f.Run.Failure, f.Run.Detail = nmapFailure(x.reason), "nmap: down, "+x.reason
		f.explain("failure", Quantity{Text: "down, " + x.reason, Where: fmt.Sprintf("line %d, host/status", x.line)})
		return f, nil
	case "up":
	default:
		return nil, fault("its state is %.20q, which tells nothing", x.state)
	}
	if strings.HasPrefix(x.srtt.Text, "-") || strings.Trim(x.srtt.Text, "0") == "" { // nmap has none
		f.Run.Detail = "nmap: up, " + x.reason + "; no round trip is told: nmap takes none of its own host, and of others only when it has asked them"
		f.explain("failure", Quantity{Text: "up, " + x.reason, Where: fmt.Sprintf("line %d, host/status", x.line)})
		return f, nil
	}
	unit := x.srtt.Unit
	x.srtt.Unit = "µs"
	v, err := x.srtt.nanoseconds()
	if err != nil {
		return nil, fault("%v", err)
	}
	f.Summary.Mean = v
	x.srtt.Unit = unit + ", smoothed (RFC 6298)"
	f.explain("rtt_mean_us", x.srtt)
	return f, nil
}

// times says when the host was asked: by its own word, else the scan's.
func (x *nmapReader) times(f *Finding) {
	q := x.from
	if !q.there() {
		q = x.began
	}
	at, ok := unixTime(q.Text)
	if !ok {
		return
	}
	q.Unit = "s since 1970"
	f.began(at, q)
	if end, ok := unixTime(x.to.Text); ok && end.After(at) && end.Sub(at) < 30*24*time.Hour {
		f.Run.End = &end
		x.to.Unit = q.Unit
		f.explain("end", x.to)
	}
}

// unnamed takes the count of hosts that were down. Without -v nmap does not name them; the only one of
// a scan is known all the same.
func (x *nmapReader) unnamed(down, total Quantity, line int) {
	if strings.Trim(total.Text, "0") == "" && total.there() {
		x.d.leave(Fault{Line: line, Offset: NoOffset, Reason: "no host was asked: nmap tells on standard error alone that a name cannot be resolved"})
		return
	}
	n, err := down.count()
	if err != nil || n == nil || *n <= x.down {
		return
	}
	if all, err := total.count(); err == nil && all != nil && *all == 1 && len(x.d.Findings) == 0 {
		f := Finding{Tool: x.tool, Run: wire.Run{Kind: wire.KindICMP, Failure: wire.FailureTimeout, Detail: "nmap: the only host is down; -v tells which, and why"}}
		x.from, x.to = Quantity{}, Quantity{}
		x.times(&f)
		f.explain("failure", down)
		_ = x.d.add(f) // it is the first
		return
	}
	x.d.leave(Fault{Line: line, Offset: NoOffset, Reason: strconv.Itoa(*n-x.down) + " hosts are down and not named: nmap -v names them"})
}

// kind is what a host was asked with: the scan's probes, and without a scan that which made nmap say that
// it is up.
func (x *nmapReader) kind() wire.Kind {
	switch x.protocol {
	case nmapSeveral:
		return "rtt"
	case "tcp":
		return wire.KindConnect
	case "udp":
		return wire.KindUDP
	}
	switch x.reason {
	case "syn-ack", "reset", "conn-refused":
		return wire.KindConnect
	case "udp-response", "port-unreach":
		return wire.KindUDP
	case "arp-response", "nd-response":
		return "arp"
	}
	return wire.KindICMP
}

// nmapFailure is why a host counts as down.
func nmapFailure(reason string) wire.Failure {
	if strings.Contains(reason, "unreach") || strings.Contains(reason, "prohibited") || reason == "time-exceeded" {
		return wire.FailureUnreachable
	}
	return wire.FailureTimeout
}
