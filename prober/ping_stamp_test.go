package main

import (
	"encoding/json"
	"net"
	"testing"
	"time"

	"isochrone/prober/report"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// Somebody else's reflector has no key: plain STAMP (RFC 8762, unauthenticated mode), stateless.
func TestPlainSTAMPIsSpokenToSomebodyElsesReflector(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-served })
	go func() {
		defer close(served)
		b := make([]byte, 2000)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			q, ok := stamp.ParseRequest(b[:n], stamp.Unauthenticated)
			if !ok {
				continue
			}
			a := stamp.ReplyTo(q, 255)
			a.Sequence = q.Sequence
			a.T2 = stamp.NTP(time.Now().UnixNano())
			a.T3, a.Estimate = a.T2, stamp.EstimateOf(nil)
			stamp.PutReply(b[:n], stamp.Unauthenticated, a)
			_, _ = conn.WriteToUDPAddrPort(b[:n], from)
		}
	}()
	code, out, said := command("ping", conn.LocalAddr().String(), "--kind", "udp", "-n", "30", "-i", "10ms", "--json", "-q")
	if code != exitOK {
		t.Fatalf("exit code %d:\n%s%s", code, out, said)
	}
	var d report.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Kind != wire.KindUDP || d.Counts.Received != 30 || d.Counts.LostForward != nil || d.RTT.Percentiles[0].ValueUS == nil || d.OneWay == nil {
		t.Errorf("%s", out)
	}
}
