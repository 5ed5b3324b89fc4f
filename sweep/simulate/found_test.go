package simulate_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/ledger"
	"isochrone/sweep/simulate"
	"isochrone/sweep/tables"
)

// Three weeks of two regions by the hour, through the real stores: what the model put in is found in the
// hours that are made of them, and everything says that it is simulated.
func TestWhatTheModelPutsInIsFoundInWhatIsStored(t *testing.T) {
	w := newWorld(t)
	f := w.filler(t, twoRegions, 3, 1, "udp", "rate")
	report, err := f.Run(t.Context())
	must(t, err)
	if report.Slots != 21*24+21 || report.Filled != report.Slots || report.Had+report.Left != 0 || report.Expired != 5 {
		t.Fatalf("report %+v", report)
	}
	if rolled := w.rollUp(t); rolled.Runs != report.Rows || rolled.Unreadable != 0 {
		t.Fatalf("of %d rows %+v", report.Rows, rolled)
	}
	// Two sources, two probes, three days.
	if compacted := w.compact(t, compact.Scope{Since: end.AddDate(0, 0, -3), Apply: true}); compacted.Written != 12 {
		t.Errorf("compacted %+v", compacted)
	}
	hours := map[[2]string][]tables.Hour{}
	for _, source := range []string{"westeurope", "eastus"} {
		for h, err := range w.tables.Hours(t.Context(), tables.HourQuery{Source: source, Since: f.Model.Since, Until: f.Model.Until}) {
			must(t, err)
			if h.Simulated != h.Runs {
				t.Fatalf("%s at %s: %d of %d runs are marked", h.Series, h.Begin, h.Simulated, h.Runs)
			}
			hours[[2]string{h.Series.Source, h.Series.Path + " " + h.Series.Probe}] = append(hours[[2]string{h.Series.Source, h.Series.Path + " " + h.Series.Probe}], h)
		}
	}
	t.Run("amplitude", func(t *testing.T) { findsAmplitudes(t, f.Model, hours) })
	t.Run("step", func(t *testing.T) { findsStep(t, f.Model, hours) })
	t.Run("congestion", func(t *testing.T) { findsCongestion(t, f.Model, hours) })
	t.Run("throughput", func(t *testing.T) { findsThroughput(t, f.Model, hours) })
	t.Run("outage", func(t *testing.T) { findsOutage(t, f.Model, w.runs(t)) })
	t.Run("marks", func(t *testing.T) { marked(t, w, f.Model) })
}

// findsAmplitudes fits a wave of a day to the hourly medians of working days over the path on which nothing happens, by the
// source's clock.
func findsAmplitudes(t *testing.T, m *simulate.Model, hours map[[2]string][]tables.Hour) {
	for _, p := range m.Pairs {
		if p.Path != "peering" {
			continue
		}
		zone, err := time.LoadLocation(p.Zone)
		must(t, err)
		var sum, cos, sin, least float64
		n := 0
		least = math.Inf(1)
		for _, h := range hours[[2]string{p.Source, "peering udp"}] {
			local := h.Begin.In(zone)
			if h.RTT.P50US == nil || local.Weekday() == time.Saturday || local.Weekday() == time.Sunday {
				continue
			}
			angle := 2 * math.Pi * float64(local.Hour()) / 24
			above := *h.RTT.P50US - p.MedianUS // not all hours of the day are there as often
			sum, cos, sin, n = sum+above, cos+above*math.Cos(angle), sin+above*math.Sin(angle), n+1
			least = min(least, *h.RTT.MinUS)
		}
		amplitude := 4 / float64(n) * math.Hypot(cos, sin) // from trough to crest
		peak := math.Mod(math.Atan2(sin, cos)*24/(2*math.Pi)+24, 24)
		if n < 300 || math.Abs(amplitude/p.AmplitudeUS-1) > 0.1 || math.Abs(peak-p.PeakHour) > 0.5 {
			t.Errorf("%s to %s: amplitude %.0f µs at %.1f h of %d hours, want %.0f µs at %.0f h", p.Source, p.Target, amplitude, peak, n, p.AmplitudeUS, p.PeakHour)
		}
		if mean := sum / float64(n); math.Abs(mean-p.AmplitudeUS/2) > 0.1*p.AmplitudeUS || least < p.FloorUS || least > p.FloorUS+50 {
			t.Errorf("%s to %s: mean above the quietest median %.0f µs, smallest %.0f µs; %+v", p.Source, p.Target, mean, least, p)
		}
	}
}

// beside are the medians of a figure in the week before and after an instant.
func beside(hours []tables.Hour, at time.Time, of func(*tables.Hour) *float64) (before, after float64) {
	var a, b []float64
	for i := range hours {
		h := &hours[i]
		v := of(h)
		if by := h.Begin.Sub(at); v != nil && by.Abs() <= 5*24*time.Hour {
			if by < 0 {
				a = append(a, *v)
			} else {
				b = append(b, *v)
			}
		}
	}
	slices.Sort(a)
	slices.Sort(b)
	return a[len(a)/2], b[len(b)/2]
}

func findsStep(t *testing.T, m *simulate.Model, hours map[[2]string][]tables.Hour) {
	s := m.Steps[0]
	before, after := beside(hours[[2]string{s.Source, s.Path + " udp"}], s.At, func(h *tables.Hour) *float64 { return h.RTT.MinUS })
	if math.Abs((after-before)/s.DeltaUS-1) > 0.05 {
		t.Errorf("the smallest round trip rises by %.0f µs, want %.0f", after-before, s.DeltaUS)
	}
}

func findsCongestion(t *testing.T, m *simulate.Model, hours map[[2]string][]tables.Hour) {
	c := m.Congestions[0]
	of := hours[[2]string{c.Source, c.Path + " udp"}]
	before, after := beside(of, c.At, func(h *tables.Hour) *float64 { return h.RTT.P50US })
	if math.Abs((after-before)/c.MedianUS-1) > 0.3 {
		t.Errorf("the median rises by %.0f µs, want %.0f", after-before, c.MedianUS)
	}
	before, after = beside(of, c.At, func(h *tables.Hour) *float64 { return h.RTT.MinUS })
	if math.Abs(after-before) > 0.1*c.MedianUS {
		t.Errorf("the smallest round trip rises by %.0f µs, and the floor did not", after-before)
	}
}

func findsThroughput(t *testing.T, m *simulate.Model, hours map[[2]string][]tables.Hour) {
	p := m.Pairs[3]
	of := hours[[2]string{p.Source, "public rate"}]
	if len(of) != 21 || p.Path != "public" {
		t.Fatalf("%d nights of throughput, pair %+v", len(of), p)
	}
	for _, h := range of {
		if h.Up.Median == nil { // the target was away
			continue
		}
		want := 4 * p.WindowBytes * 8 / (m.MedianUS(p.Source, p.Target, p.Path, h.Begin.Add(30*time.Minute)) / 1e6)
		if math.Abs(*h.Up.Median/want-1) > 0.15 {
			t.Errorf("%s: %.0f Mbit/s, want %.0f: four windows a round trip", h.Begin, *h.Up.Median/1e6, want/1e6)
		}
	}
}

func findsOutage(t *testing.T, m *simulate.Model, rows []tables.Row) {
	o := m.Outages[0]
	fates := map[wire.Failure]int{}
	for i := range rows {
		r := &rows[i]
		within := !r.Slot.Before(o.Since) && r.Slot.Before(o.Until)
		switch {
		case within && r.Series.Source == o.Prober && r.Failure != wire.FailureExpired:
			t.Errorf("%s at %s: its source was away, and it is %q", r.Series, r.Slot, r.Failure)
		case !within && r.Failure != "":
			t.Errorf("%s at %s failed with %q", r.Series, r.Slot, r.Failure)
		case within:
			fates[r.Failure]++
		}
	}
	if fates[wire.FailureExpired] != 5 || fates[wire.FailureTimeout] != 2 || fates[wire.FailureTargetDown] != 3 || len(fates) != 3 {
		t.Errorf("in the outage %v: want 5 expired, 2 that timed out before it was known, and 3 target_down", fates)
	}
}

// marked looks for the mark wherever a history is stored.
func marked(t *testing.T, w *world, m *simulate.Model) {
	ctx := t.Context()
	rows := w.runs(t)
	latest, err := w.tables.Latest(ctx, "", "")
	must(t, err)
	if len(latest) != 6 || len(rows) < 2000 {
		t.Errorf("%d rows, %d newest", len(rows), len(latest))
	}
	for _, r := range append(rows, latest...) {
		if !r.Simulated {
			t.Fatalf("%s at %s is not marked", r.Series, r.Slot)
		}
	}
	for _, source := range []string{"westeurope", "eastus"} {
		for p, err := range w.tables.Profiles(ctx, source, "", "", "") {
			if must(t, err); p.Simulated != p.Runs {
				t.Fatalf("profile %s at %d: %d of %d runs are marked", p.Series, p.HourOfDay, p.Simulated, p.Runs)
			}
		}
	}
	headers, err := w.tables.Sweeps(ctx, m.Since, m.Until)
	must(t, err)
	for _, h := range headers {
		if !h.Simulated || h.State != ledger.Complete || h.PlannedBytes != 0 {
			t.Fatalf("header %+v", h)
		}
	}
	for e, err := range w.tables.Entries(ctx, "", m.Since, m.Until) {
		if must(t, err); !e.Simulated || !e.State.Final() {
			t.Fatalf("entry %+v", e)
		}
	}
	files := 0
	for _, list := range []struct {
		days func() ([]archive.SourceDay, error)
		of   func(archive.SourceDay) ([]archive.LakeBlob, error)
		lake bool
	}{
		{func() ([]archive.SourceDay, error) { return w.archive.RawDays(ctx) }, func(d archive.SourceDay) ([]archive.LakeBlob, error) { return w.archive.RawSamples(ctx, d) }, false},
		{func() ([]archive.SourceDay, error) { return w.archive.LakeDays(ctx) }, func(d archive.SourceDay) ([]archive.LakeBlob, error) { return w.archive.LakeSamples(ctx, d) }, true},
	} {
		days, err := list.days()
		must(t, err)
		for _, d := range days[:min(len(days), 4)] {
			blobs, err := list.of(d)
			must(t, err)
			for _, b := range blobs {
				open := archive.OpenRawSamples
				if list.lake {
					open = archive.OpenLakeSamples
				}
				f, err := open(archive.LakeReader(ctx, b, archive.FooterBytes, w.archive.ReadRange), b.Size)
				if must(t, err); !f.Simulated {
					t.Fatalf("%s is not marked", b.Name)
				}
				files++
			}
		}
	}
	if files < 50 {
		t.Errorf("only %d files were looked at", files)
	}
}
