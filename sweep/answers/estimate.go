package answers

import (
	"net/netip"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/plan"
)

// searchMonths is how far ahead Estimate looks for a slot at which something is due. Five-field
// cron expressions repeat within a leap year's cycle; one that is due never ends there.
const searchMonths = 12 * 8

// Forecast is what would run at one slot, if every prober were up.
type Forecast struct {
	Slot   time.Time
	Probes []ProbeForecast // in the configuration's order
	Bulk   *BulkForecast   // nil where no bulk probe is due
}

// BulkForecast is the bulk runs of one slot, of all probes together.
type BulkForecast struct {
	Rounds int
	// Begin is when the first round begins, if the sweep is planned at its slot; End is when the last is over.
	Begin, End time.Time
	// Bytes is what the runs may send, together. MonthBytes is that and what the slots before it in the
	// same answer and month may.
	Bytes, MonthBytes int64
	// OverBudget are the runs that would be left out, because the month of the answer is used up.
	OverBudget int
}

// ProbeForecast is one probe's part of a forecast.
type ProbeForecast struct {
	Probe       string
	Kind        wire.Kind
	Runs        int
	Assignments int
	Samples     int // warm-up left out
	// Duration is how long a run takes at most. The runs of a latency probe go on side by side.
	Duration time.Duration
	// PayloadBytes is what the runs send and get back, in both directions together, as plan.RunBytes
	// counts; nil where nobody can say. Of bulk kinds it is the most that they may.
	PayloadBytes *int64
	// Rounds is how many rounds the runs of a bulk probe are made in, and Whole how long all of them take,
	// from the beginning of the first to the end of the last, with the gaps for latency runs between them.
	// Zero for other kinds.
	Rounds int
	Whole  time.Duration
}

// Estimate answers what would run at the next slots, from the minute of at on. Fewer slots than
// next come back when nothing else is due for eight years.
func Estimate(c *config.Config, at time.Time, next int) ([]Forecast, error) {
	slot := wire.Slot(at)
	if slot.Before(at) {
		slot = slot.Add(time.Minute)
	}
	end := slot.AddDate(0, searchMonths, 0)
	var out []Forecast
	months := map[string]int64{} // what is planned in each
	for len(out) < next {
		due, ok := nextDue(c, slot, end)
		if !ok {
			break
		}
		month := due.Format("2006-01")
		p, err := planned(c, due, months[month])
		if err != nil {
			return nil, err
		}
		months[month] += p.BulkBytes()
		f := Forecast{Slot: due, Probes: forecast(c, p), Bulk: bulkForecast(p)}
		if f.Bulk != nil {
			f.Bulk.MonthBytes = months[month]
		}
		out = append(out, f)
		slot = due.Add(time.Minute)
	}
	return out, nil
}

// nextDue is the first slot from and including from at which a probe is due.
func nextDue(c *config.Config, from, end time.Time) (first time.Time, ok bool) {
	for i := range c.Probes {
		due := c.Probes[i].Next(from.Add(-time.Second))
		if !due.IsZero() && due.Before(end) && (!ok || due.Before(first)) {
			first, ok = due, true
		}
	}
	return first, ok
}

// planned is the plan that the configuration gives for a slot when every prober is up. Its
// addresses and keys stand for real ones: only what is to run, and how, is of use.
func planned(c *config.Config, slot time.Time, spent int64) (*plan.Plan, error) {
	up := make(map[string]plan.Target, len(c.Probers)+len(c.Endpoints))
	stand := plan.Address{IP: netip.MustParseAddr("192.0.2.1"), TCPPort: 7700, UDPPort: 7700} // TEST-NET-1, RFC 5737
	for _, p := range c.Probers {
		addresses := make(map[string]plan.Address, len(p.Addresses))
		for path := range p.Addresses {
			addresses[path] = stand
		}
		up[p.ID] = plan.Target{Assignments: wire.AssignmentsVersion, Addresses: addresses}
	}
	for _, e := range c.Endpoints {
		up[e.Name] = plan.Target{Addresses: map[string]plan.Address{e.Path: stand}}
	}
	return plan.Make(plan.Input{Config: c, ConfigHash: strings.Repeat("0", 64), Slot: slot, Now: slot, Seed: wire.Key{1}, Targets: up, Spent: spent})
}

func forecast(c *config.Config, p *plan.Plan) []ProbeForecast {
	of := map[string]*ProbeForecast{}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		f := of[a.Probe]
		if f == nil {
			f = &ProbeForecast{Probe: a.Probe, Kind: a.Spec.Kind, Duration: a.Spec.Span()}
			if f.Kind.IsBulk() {
				r := roundsOf(p, func(b *plan.Assignment) bool { return b.Probe == a.Probe })
				f.Rounds, f.Whole = r.Rounds, r.End.Sub(r.Begin)
			}
			of[a.Probe] = f
		}
		f.Assignments++
		f.Runs += len(a.Runs)
		f.Samples += len(a.Runs) * a.Spec.Count
		if each := runBytes(a.Spec); each != nil {
			if f.PayloadBytes == nil {
				f.PayloadBytes = new(int64)
			}
			*f.PayloadBytes += int64(len(a.Runs)-overBudget(a)) * *each
		}
	}
	var out []ProbeForecast
	for _, probe := range c.Probes {
		if f := of[probe.Name]; f != nil {
			out = append(out, *f)
		}
	}
	return out
}

func overBudget(a *plan.Assignment) (n int) {
	for i := range a.Runs {
		if a.Runs[i].Failure == wire.FailureBudget {
			n++
		}
	}
	return n
}

// bulkForecast is nil where the plan has no bulk runs.
func bulkForecast(p *plan.Plan) *BulkForecast {
	f := roundsOf(p, func(*plan.Assignment) bool { return true })
	if f.Rounds == 0 {
		return nil
	}
	f.Bytes = p.BulkBytes()
	for i := range p.Assignments {
		f.OverBudget += overBudget(&p.Assignments[i])
	}
	return &f
}

// roundsOf counts the rounds of the bulk assignments that are wanted, and says when they begin and end.
// No two rounds begin at the same time.
func roundsOf(p *plan.Plan, wanted func(*plan.Assignment) bool) (f BulkForecast) {
	starts := map[time.Time]bool{}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		if !a.Spec.Kind.IsBulk() || !wanted(a) {
			continue
		}
		starts[a.Start] = true
		if f.Begin.IsZero() || a.Start.Before(f.Begin) {
			f.Begin = a.Start
		}
		if a.Deadline.After(f.End) {
			f.End = a.Deadline
		}
	}
	f.Rounds = len(starts)
	return f
}

// runBytes is what the two sides of a run send together; nil where nobody can say.
func runBytes(s wire.Spec) *int64 {
	request, response, known := plan.RunBytes(s)
	if !known {
		return nil
	}
	both := request + response
	return &both
}

// averageDays is how many days Daily looks at: four weeks, so that a weekly probe counts right.
const averageDays = 28

// Day is what a configuration makes on an average day of the four weeks after it was asked for.
type Day struct {
	Probers, Endpoints int
	// Pairs counts the ordered pairs that at least one probe measures, and Series those pairs
	// once a path and a probe.
	Pairs, Series int
	Probes        []ProbeDay // in the configuration's order
	Runs          float64
	Samples       float64
	PayloadBytes  *float64 // nil where nobody can say of one of the probes
}

// ProbeDay is one probe's part of a day.
type ProbeDay struct {
	Probe        string
	Kind         wire.Kind
	Schedule     string
	Series       int
	Slots        float64 // at which it is due, a day
	Runs         float64
	Samples      float64
	PayloadBytes *float64 // as ProbeForecast's
}

// EstimateDay answers what a configuration will make and send on an average day.
func EstimateDay(c *config.Config, from time.Time) Day {
	var payload float64
	day := Day{Probers: len(c.Probers), Endpoints: len(c.Endpoints), PayloadBytes: &payload}
	type ends struct{ source, target string }
	pairs := map[ends]bool{}
	for _, p := range c.Probes {
		d := ProbeDay{Probe: p.Name, Kind: p.Spec.Kind, Schedule: p.Schedule, Slots: slotsADay(p, from)}
		for _, pair := range c.Pairs(&p) {
			pairs[ends{pair.Source, pair.Target}] = true
			d.Series++
		}
		d.Runs = d.Slots * float64(d.Series)
		d.Samples = d.Runs * float64(p.Spec.Count)
		if each := runBytes(p.Spec); each != nil {
			bytes := d.Runs * float64(*each)
			d.PayloadBytes = &bytes
			payload += bytes
		} else {
			day.PayloadBytes = nil
		}
		day.Series += d.Series
		day.Runs += d.Runs
		day.Samples += d.Samples
		day.Probes = append(day.Probes, d)
	}
	day.Pairs = len(pairs)
	return day
}

func slotsADay(p config.Probe, from time.Time) float64 {
	from = wire.Slot(from)
	if p.Rotate { // once a day of UTC, whatever the time of the day
		from = from.UTC().Truncate(24 * time.Hour)
	}
	end := from.AddDate(0, 0, averageDays)
	n := 0
	for due := p.Next(from.Add(-time.Second)); !due.IsZero() && due.Before(end); due = p.Next(due) {
		n++
	}
	return float64(n) / averageDays
}
