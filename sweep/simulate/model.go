package simulate

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
)

// The model's numbers; docs/simulate.md says where each comes from.
const (
	// publishedToFloor takes the tail out of the published 95 % quantile.
	publishedToFloor = 0.97
	// Where nothing is published, light in fibre over the great circle takes this much longer by real routes,
	// and the machines at the ends what follows.
	leastStretch, mostStretch = 1.3, 1.8
	endsUS                    = 400.0

	peakHour     = 15.0 // by the source's clock
	weekendRatio = 0.4
	queueUS      = 80.0  // mean wait in the quietest hour
	queueRatio   = 0.001 // and more over a longer way

	leastAmplitudeUS, mostAmplitudeUS = 300.0, 8000.0
	leastOfFloor, mostOfFloor         = 0.01, 0.05 // amplitude over floor

	quietLoss, busyLoss = 0.0001, 0.002

	capacityBPS   = 5e9
	busyCapacity  = 0.3 // of the capacity is gone in the busiest hour
	windowBytes   = 4 << 20
	stepRatio     = 0.06
	leastStepUS   = 3000.0
	crowdRatio    = 0.04 // mean wait of the congestion, over the floor
	leastCrowdUS  = 3000.0
	outageHours   = 2 // hourly points stay no more than three hours apart
	hoursOfDay    = 24
	leastToChange = 5000.0 // a floor below which nothing is re-routed
)

// paths are what a path does to the public one's floor: ratio and µs. The rhythm of a peering is half of the public path's.
var paths = map[string]struct{ ratio, addUS, rhythm float64 }{
	"public":       {1, 0, 1},
	"peering":      {0.98, -50, 0.5},
	"vpn":          {1.03, 600, 1},
	"expressroute": {1.01, 0, 0.3},
}

// Model is a network that does not exist. It is safe for concurrent use.
type Model struct {
	Truth

	zones map[string]*time.Location // by prober
	pairs map[config.Pair]*Pair
}

// New makes the model of a derived configuration over a window of time, since <= t < until.
func New(of *Derived, since, until time.Time, seed uint64) (*Model, error) {
	c := of.Config
	m := &Model{Truth: Truth{Environment: c.Environment, Seed: seed, Since: since.UTC(), Until: until.UTC(),
		Steps: []Step{}, Congestions: []Congestion{}, Outages: []Outage{}, Clocks: []ClockChange{}, NotSimulated: of.Left},
		zones: map[string]*time.Location{}, pairs: map[config.Pair]*Pair{}}
	for _, p := range c.Probers {
		region, ok := catalog.Lookup(p.Region)
		if !ok {
			return nil, fmt.Errorf("simulating prober %q: region %q is not in the catalog", p.ID, p.Region)
		}
		zone, err := region.Location()
		if err != nil {
			return nil, fmt.Errorf("simulating prober %q: %w", p.ID, err)
		}
		m.zones[p.ID] = zone
		m.clocks(region.TimeZone, zone)
	}
	slices.SortFunc(m.Clocks, func(a, b ClockChange) int { return a.At.Compare(b.At) })
	if err := m.addPairs(c); err != nil {
		return nil, err
	}
	m.happen(c)
	return m, nil
}

// addPairs gives every pair that a probe of the configuration measures its numbers.
func (m *Model) addPairs(c *config.Config) error {
	seen := map[config.Pair]bool{}
	for i := range c.Probes {
		for _, p := range c.Pairs(&c.Probes[i]) {
			if seen[p] {
				continue
			}
			seen[p] = true
			pair, err := m.pair(c, p)
			if err != nil {
				return err
			}
			m.Pairs = append(m.Pairs, pair)
		}
	}
	slices.SortFunc(m.Pairs, func(a, b Pair) int { return comparePairs(a.key(), b.key()) })
	for i := range m.Pairs {
		m.pairs[m.Pairs[i].key()] = &m.Pairs[i]
	}
	return nil
}

func (p *Pair) key() config.Pair {
	return config.Pair{Source: p.Source, Target: p.Target, Path: p.Path}
}

func (m *Model) pair(c *config.Config, p config.Pair) (Pair, error) {
	source, _ := c.Prober(p.Source)
	target, _ := c.Prober(p.Target)
	from, _ := catalog.Lookup(source.Region)
	to, ok := catalog.Lookup(target.Region)
	if !ok {
		return Pair{}, fmt.Errorf("simulating %q: region %q is not in the catalog", p.Target, target.Region)
	}
	// What belongs to the ordered pair is drawn without the path, so that two paths differ by what is
	// stated and by nothing else.
	random := m.random("pair", p.Source, p.Target)
	stretch := leastStretch + (mostStretch-leastStretch)*random.Float64()
	amplitude := math.Exp(between(random, math.Log(leastOfFloor), math.Log(mostOfFloor)))
	rough := math.Exp(between(random, -0.7, 0.7))
	out := Pair{Source: p.Source, Target: p.Target, Path: p.Path, PeakHour: peakHour, Zone: from.TimeZone, WeekendRatio: weekendRatio,
		LossRatio: quietLoss, BusyLossRatio: busyLoss * rough, CapacityBPS: capacityBPS, WindowBytes: windowBytes}
	public := endsUS + stretch*micro(catalog.Floor(catalog.Distance(from, to)))
	out.From = "distance"
	if ms, ok := catalog.PublishedP95(from.Name, to.Name); ok {
		out.From, public = "published", publishedToFloor*ms*1000
	}
	is, ok := paths[p.Path]
	if !ok {
		return Pair{}, fmt.Errorf("simulating %q: the model has no path %q", p.Source, p.Path)
	}
	out.FloorUS = round(public*is.ratio + is.addUS)
	out.QueueUS = round(queueUS + queueRatio*public)
	out.AmplitudeUS = round(is.rhythm * min(max(amplitude*public, leastAmplitudeUS), mostAmplitudeUS))
	out.MedianUS = round(out.FloorUS + math.Ln2*out.QueueUS)
	return out, nil
}

// busy is how busy a pair is at a time: 0 in the quietest hour, 1 in the busiest of a working day.
func (m *Model) busy(p *Pair, t time.Time) float64 {
	local := t.In(m.zones[p.Source])
	hour := float64(local.Hour()) + float64(local.Minute())/60 + float64(local.Second())/3600
	is := (1 + math.Cos(2*math.Pi*(hour-p.PeakHour)/hoursOfDay)) / 2
	if day := local.Weekday(); day == time.Saturday || day == time.Sunday {
		is *= p.WeekendRatio
	}
	return is
}

// floor is the smallest round trip of a pair at a time, in µs.
func (m *Model) floor(p *Pair, t time.Time) float64 {
	is := p.FloorUS
	for _, s := range m.Steps {
		if s.Source == p.Source && s.Target == p.Target && s.Path == p.Path && !t.Before(s.At) {
			is += s.DeltaUS
		}
	}
	return is
}

// queue is the mean wait of a pair at a time, in µs.
func (m *Model) queue(p *Pair, t time.Time) float64 {
	is := p.QueueUS + p.AmplitudeUS*m.busy(p, t)/math.Ln2
	for _, c := range m.Congestions {
		if c.Source == p.Source && c.Target == p.Target && c.Path == p.Path && !t.Before(c.At) {
			is += c.QueueUS
		}
	}
	return is
}

// MedianUS is the median round trip of a pair at a time, in µs; 0 for a pair that the model does not have.
func (m *Model) MedianUS(source, target, path string, t time.Time) float64 {
	p := m.pairs[config.Pair{Source: source, Target: target, Path: path}]
	if p == nil {
		return 0
	}
	return m.floor(p, t) + math.Ln2*m.queue(p, t)
}

func (m *Model) loss(p *Pair, t time.Time) float64 {
	return p.LossRatio + (p.BusyLossRatio-p.LossRatio)*m.busy(p, t)
}

// away says whether a prober is away at a time, and since when.
func (m *Model) away(prober string, t time.Time) (since time.Time, is bool) {
	for _, o := range m.Outages {
		if o.Prober == prober && !t.Before(o.Since) && t.Before(o.Until) {
			return o.Since, true
		}
	}
	return time.Time{}, false
}

// random is a source of numbers that follows from the seed and the words alone.
func (m *Model) random(words ...string) *rand.Rand {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(w)))) // a hash takes everything
		_, _ = h.Write([]byte(w))
	}
	return rand.New(rand.NewPCG(m.Seed, h.Sum64()))
}

func between(random *rand.Rand, least, most float64) float64 {
	return least + (most-least)*random.Float64()
}

func micro(d time.Duration) float64 { return float64(d) / 1000 }

// round keeps stated numbers short: to a tenth of a microsecond.
func round(us float64) float64 { return math.Round(us*10) / 10 }
