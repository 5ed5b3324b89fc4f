package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// findings makes one of each group, in the order of time, and within an hour as the file begins them.
func (j *jtlFold) findings() error {
	slices.SortStableFunc(j.order, func(a, b *jtlGroup) int { return cmp.Compare(a.key.hour, b.key.hour) })
	for i, g := range j.order {
		f := g.finding(j.names[g.key.label])
		g.elapsed, g.users, j.order[i] = nil, nil, nil
		if err := j.d.add(f); err != nil {
			return err
		}
	}
	return nil
}

func (g *jtlGroup) finding(label string) Finding {
	f := Finding{Tool: "jmeter", From: g.host, To: g.address, Variant: label}
	f.Run.Kind = wire.KindLoad
	f.Run.Counts.Sent, f.Counted.Sent = int(g.sent), true
	where := fmt.Sprintf("lines %d to %d", g.begin, g.end)
	samples := strconv.FormatInt(g.sent, 10) + " samples"
	if g.inside > 0 {
		samples += fmt.Sprintf(", and %d inside them that are not counted", g.inside)
	}
	f.explain("sent_count", Quantity{samples, "", where})
	if g.judged {
		f.Run.Counts.Received, f.Counted.Received = int(g.received), true
		f.Run.Counts.Lost, f.Counted.Lost = int(g.sent-g.received), true
		f.explain("lost_count", Quantity{fmt.Sprintf("%d not successful", g.sent-g.received), "", where})
	}
	if g.lost != nil {
		f.Summary.Failures = g.lost
	}
	if g.received == 0 {
		f.Run.Failure = mostOf(g.lost)
		f.Run.Detail = g.words[f.Run.Failure]
	}
	g.times(&f, where)
	g.roundTrips(&f, where)
	g.load(&f, where)
	return f
}

// mostOf is the failure that there was most of; of equal ones the first of the list.
func mostOf(lost map[wire.Failure]int) (out wire.Failure) {
	for _, f := range wire.Failures() {
		if lost[f] > lost[out] {
			out = f
		}
	}
	return out
}

func (g *jtlGroup) times(f *Finding, where string) {
	if !g.timed || g.key.hour == jtlNoHour {
		return
	}
	f.began(time.UnixMilli(g.first), Quantity{g.firstText, "ms", fmt.Sprintf("line %d", g.firstAt)})
	end := time.UnixMilli(g.last).UTC()
	f.Run.End = &end
	f.explain("end", Quantity{strconv.FormatInt(g.last, 10) + " = the last time stamp + elapsed + idle time", "ms", where})
}

// roundTrips are those that the file has one by one. Rows that sum several requests up give the mean alone,
// and only where none of these failed.
func (g *jtlGroup) roundTrips(f *Finding, where string) {
	if g.summed > 0 {
		if g.received == g.sent {
			for ms, n := range g.elapsed {
				g.summedFor += int64(ms) * int64(n)
			}
			mean := float64(g.summedFor) * 1e6 / float64(g.sent)
			f.Summary.Mean = &mean
			f.explain("rtt_mean_us", Quantity{fmt.Sprintf("%d over %d samples", g.summedFor, g.sent), "ms", where})
		}
		return
	}
	if len(g.elapsed) == 0 {
		return
	}
	counts := make(map[int64]int, len(g.elapsed))
	for ms, n := range g.elapsed {
		counts[int64(ms)*1e6] = int(n)
	}
	f.Bins = summary.DistributionOf(counts)
	f.explain("rtt_min_us", Quantity{strconv.Itoa(int(g.least)), "ms", fmt.Sprintf("line %d", g.leastAt)})
	f.explain("rtt_max_us", Quantity{strconv.Itoa(int(g.most)), "ms", fmt.Sprintf("line %d", g.mostAt)})
}

// load is what the file says of the load as a whole. Of the bytes both directions have to be told:
// older versions save those that were received alone.
func (g *jtlGroup) load(f *Finding, where string) {
	if !g.usersUntold && len(g.users) > 0 {
		n := len(g.users)
		f.bulk().Load.Users = &n
		f.explain("load_user_count", Quantity{fmt.Sprintf("%d different threads", n), "", where})
	} else if n := int(g.active); n > 0 {
		f.bulk().Load.Users = &n
		f.explain("load_user_count", Quantity{strconv.Itoa(n) + " active threads at most", "", where})
	}
	if took := g.answered - g.first; g.judged && g.timed && !g.untimed && took > 0 && g.received > 0 {
		rate := float64(g.received) / (float64(took) / 1000)
		f.bulk().Load.RequestsPerS = &rate
		f.explain("load_requests_per_s", Quantity{fmt.Sprintf("%d answered in %d ms", g.received, took), "", where})
	}
	if !g.bytesUntold {
		f.bulk().MovedBytes = g.bytes + g.sentBytes
		f.explain("moved_bytes", Quantity{fmt.Sprintf("%d received and %d sent", g.bytes, g.sentBytes), "bytes", where})
	}
}
