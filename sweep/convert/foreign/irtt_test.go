package foreign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isochrone/prober/wire/summary"
)

func TestIRTTSamples(t *testing.T) { testSamples(t, irtt) }

func FuzzIRTT(f *testing.F) {
	fuzz(f, irtt, 8, irttOf(`"packets_sent":1,"rtt":{"n":1,"min":5,"max":5,"mean":5,"stddev":0}`, `{"lost":false,"delay":{"rtt":5}}`),
		irttOf(`"packets_sent":0,"rtt":{"n":0}`, ""), irttTwoClocks(25))
}

// irttOf is a document with some statistics and round trips.
func irttOf(stats, trips string) string {
	return `{"version":{"irtt":"0.9.1","json_format":1},"system_info":{},"config":{"local_address":"192.0.2.1:5000","remote_address":"192.0.2.2:2112","params":{"stamp_at":"both"}},"stats":{` +
		stats + `},"round_trips":[` + trips + `]}`
}

// irttTwoClocks is n packets, 20 ms apart, over 3 ms there and 2 ms back, to a server that holds each
// for 50 µs, whose wall clock is 10 s behind and whose monotonic clock began an hour earlier. Packet
// i waits for i mod 10 × 100 µs on the way there.
func irttTwoClocks(n int) string {
	var trips []string
	const wall, behind, earlier = 1_796_000_000_000_000_000, 10_000_000_000, 3_600_000_000_000
	for i := range n {
		sent := i * 20_000_000
		there := sent + 3_000_000 + i%10*100_000
		back := there + 50_000 + 2_000_000
		trips = append(trips, fmt.Sprintf(`{"seqno":%d,"lost":"false","timestamps":{"client":{"send":{"wall":%d,"monotonic":%d},"receive":{"wall":%d,"monotonic":%d}},`+
			`"server":{"receive":{"wall":%d,"monotonic":%d},"send":{"wall":%d,"monotonic":%d}}},"delay":{"rtt":%d,"send":%d,"receive":%d}}`,
			i, wall+sent, sent, wall+back, back, wall+there-behind, there+earlier, wall+there+50_000-behind, there+50_000+earlier,
			back-sent-50_000, there-sent-behind, 2_000_000+behind))
	}
	return irttOf(fmt.Sprintf(`"start_time":"2026-11-30T00:00:00Z","duration":5000000000,"packets_sent":%d,"duplicates":0,"rtt":{"n":%d,"min":1}`, n, n), strings.Join(trips, ","))
}

func TestIRTTRoundTripsInTheirOrder(t *testing.T) {
	f := &mustConvert(t, irtt, readSample(t, "testdata/irtt/clean.json")).Findings[0]
	if len(f.RTT) != 50 || f.RTT[48] != 218_956 || f.RTT[49] != 348_564 {
		t.Fatalf("%d round trips: %v", len(f.RTT), f.RTT)
	}
	s := figuresOf(t, f) // what irtt computed itself
	exactly(t, "min", s.Min, 84_049)
	exactly(t, "max", s.Max, 1_571_581)
	exactly(t, "mean", s.Mean, 15_544_002.0/50)
	if !within(*s.Stddev, 230_060, 1e-5) {
		t.Errorf("stddev %v, and irtt's 230060", *s.Stddev)
	}
	if f.From != "vm" || f.To != "127.0.0.1" || f.Run.Address != "127.0.0.1:2119" || f.Run.Start.Format("15:04:05.000") != "09:34:35.456" || f.Run.End.Sub(*f.Run.Start) != 986_010_138 {
		t.Errorf("%q to %q: %+v", f.From, f.To, f.Run)
	}
}

// lost is a text, and "false" is no loss; packets_received holds the duplicates.
func TestIRTTCountsOfALossyPath(t *testing.T) {
	f := &mustConvert(t, irtt, readSample(t, "testdata/irtt/lossy.json")).Findings[0]
	c := f.Run.Counts
	if c.Sent != 99 || c.Received != 83 || c.Lost != 16 || c.Duplicate != 4 || c.Reordered != 4 || f.Counted.Late {
		t.Errorf("%+v, %+v", c, f.Counted)
	}
	if c.LostForward == nil || *c.LostForward != 10 || c.LostReverse == nil || *c.LostReverse != 6 {
		t.Errorf("%v lost there, %v back", c.LostForward, c.LostReverse)
	}
	if f = &mustConvert(t, irtt, readSample(t, "testdata/irtt/all-lost.json")).Findings[0]; f.Run.Counts.LostForward != nil {
		t.Error("a loss of which the direction is not told has none")
	}
}

func TestIRTTStatisticsOfNothingAreNoZeros(t *testing.T) {
	f := &mustConvert(t, irtt, readSample(t, "testdata/irtt/all-lost.json")).Findings[0]
	unknown(t, "min", f.Summary.Min)
	unknown(t, "mean", f.Summary.Mean)
	if f.Run.Failure != "timeout" || f.Run.Counts.Lost != 10 || f.Run.Detail == "" {
		t.Errorf("%+v", f.Run)
	}
}

func TestIRTTOneWayDelaysOfClocksThatDoNotAgreeAreLeftOut(t *testing.T) {
	f := &mustConvert(t, irtt, []byte(irttTwoClocks(250))).Findings[0]
	if !slices.Contains(f.Summary.Noise.Degraded, summary.ReasonUnsynchronised) {
		t.Errorf("%v", f.Summary.Noise.Degraded)
	}
	o := f.Summary.OneWay
	if o == nil || o.Method != "" || o.Bound != nil || o.ForwardMin != nil || o.ReverseP50 != nil || o.OffsetNS != nil {
		t.Fatalf("%+v", o)
	}
	s := figuresOf(t, f)
	exactly(t, "min", s.Min, 5_000_000)
	exactly(t, "p50", s.P50.Value, 5_400_000)
	exactly(t, "max", s.Max, 5_900_000)
	// The variation needs no clock that is right.
	exactly(t, "variation there", o.ForwardPDV95, 900_000)
	if o.ReversePDV95 == nil || *o.ReversePDV95 > 1000 {
		t.Errorf("variation back is %v, want 0", o.ReversePDV95)
	}
	exactly(t, "the server's share", f.Summary.Noise.ServerP50, 50_000)
}

// Delays that could be true are left out as well: nobody says that the clocks agree.
func TestIRTTPlausibleOneWayDelaysAreLeftOutToo(t *testing.T) {
	f := &mustConvert(t, irtt, readSample(t, "testdata/irtt/clean.json")).Findings[0]
	if len(f.Summary.Noise.Degraded) != 0 || f.Summary.OneWay != nil {
		t.Errorf("%+v", f.Summary)
	}
	exactly(t, "the server's share", f.Summary.Noise.ServerP50, 6252)
}

// A midpoint is one time for receiving and sending: it says nothing of the server's share.
func TestIRTTMidpointStampsGiveNoShare(t *testing.T) {
	for _, name := range []string{"midpoint", "plain"} {
		f := &mustConvert(t, irtt, readSample(t, "testdata/irtt/"+name+".json")).Findings[0]
		unknown(t, name, f.Summary.Noise.ServerP50)
		if len(f.RTT) != 30 || f.Summary.OneWay != nil {
			t.Errorf("%s: %d round trips, %+v", name, len(f.RTT), f.Summary.OneWay)
		}
	}
}

func TestIRTTFailures(t *testing.T) {
	none := `"packets_sent":0,"rtt":{"n":0,"min":0,"max":0,"mean":0}`
	for text, want := range map[string]string{
		irttOf(none, ""): "local: irtt sent no packet",
		strings.Replace(irttOf(none, ""), `"stats"`, `"receive_err":{"Code": -2051, "LocalAddr":null},"stats"`, 1): `local: receive_err {"Code":-2051,"LocalAddr":null}`,
		strings.Replace(irttOf(none, ""), `"stats"`, `"send_err":{"Err":"write: connection refused"},"stats"`, 1):  `refused: send_err {"Err":"write: connection refused"}`,
		irttOf(`"packets_sent":3,"rtt":{"n":0}`, `{"lost":"true"},{"lost":"true_up"},{"lost":"true"}`):             "timeout: no reply to any of 3 packets",
	} {
		f := mustConvert(t, irtt, []byte(text)).Findings[0]
		if got := fmt.Sprintf("%s: %s", f.Run.Failure, f.Run.Detail); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestIRTTBeforeLostWasAText(t *testing.T) {
	f := &mustConvert(t, irtt, []byte(irttOf(`"packets_sent":3,"rtt":{"n":2}`, `{"lost":false,"delay":{"rtt":7}},{"lost":true},{"lost":false,"delay":{"rtt":9}}`))).Findings[0]
	if fmt.Sprint(f.RTT) != "[7 9]" || f.Run.Counts.Lost != 1 {
		t.Errorf("%v, %+v", f.RTT, f.Run.Counts)
	}
}

func TestIRTTOfWhatIsDamaged(t *testing.T) {
	text := readSample(t, "testdata/irtt/clean.json")
	d := mustConvert(t, irtt, text[:len(text)/2]) // in the round trips: the statistics in front are whole
	f := &d.Findings[0]
	if len(f.RTT) != 0 || d.LeftCount != 2 {
		t.Fatalf("%d round trips, left out: %v", len(f.RTT), d.Left)
	}
	exactly(t, "mean", f.Summary.Mean, 310_880)
	exactly(t, "median", f.Summary.P50.Value, 254_460)
	exactly(t, "stddev", f.Summary.Stddev, 230_060)
	if _, err := convert(t, irtt, text[:2500]); err == nil {
		t.Error("statistics that are cut off are taken")
	}
	for _, bad := range []string{`"packets_sent":1,"rtt":{"n":2}`, `"packets_sent":1,"rtt":{}`, `"packets_sent":1.5,"rtt":{"n":1}`, `"start_time":"yesterday","rtt":{"n":1}`, `"packets_sent":-1,"rtt":{"n":0}`} {
		if d, err := convert(t, irtt, []byte(irttOf(bad, ""))); err == nil {
			t.Errorf("%s is taken: %+v", bad, d.Findings)
		}
	}
	d = mustConvert(t, irtt, []byte(irttOf(`"packets_sent":2,"rtt":{"n":2,"min":3,"mean":4,"max":5},"send_delay":{"min":-9}`, `{"lost":"maybe","delay":{"rtt":3}}`)))
	exactly(t, "min", d.Findings[0].Summary.Min, 3)
	if d.LeftCount != 1 || len(d.Findings[0].Summary.Noise.Degraded) != 1 {
		t.Errorf("%v, %+v", d.Left, d.Findings[0].Summary.Noise)
	}
}
