package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"isochrone/prober/wire"
)

// The two ends of JMeter's XML.
const (
	jtlHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n"
	jtlTail = "</testResults>\n"
)

// jtlRow is a sample as JMeter 5 writes it with the URL saved: one request of 20 kinds by one of
// 1,000 threads, 25 a second, of which one in 500 fails.
func jtlRow(out []byte, i int) []byte {
	good, code, message := true, "200", "OK"
	if i%500 == 499 {
		good, code, message = false, "Non HTTP response code: java.net.SocketTimeoutException", "Non HTTP response message: Read timed out"
	}
	return fmt.Appendf(out, "<httpSample t=\"%d\" it=\"0\" lt=\"%d\" ct=\"%d\" ts=\"%d\" s=\"%t\" lb=\"%d /orders/list &amp; show\" rc=\"%s\" rm=\"%s\" tn=\"Thread Group 1-%d\" dt=\"text\" by=\"%d\" sby=\"120\" ng=\"1000\" na=\"1000\">\n"+
		"  <java.net.URL>http://192.0.2.1/orders/list?from=%d</java.net.URL>\n</httpSample>\n",
		5+i*7919%3000, 2+i%50, i%3, 1_700_000_000_000+i*40, good, i%20, code, message, i%1000, 500+i%900, i)
}

// jtlText is a whole file of about a size.
func jtlText(size int) []byte {
	out := make([]byte, 0, size+1024)
	out = append(out, jtlHead...)
	for i := 0; len(out) < size; i++ {
		out = jtlRow(out, i)
	}
	return append(out, jtlTail...)
}

// jtlStream is the same, made while it is read.
type jtlStream struct {
	left   int // bytes, about
	rows   int
	ended  bool
	chunk  []byte
	unread []byte
}

func newJTLStream(size int) *jtlStream { return &jtlStream{left: size, unread: []byte(jtlHead)} }

// Read implements io.Reader.
func (s *jtlStream) Read(p []byte) (int, error) {
	if len(s.unread) == 0 {
		switch {
		case s.left > 0:
			s.chunk = s.chunk[:0]
			for len(s.chunk) < 64<<10 {
				s.chunk = jtlRow(s.chunk, s.rows)
				s.rows++
			}
			s.left -= len(s.chunk)
			s.unread = s.chunk
		case !s.ended:
			s.ended, s.unread = true, []byte(jtlTail)
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// ntttcpText is a sender's output, of the samples that the reader of the format is tested with.
func (b *bench) ntttcpText() ([]byte, error) {
	pattern := filepath.Join(b.root, "sweep", "convert", "foreign", "testdata", "ntttcp", "*.xml")
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("looking for samples of ntttcp: %w", err)
	}
	var largest []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a sample of ntttcp: %w", err)
		}
		if len(text) > len(largest) && ourXMLJSON(text) == nil && mxjXMLJSON(text) == nil { // some are damaged, or two in one
			largest = text
		}
	}
	if largest == nil {
		return nil, fmt.Errorf("looking for samples of ntttcp: no whole one is in %q", pattern)
	}
	return largest, nil
}

// largestDocument has as many samples as one may have, with all their columns.
func largestDocument() *wire.Document {
	slot := time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	start := slot.Add(30 * time.Second)
	end := start.Add(80 * time.Second)
	d := &wire.Document{Version: wire.DocumentVersion, Environment: "bench", Slot: slot, Source: prober(0), Probe: "http", Attempt: "00000001",
		Assignment: wire.AssignmentID("bench", slot, prober(0), "http", 0), Provenance: wire.Provenance{ProberVersion: "bench"}}
	r := wire.Run{Target: prober(1), Path: "public", Kind: wire.KindTCP, Address: "192.0.2.1:7700", PlannedStart: start, Start: &start, End: &end, Timestamps: wire.TimestampsUser,
		Counts: wire.Counts{Sent: wire.MaxSamples, Received: wire.MaxSamples}}
	s := &r.Samples
	for i := range int64(wire.MaxSamples) {
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, i), append(s.DueNS, i*800_000), append(s.SentNS, i*800_000+1234)
		s.RTTNS, s.ServerNS, s.ClientNS = append(s.RTTNS, 150_123_456+i%977), append(s.ServerNS, 10_000+i%31), append(s.ClientNS, 20_000+i%101)
		s.ForwardNS, s.ReverseNS = append(s.ForwardNS, -1_700_000_000_123_456_789+i), append(s.ReverseNS, 1_700_000_000_123_456_789-i)
		s.DNSNS, s.ConnectNS = append(s.DNSNS, 1_234_567+i), append(s.ConnectNS, 20_123_456+i)
		s.TLSNS, s.FirstByteNS, s.Failure = append(s.TLSNS, 41_123_456+i), append(s.FirstByteNS, 62_123_456+i), append(s.Failure, "")
	}
	d.Runs = []wire.Run{r}
	return d
}
