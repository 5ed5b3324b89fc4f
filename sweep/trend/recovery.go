package trend

import "math"

// RecoveryLow is the quantile of throughput that recovery is reckoned with: what the line carries in 95 of 100 hours.
const RecoveryLow = 0.05

const (
	hoursOfDay    = 24
	secondsOfHour = 3600.0
)

// RecoveryInput is what a replication has to do, and over what line. Bits, bits a second and seconds.
type RecoveryInput struct {
	// Throughput is what each measured hour carried, and ByHour what such hours of the day usually do: NaN where no
	// hour was measured.
	Throughput []float64
	ByHour     [hoursOfDay]float64
	// MedianRTT and HighRTT are the median and the 99 % quantile of the round trip, NaN where they are unknown.
	MedianRTT, HighRTT float64
	Change             float64 // rate at which data changes at the source
	Size               float64 // of what a seed or a backup copies
	Outage             float64 // of the line
	TCPWindow          float64 // bits that one connection may have under way
}

// Recovery is how far behind a copy is. Nil is unknown, or never.
type Recovery struct {
	// Low is the 5 % quantile of throughput; its interval is by order statistics. Nil for fewer than 20 hours.
	Low *Estimate
	// Sustained says that the line carries the changes at Low: in 95 of 100 hours nothing waits. Nil without Low.
	Sustained *bool
	// RPO is the age of the oldest change that the target has not acknowledged, at worst, by the hours of the day.
	RPO *float64
	// CatchUp is how long after an outage the backlog is gone at Low. Its interval is that of Low. Where Low does not
	// exceed the changes it is never, and nil.
	CatchUp, CatchUpLow, CatchUpHigh *float64
	// Never says that CatchUp is nil because the backlog grows.
	Never bool
	// Seed is how long a copy of Size takes that begins at an hour of the day.
	Seed [hoursOfDay]*float64
	// Ceiling is what one connection can carry whatever the line does: a window a round
	// trip (RFC 7323, section 1.1).
	Ceiling *float64
}

// RecoveryOf reckons what a line allows. The line is a fluid: changes come evenly and leave at the throughput that was
// measured, of the hour where hours are looked at.
func RecoveryOf(in RecoveryInput) Recovery {
	out := Recovery{Seed: seedTimes(in.ByHour, in.Size)}
	if e, ok := LowQuantile(in.Throughput, RecoveryLow); ok {
		sustained := e.Value >= in.Change
		out.Low, out.Sustained = &e, &sustained
		out.CatchUp = catchUp(in.Change, in.Outage, &e.Value)
		out.CatchUpLow, out.CatchUpHigh = catchUp(in.Change, in.Outage, e.High), catchUp(in.Change, in.Outage, e.Low)
		out.Never = out.CatchUp == nil
	}
	if in.MedianRTT > 0 {
		ceiling := in.TCPWindow / in.MedianRTT
		out.Ceiling = &ceiling
	}
	out.RPO = in.rpo(out.Sustained)
	return out
}

// catchUp is how long a backlog of an outage takes to drain at a rate, while changes go on; nil where it never does.
func catchUp(change, outage float64, rate *float64) *float64 {
	if rate == nil || *rate <= change {
		return nil
	}
	t := change * outage / (*rate - change)
	return &t
}

// rpo is one round trip, after which a change is known to be at the target, and the wait before it.
func (in RecoveryInput) rpo(sustained *bool) *float64 {
	if sustained == nil || math.IsNaN(in.HighRTT) {
		return nil
	}
	rpo := in.HighRTT
	if !*sustained {
		backlog, ok := dayBacklog(in.ByHour, in.Change)
		if !ok {
			return nil
		}
		rpo += backlog / in.Change
	}
	return &rpo
}

// dayBacklog is the most that waits when every day has the same hours, by Lindley's recursion (1952): what waits is what
// waited, more by the changes and less by what the hour carries, and never less than nothing. From an empty start the
// second day is like all after it, if a day carries more than a day's changes; otherwise the backlog grows for ever.
func dayBacklog(byHour [hoursOfDay]float64, change float64) (most float64, ok bool) {
	carried := 0.0
	for _, rate := range byHour {
		carried += rate // NaN stays
	}
	if !(carried > change*hoursOfDay) {
		return 0, false
	}
	waiting := 0.0
	for h := range 2 * hoursOfDay {
		waiting = max(waiting+(change-byHour[h%hoursOfDay])*secondsOfHour, 0)
		most = max(most, waiting)
	}
	return most, true
}

// seedTimes is how long size takes from the beginning of each hour of the day on. Every hour that the copy
// needs must have been measured.
func seedTimes(byHour [hoursOfDay]float64, size float64) (out [hoursOfDay]*float64) {
	ofDay := 0.0
	for _, rate := range byHour {
		ofDay += rate * secondsOfHour
	}
	for start := range hoursOfDay {
		left, t := size, 0.0
		if ofDay > 0 { // NaN is not: then the copy must be done before the hour that nobody measured
			days := math.Floor(left / ofDay)
			left, t = left-days*ofDay, days*hoursOfDay*secondsOfHour
		}
		for h := 0; h < hoursOfDay && left > 0; h++ {
			rate := byHour[(start+h)%hoursOfDay]
			if math.IsNaN(rate) {
				break
			}
			if carries := rate * secondsOfHour; carries < left {
				left, t = left-carries, t+secondsOfHour
				continue
			}
			t, left = t+left/rate, 0
		}
		if left <= 0 {
			out[start] = &t
		}
	}
	return out
}
