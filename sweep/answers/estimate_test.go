package answers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func TestEstimateSaysWhatTheNextSlotsRun(t *testing.T) {
	got, err := Estimate(parse(t, threeRegions), time.Date(2026, 11, 30, 9, 59, 30, 0, time.UTC), 3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(minute int) time.Time { return time.Date(2026, 11, 30, 10, minute, 0, 0, time.UTC) }
	// tcp: 6 pairs; a handshake of 64 + 48 bytes, 105 round trips of 64 + 16; 105 × 20 ms + 2 s of timeout.
	tcp := ProbeForecast{Probe: "tcp-64", Kind: wire.KindTCP, Runs: 6, Assignments: 3, Samples: 600,
		Duration: 4100 * time.Millisecond, PayloadBytes: known[int64](6 * (112 + 105*80))}
	// connect: westeurope to two over public and one over peering; no payload.
	handshake := ProbeForecast{Probe: "handshake", Kind: wire.KindConnect, Runs: 3, Assignments: 1, Samples: 60, Duration: 4 * time.Second, PayloadBytes: known[int64](0)}
	want := []Forecast{{at(0), []ProbeForecast{tcp}}, {at(5), []ProbeForecast{handshake}}, {at(10), []ProbeForecast{tcp}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEstimateBeginsWithTheMinuteThatWasAskedFor(t *testing.T) {
	got, err := Estimate(parse(t, threeRegions), slot, 1)
	if err != nil || len(got) != 1 || !got[0].Slot.Equal(slot) {
		t.Errorf("asked for %s: %+v, %v", slot, got, err)
	}
	got, err = Estimate(parse(t, threeRegions), slot.Add(time.Nanosecond), 1)
	if err != nil || len(got) != 1 || !got[0].Slot.Equal(slot.Add(10*time.Minute)) {
		t.Errorf("asked for just after %s: %+v, %v", slot, got, err)
	}
}

func TestEstimateDayAveragesFourWeeks(t *testing.T) {
	got := EstimateDay(parse(t, threeRegions), now)
	want := Day{Probers: 3, Pairs: 6, Series: 9, Runs: 144*6 + 24*3, Samples: 144*600 + 24*60, PayloadBytes: known[float64](144 * 6 * (112 + 105*80)),
		Probes: []ProbeDay{
			{Probe: "tcp-64", Kind: wire.KindTCP, Schedule: "*/10 * * * *", Series: 6, Slots: 144, Runs: 864, Samples: 86_400, PayloadBytes: known[float64](144 * 6 * (112 + 105*80))},
			{Probe: "handshake", Kind: wire.KindConnect, Schedule: "5 * * * *", Series: 3, Slots: 24, Runs: 72, Samples: 1440, PayloadBytes: known[float64](0)},
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func known[N int64 | float64](n N) *N { return &n }

// A probe of which nobody can say what it sends makes the sum unknown: a sum without it would be
// taken for the whole.
func TestWhatHTTPSendsIsUnknownAndSoIsTheSum(t *testing.T) {
	c := parse(t, threeRegions+`  - {name: health, kind: http, schedule: "*/10 * * * *", paths: [public], count: 10, interval: 1s, to: [api]}
endpoints:
  - {name: api, url: https://api.example.com/}
`)
	got, err := Estimate(c, slot, 1)
	if err != nil || len(got) != 1 || len(got[0].Probes) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if tcp, http := got[0].Probes[0], got[0].Probes[1]; tcp.PayloadBytes == nil || http.PayloadBytes != nil || http.Runs != 3 || http.Samples != 30 {
		t.Errorf("tcp %+v, http %+v: want 3 runs and no payload of http", tcp, http)
	}
	day := EstimateDay(c, now)
	if day.PayloadBytes != nil || day.Endpoints != 1 || day.Series != 12 || day.Pairs != 9 || day.Probes[0].PayloadBytes == nil || day.Probes[2].PayloadBytes != nil {
		t.Errorf("%+v", day)
	}
}
