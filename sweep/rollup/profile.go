package rollup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

const (
	// profileVersion is to profiles what hourVersion is to hours.
	profileVersion = "isochrone profile 1"
	// ProfileDays is over how many days profiles look back: four weeks, so that every day of the week is
	// in them as often, and a probe that changes its hour from day to day has been through all.
	ProfileDays = 28
)

// ProfilesOf are the profiles of one series for the day that begins at day: of the hours in the 28 days
// before it, each hour of the day that has one. Other hours are left out. They must be newest first.
func ProfilesOf(hours []tables.Hour, day time.Time) []tables.Profile {
	var b profileBuilder
	b.reset(day)
	for i := range hours {
		b.add(&hours[i])
	}
	return b.profiles()
}

// profileBuilder takes the hours of a series one by one, newest first. It is used again for the next.
type profileBuilder struct {
	since, until time.Time
	of           [24]profileHour
}

// profileHour is what is known of one hour of the day.
type profileHour struct {
	out        tables.Profile
	inputs     hash.Hash
	sum        wire.HistogramSum
	whole      bool
	p50        []float64
	up, down   []float64
	lost, sent int
	lossKnown  bool
	unreadable int
}

func (b *profileBuilder) reset(day time.Time) {
	b.until = day.UTC()
	b.since = b.until.AddDate(0, 0, -ProfileDays)
	for i := range b.of {
		h := &b.of[i]
		h.out = tables.Profile{HourOfDay: i, Since: b.since, Until: b.until}
		if h.inputs == nil {
			h.inputs = sha256.New()
		}
		h.inputs.Reset()
		h.inputs.Write([]byte(profileVersion)) // a hash takes everything
		h.inputs.Write(binary.BigEndian.AppendUint64(nil, uint64(b.until.Unix())))
		h.sum.Reset()
		h.whole, h.p50, h.up, h.down = true, h.p50[:0], h.up[:0], h.down[:0]
		h.lost, h.sent, h.lossKnown, h.unreadable = 0, 0, false, 0
	}
}

func (b *profileBuilder) add(in *tables.Hour) {
	if in.Begin.Before(b.since) || !in.Begin.Before(b.until) {
		return
	}
	h := &b.of[in.Begin.UTC().Hour()]
	h.inputs.Write(binary.BigEndian.AppendUint64(nil, uint64(in.Begin.Unix())))
	h.inputs.Write([]byte(in.Inputs))
	if h.out.Hours == 0 {
		h.out.Series, h.out.Kind = in.Series, in.Kind
	}
	h.out.Hours++
	h.out.Runs += in.Runs
	h.out.Simulated += in.Simulated
	for _, of := range []struct {
		v    *float64
		into *[]float64
	}{{in.RTT.P50US, &h.p50}, {in.Up.Median, &h.up}, {in.Down.Median, &h.down}} {
		if of.v != nil {
			*of.into = append(*of.into, *of.v)
		}
	}
	if in.Histogram != "" {
		if err := h.sum.Add(in.Histogram); err != nil {
			h.whole = false
			h.unreadable++
		}
	} else if in.RTT.MinUS != nil || in.RTT.MeanUS != nil || in.RTT.MaxUS != nil {
		h.whole = false // it has round trips, and not all of them are known
	}
	if l := in.Loss; l.Sent != nil && l.Ratio != nil {
		h.lost, h.sent, h.lossKnown = h.lost+int(math.Round(*l.Ratio*float64(*l.Sent))), h.sent+*l.Sent, true
	}
	h.out.RTTMaxUS = most(h.out.RTTMaxUS, in.RTT.MaxUS)
}

// profiles are those of the hours of the day that have an hour.
func (b *profileBuilder) profiles() (out []tables.Profile) {
	for i := range b.of {
		h := &b.of[i]
		if h.out.Hours == 0 {
			continue
		}
		p := h.out
		p.Inputs = hex.EncodeToString(h.inputs.Sum(nil))
		p.P50, p.Up, p.Down = spreadOf(h.p50), spreadOf(h.up), spreadOf(h.down)
		if n := h.sum.Total(); h.whole && n > 0 {
			p.P99US = micros(h.sum.Quantile(0.99), p.RTTMaxUS)
			if n <= math.MaxInt32 {
				count := int(n)
				p.Received = &count
			}
		}
		p.Loss = lossFrom(h.lost, h.sent, h.lossKnown)
		if s := p.Loss.Sent; s != nil && *s > math.MaxInt32 {
			p.Loss.Sent = nil
		}
		out = append(out, p)
	}
	return out
}

func spreadOf(values []float64) tables.Spread {
	s, ok := trend.SpreadOf(values)
	if !ok {
		return tables.Spread{}
	}
	return tables.Spread{N: &s.N, Median: &s.Median, Q1: s.Q1, Q3: s.Q3}
}
