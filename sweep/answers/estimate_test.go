package answers

import (
	"strings"
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
	want := []Forecast{{at(0), []ProbeForecast{tcp}, nil}, {at(5), []ProbeForecast{handshake}, nil}, {at(10), []ProbeForecast{tcp}, nil}}
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

const threeRegionsBulk = `  - {name: rate, kind: throughput, schedule: "20 10 * * *", paths: [public], max_bytes: 1GB, duration: 8s}
  - {name: users, kind: load, schedule: "20 10 * * *", paths: [public], max_bytes: 100MB, users: 10, duration: 10s, request: 64, from: [westeurope], to: [eastus]}
budget: {sweep: 10GB, month: 15GB}
`

// Of three probers each direction takes three rounds. A round is of ramp (2 s), duration (8 s) and timeout (10 s),
// may begin 2 s late, and is 2 s apart from the next.
func TestEstimateSaysHowLongBulkRunsTakeAndWhatTheyMaySend(t *testing.T) {
	c := parse(t, threeRegions+threeRegionsBulk)
	c.Timing.Late = 10 * time.Second
	at := time.Date(2026, 11, 28, 10, 20, 0, 0, time.UTC)
	got, err := Estimate(c, at, 1)
	if err != nil || len(got) != 1 || len(got[0].Probes) != 3 || got[0].Bulk == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	tcp, rate, users := got[0].Probes[0], got[0].Probes[1], got[0].Probes[2]
	// tcp's runs may begin 30 s to 40 s after the slot, and take 4.1 s and the guard of 2 s.
	begin := at.Add(46100 * time.Millisecond)
	if rate.Runs != 6 || rate.Assignments != 6 || rate.Rounds != 6 || rate.Whole != 5*24*time.Second+22*time.Second || *rate.PayloadBytes != 6e9 || rate.Duration != 20*time.Second {
		t.Errorf("throughput: %+v", rate)
	}
	if users.Runs != 1 || users.Rounds != 1 || users.Whole != 23*time.Second || *users.PayloadBytes != 1e8 {
		t.Errorf("load: %+v", users)
	}
	if tcp.Rounds != 0 || tcp.Whole != 0 {
		t.Errorf("tcp: %+v", tcp)
	}
	want := BulkForecast{Rounds: 7, Begin: begin, End: begin.Add(6*24*time.Second + 23*time.Second), Bytes: 61e8, MonthBytes: 61e8}
	if diff := cmp.Diff(want, *got[0].Bulk); diff != "" {
		t.Error(diff)
	}
}

// The third day's runs exceed what is left of the month, and the next month begins anew.
func TestEstimateHoldsTheSlotsToTheMonthsBudget(t *testing.T) {
	c := parse(t, threeRegions+threeRegionsBulk)
	c.Probes = c.Probes[2:] // the bulk probes alone
	got, err := Estimate(c, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), 4)
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []BulkForecast{{Bytes: 61e8, MonthBytes: 61e8}, {Bytes: 61e8, MonthBytes: 122e8}, {Bytes: 21e8, MonthBytes: 143e8, OverBudget: 4}, {Bytes: 61e8, MonthBytes: 61e8}} {
		b := got[i].Bulk
		if b.Bytes != want.Bytes || b.MonthBytes != want.MonthBytes || b.OverBudget != want.OverBudget {
			t.Errorf("%s: %+v, want %+v", got[i].Slot, *b, want)
		}
	}
	if sum := *got[2].Probes[0].PayloadBytes; sum != 2e9 {
		t.Errorf("what is left out counts as sent: %d", sum)
	}
}

// A probe that rotates is due once a day.
func TestEstimateOfARotationIsOneSlotADay(t *testing.T) {
	c := parse(t, threeRegions+strings.Replace(threeRegionsBulk, `schedule: "20 10 * * *", paths: [public], max_bytes: 1GB`, `schedule: "20 */2 * * *", rotate: true, paths: [public], max_bytes: 1GB`, 1))
	day := EstimateDay(c, now)
	if rate := day.Probes[2]; rate.Slots != 1 || *rate.PayloadBytes != 6e9 {
		t.Errorf("%+v", rate)
	}
	c.Probes = c.Probes[2:3]
	got, err := Estimate(c, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), 12)
	hours := map[int]bool{}
	for i, f := range got {
		hours[f.Slot.Hour()] = true
		if f.Slot.Day() != time.Date(2026, 11, 28+i, 0, 0, 0, 0, time.UTC).Day() {
			t.Errorf("slot %d is %s", i, f.Slot)
		}
	}
	if err != nil || len(hours) != 12 {
		t.Errorf("%v: hours %v, want each once", err, hours)
	}
}
