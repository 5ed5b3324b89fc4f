package foreign

import (
	"strings"
	"testing"

	"isochrone/prober/wire"
)

// "time<1ms" is neither 0 nor 1 ms, and without it the others would be too slow a sample.
func TestPingOfWindowsBelowAMillisecondIsNotZero(t *testing.T) {
	f := pingSample(t, "windows-below-1ms.txt")
	wantCounts(t, f, 4, 4, 0)
	s := f.Summary
	if len(f.RTT) > 0 || s.Min != nil || s.Mean != nil || s.Max == nil || *s.Max != 4e6 || f.Run.Failure != "" {
		t.Errorf("%v, %+v", f.RTT, s)
	}
	all := strings.NewReplacer("time=2ms", "time<1ms", "time=4ms", "time<1ms", "time=3ms", "time<1ms", "4ms", "0ms").Replace(string(readSample(t, "testdata/ping/windows-below-1ms.txt")))
	f = pingText(t, all, 0)
	if f.Summary.Max != nil || f.Run.Counts.Received != 4 || f.Run.Failure != "" {
		t.Errorf("all below 1 ms: %+v", f)
	}
}

// Windows counts "Destination host unreachable" as received.
func TestPingOfWindowsCountsARoutersWordAsReceived(t *testing.T) {
	f := pingSample(t, "windows-unreachable.txt")
	wantCounts(t, f, 4, 0, 4)
	wantFailure(t, f, wire.FailureUnreachable, "Destination host unreachable")
	if n := f.Summary.Failures; n[wire.FailureUnreachable] != 3 || n[wire.FailureTimeout] != 1 {
		t.Errorf("%v", n)
	}
}

func TestPingOfWindows(t *testing.T) {
	f := pingSample(t, "windows-loss.txt")
	wantRTT(t, f, 21, 19, 22)
	wantCounts(t, f, 4, 3, 1)
	if f.To != "host.example.net" || f.Run.Address != "192.0.2.10" || f.Tool != "ping (Windows)" {
		t.Errorf("%+v", f)
	}
	wantRTT(t, pingSample(t, "windows-ipv6.txt"), 12, 11)
	f = pingText(t, "Pinging 192.0.2.1 with 32 bytes of data:\r\nPING: transmit failed. General failure. \r\nPING: transmit failed. General failure. \r\n\r\n"+
		"Ping statistics for 192.0.2.1:\r\n    Packets: Sent = 2, Received = 0, Lost = 2 (100% loss),\r\n", 0)
	wantFailure(t, f, wire.FailureLocal, "General failure")
	wantCounts(t, f, 2, 0, 2)
}
