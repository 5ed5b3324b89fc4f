package foreign

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestFortioSamples(t *testing.T) { testSamples(t, fortio) }

func FuzzFortio(f *testing.F) {
	fuzz(f, fortio, 9, `{"RunType":"HTTP","StartTime":"2026-01-01T00:00:00+01:00","ActualQPS":0,"NumThreads":0,"DurationHistogram":null,"error":true,"exception":"no such host"}`,
		`{"RunType":"TCP","StartTime":"","ActualQPS":1,"NumThreads":1,"DurationHistogram":{"Count":3,"Sum":1e300},"RetCodes":{"OK":1,"i/o timeout":2}}`)
}

func fortioSample(t *testing.T, name string) Finding {
	t.Helper()
	return mustConvert(t, fortio, readSample(t, "testdata/fortio/"+name)).Findings[0]
}

func TestFortioHistogramIsInSeconds(t *testing.T) {
	f := fortioSample(t, "http.json")
	s := f.Summary
	if !within(*s.Min, 18_879, 1e-9) || !within(*s.Mean, 1_337_049.6275, 1e-9) || !within(*s.Max, 103_607_549, 1e-9) || !within(*s.P50.Value, 520_789.229, 1e-8) || !within(*s.P95.Value, 974_778.38, 1e-8) {
		t.Errorf("%+v", s)
	}
	if len(f.RTT) > 0 || len(f.Bins) > 0 { // buckets are ranges
		t.Errorf("%d round trips, %d bins", len(f.RTT), len(f.Bins))
	}
}

func TestFortioDurationIsNanosecondsAndStartHasAZone(t *testing.T) {
	r := fortioSample(t, "http.json").Run
	if start := time.Date(2026, 11, 30, 20, 10, 33, 590868989, time.UTC); !r.Start.Equal(start) || !r.End.Equal(start.Add(2002098438)) {
		t.Errorf("from %v to %v", r.Start, r.End)
	}
	text := bytes.Replace(readSample(t, "testdata/fortio/http.json"), []byte("33.590868989Z"), []byte("33.590868989-08:00"), 1)
	if r := mustConvert(t, fortio, text).Findings[0].Run; !r.Start.Equal(time.Date(2026, 12, 1, 4, 10, 33, 590868989, time.UTC)) {
		t.Errorf("west of UTC: %v", r.Start)
	}
}

// Of 400 calls fewer than ten are above p99 and p99.9, whatever fortio computes for them.
func TestFortioPercentilesOfFewCallsAreLeftOut(t *testing.T) {
	if s := fortioSample(t, "http.json").Summary; s.P95.Value == nil || s.P99.Value != nil || s.P999.Value != nil {
		t.Errorf("%+v %+v %+v", s.P95, s.P99, s.P999)
	}
}

func TestFortioDeviationIsThatOfASample(t *testing.T) {
	if s := fortioSample(t, "http.json").Summary; !within(*s.Stddev, 10_223_470.961111482*math.Sqrt(400./399), 1e-12) {
		t.Errorf("%v", *s.Stddev)
	}
}

// 22 of 60 calls were answered with 503, and are in the histogram with the rest.
func TestFortioTimesOfFailedCallsAreNotThoseOfAnswers(t *testing.T) {
	f := fortioSample(t, "errors.json")
	s, c := f.Summary, f.Run.Counts
	if c.Sent != 60 || c.Received != 38 || c.Lost != 22 || s.Failures[wire.FailureHTTPStatus] != 22 || f.Run.Failure != "" {
		t.Errorf("%+v, %v", c, s.Failures)
	}
	if s.Min != nil || s.Max != nil || s.P50.Value != nil || s.Stddev != nil || !within(*s.Mean, (0.095985339-0.051357717)/38*1e9, 1e-9) {
		t.Errorf("%+v", s)
	}
	if rate := *s.Bulk.Load.RequestsPerS; !within(rate, 38/0.601227754, 1e-9) {
		t.Errorf("%v answers a second", rate)
	}
}

func TestFortioWithNothingButFailures(t *testing.T) {
	for name, want := range map[string]wire.Failure{"refused.json": wire.FailureUnreachable, "udp.json": wire.FailureTimeout} {
		f := fortioSample(t, name)
		if f.Run.Failure != want || f.Run.Counts.Received != 0 || f.Run.Counts.Lost == 0 || f.Summary.Mean != nil || f.Summary.Bulk != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	text := bytes.Replace(readSample(t, "testdata/fortio/refused.json"), []byte(`"-1": 5`), []byte(`"dial tcp 127.0.0.1:18099: connect: connection refused": 5`), 1)
	if f := mustConvert(t, fortio, text).Findings[0]; f.Run.Failure != wire.FailureRefused || !strings.Contains(f.Run.Detail, "connection refused") {
		t.Errorf("%+v", f.Run)
	}
}

// Versions without ErrorsDurationHistogram say it by their codes; 418 is as good as 200 to fortio.
func TestFortioCodesTellWhatFailed(t *testing.T) {
	of := func(codes string) Finding {
		return mustConvert(t, fortio, []byte(`{"RunType":"HTTP","StartTime":"2026-01-01T00:00:00Z","ActualQPS":10,"ActualDuration":1000000000,"NumThreads":1,"DurationHistogram":{"Count":10,"Min":0.1,"Sum":2,"Avg":0.2},"RetCodes":{`+codes+`}}`)).Findings[0]
	}
	if f := of(`"200":8,"418":2`); f.Run.Counts.Lost != 0 || *f.Summary.Min != 1e8 {
		t.Errorf("%+v", f)
	}
	if f := of(`"200":8,"404":1,"-1":1`); f.Run.Counts.Lost != 2 || f.Summary.Min != nil || f.Summary.Mean != nil || f.Summary.Failures[wire.FailureHTTPStatus] != 1 || len(f.Summary.Failures) != 1 {
		t.Errorf("%+v", f)
	}
}

func TestFortioThatCouldNotBegin(t *testing.T) {
	f := mustConvert(t, fortio, []byte(`{"RunType":"HTTP","StartTime":"2026-01-01T00:00:00Z","ActualQPS":0,"NumThreads":4,"DurationHistogram":null,"URL":"http://nobody.invalid/","error":true,"message":"Aborting because of","exception":"lookup nobody.invalid: no such host"}`)).Findings[0]
	if f.Run.Failure != wire.FailureDNS || f.To != "nobody.invalid" || f.Counted.Sent {
		t.Errorf("%+v", f)
	}
}

func TestFortioOfOtherProtocols(t *testing.T) {
	f := fortioSample(t, "tcp.json")
	if f.Run.Kind != wire.KindLoad || f.To != "127.0.0.1" || f.Summary.Bulk.MovedBytes != 2952*2 || f.Run.Counts.Received != 121 || *f.Summary.Bulk.Load.Users != 2 {
		t.Errorf("%+v, %+v", f, f.Summary.Bulk)
	}
}

func TestFortioCutOff(t *testing.T) {
	text := readSample(t, "testdata/fortio/http.json")
	at := bytes.Index(text, []byte(`"ErrorsDurationHistogram"`))
	d := mustConvert(t, fortio, text[:at])
	f := d.Findings[0]
	if d.LeftCount == 0 || f.Run.Counts.Sent != 400 || f.Counted.Lost || f.Summary.Mean != nil { // whether some failed is not told
		t.Errorf("%+v, %v", f, d.Left)
	}
}
