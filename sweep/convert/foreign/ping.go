package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// ping is the text of the pings of Linux (iputils, BusyBox, inetutils), macOS and the BSDs, and of
// that of Windows in English. Several runs may stand one behind the other.
var ping = &Format{Name: "ping", Title: "ping's text",
	recognise: isPing,
	read:      readPing,
}

// pingHeadLines is how far into a text the beginning of a run is looked for: a prompt and the command
// may stand in front.
const pingHeadLines = 20

func isPing(h *Head) bool {
	for i, line := range h.lines(pingHeadLines) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "PsPing"), strings.Contains(line, "Sysinternals"):
			return false
		case isPingHeader(line):
			return true
		case i < 3 && pingComplaint.MatchString(line) && complaintOf(line) != "":
			return true
		}
	}
	return false
}

func isPingHeader(line string) bool {
	_, ok := parsePingHeader(line)
	return ok
}

// pingReader gathers runs line by line.
type pingReader struct {
	d    *Document
	run  *pingRun
	runs map[string]int // finished ones without a time of their own, by target
}

func readPing(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	r := &pingReader{d: d, runs: map[string]int{}}
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if err := r.take(n, string(bytes.TrimRight(line, " \t\r"))); err != nil {
			return err
		}
		if d.lost(MaxFindings, Fault{Line: n, Offset: NoOffset}) {
			break
		}
	}
	return r.finish()
}

// take takes one line.
func (r *pingReader) take(n int, line string) error {
	where := "line " + strconv.Itoa(n)
	stamp, line := pingStamp(line, where)
	if line == "" {
		return nil
	}
	if h, ok := parsePingHeader(line); ok {
		if err := r.finish(); err != nil {
			return err
		}
		r.run = newPingRun(h, n)
		r.run.stamped(stamp, 0)
		return nil
	}
	if pingComplaint.MatchString(line) {
		if failure := complaintOf(line); failure != "" {
			return r.complain(n, line)
		}
		return nil // a warning
	}
	if r.run == nil { // a prompt, or what a shell says
		return nil
	}
	known, err := r.run.take(line, where, stamp)
	if fault, ok := errors.AsType[*Fault](err); ok {
		fault.Line, fault.Where = n, ""
		r.d.leave(*fault)
		return nil
	}
	if err == nil && !known {
		r.d.leave(Fault{Line: n, Offset: NoOffset, Reason: fmt.Sprintf("%.60q is no line of ping's", line)})
	}
	return err
}

// complain takes what ping says on its standard error. Without a run it is one: it never began.
func (r *pingReader) complain(n int, line string) error {
	if r.run != nil && !r.run.ended {
		if r.run.head.windows {
			r.run.shown++
		}
		if r.run.complaint == "" {
			r.run.complaint = line
		}
		return nil
	}
	if err := r.finish(); err != nil {
		return err
	}
	r.run = newPingRun(pingHeader{host: complaintHost(line), windows: strings.HasPrefix(line, "Ping request")}, n)
	r.run.complaint, r.run.ended, r.run.never = line, true, true
	return r.finish()
}

// finish makes a finding of the run that was being read.
func (r *pingReader) finish() error {
	run := r.run
	r.run = nil
	if run == nil {
		return nil
	}
	f, faults := run.finding()
	for _, fault := range faults {
		r.d.leave(*fault)
	}
	if f == nil {
		return nil
	}
	if f.Run.Start == nil { // runs of which nothing tells the time are told apart by their number
		r.runs[f.To]++
		f.Variant = nthRun(r.runs[f.To])
	}
	return r.d.add(*f)
}

// pingComplaint is a line of standard error, or what Windows says instead of a run.
var pingComplaint = regexp.MustCompile(`(?i)^(ping6?: |connect: |Ping request could not find host )`)

// complaints tell failure codes by the words of the system's errors, the more telling first.
var complaints = []struct{ words, failure string }{
	{"unknown host", "dns"}, {"name or service not known", "dns"}, {"name resolution", "dns"}, {"no address associated", "dns"},
	{"cannot resolve", "dns"}, {"bad address", "dns"}, {"could not find host", "dns"}, {"nodename nor servname", "dns"}, {"name does not resolve", "dns"},
	{"network is unreachable", "unreachable"}, {"no route to host", "unreachable"}, {"host is down", "unreachable"}, {"host is unreachable", "unreachable"},
	{"network is down", "unreachable"}, {"network unreachable", "unreachable"},
	{"sendmsg: operation not permitted", "local"}, {"sendto: operation not permitted", "local"}, // a packet filter's doing
	{"operation not permitted", "not_permitted"}, {"permission denied", "not_permitted"}, {"lacking privilege", "not_permitted"},
	{"invalid argument", "local"}, {"no buffer space", "local"}, {"cannot assign requested address", "local"}, {"address family", "local"},
	{"general failure", "local"}, {"transmit failed", "local"}, {"do you want to ping broadcast", "local"}, {"message too long", "local"}, {"unknown iface", "local"},
}

// complaintOf is the failure code of what ping says of a failure; empty for anything else.
func complaintOf(line string) string {
	line = strings.ToLower(line)
	for _, c := range complaints {
		if strings.Contains(line, c.words) {
			return c.failure
		}
	}
	return ""
}

var complaintHosts = regexp.MustCompile(`(?i)(?:cannot resolve |unknown host |bad address '|could not find host |^ping6?: )([^\s:']+?)\.?(?:[\s:']|$)`)

// complaintHost is the host that could not be resolved; empty where the complaint names none.
func complaintHost(line string) string {
	if complaintOf(line) != "dns" {
		return ""
	}
	_, behind, _ := strings.Cut(line, ": ")
	for _, text := range []string{behind, line} {
		if m := complaintHosts.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}
