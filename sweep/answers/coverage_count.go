package answers

import (
	"iter"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// What the ledger and the rows must never say.
const (
	lostRow      = "the ledger has it as received, and its row is not there"
	lostExpired  = "the ledger has it as expired, and its row is not there"
	lostReplaced = "the ledger has it as received, and its row says expired"
	lostEntry    = "the ledger does not have its assignment"
	unplannedRow = "a row that no sweep planned"
)

// counter counts what became of runs.
type counter struct {
	query       CoverageQuery
	environment string
	now         time.Time
	slots       []timelineSlot // oldest first
	book        book
	probers     map[string]*Prober
	refused     map[string]string // why documents are in quarantine, by assignment
	tallies     map[tallyKey]*tally
	notes       []string
	simulated   bool
}

type tallyKey struct {
	prober string
	from   int64
}

type tally struct {
	row CoverageRow
	why map[whyKey]int
}

type whyKey struct {
	fate   Fate
	reason string
}

// maxWhys bounds how many reasons are told apart in one row of the answer.
const maxWhys = 40

func (c *counter) tally(prober string, slot time.Time) *tally {
	step := time.Hour
	if c.query.ByDay {
		step = 24 * time.Hour
	}
	from := slot.UTC().Truncate(step)
	key := tallyKey{prober, from.Unix()}
	t := c.tallies[key]
	if t == nil {
		t = &tally{row: CoverageRow{Prober: prober, From: from}, why: map[whyKey]int{}}
		c.tallies[key] = t
	}
	return t
}

func (t *tally) add(fate Fate, reason string) {
	t.row.add(fate, 1)
	if fate != FateMeasured {
		t.because(fate, reason)
	}
}

func (t *tally) because(fate Fate, reason string) {
	key := whyKey{fate, reason}
	if _, known := t.why[key]; !known && len(t.why) >= maxWhys {
		key.reason = "for other reasons"
	}
	t.why[key]++
}

// countPlanned counts what was planned, from the configurations alone.
func (c *counter) countPlanned() {
	for i := range c.slots {
		for _, set := range c.slots[i].sets {
			for source, n := range set.runs {
				c.tally(source, c.slots[i].at).row.Planned += n
			}
		}
	}
}

// plannedSeries is a series and the slots at which it was due, as numbers of the slots of its probe.
type plannedSeries struct {
	source, key, probe string // key: as the rows are ordered
	sets               map[*pairSet]bool
}

// dueSlot is a slot at which a probe was due, and its series then.
type dueSlot struct {
	slot *timelineSlot
	set  *pairSet
}

// series lists what was planned in the order of the rows, and by probe the slots at which it was due.
func (c *counter) series() ([]*plannedSeries, map[string][]dueSlot) {
	known, seen := map[[2]string]*plannedSeries{}, map[*pairSet]bool{}
	due := map[string][]dueSlot{}
	for i := range c.slots {
		for _, set := range c.slots[i].sets {
			due[set.probe] = append(due[set.probe], dueSlot{&c.slots[i], set})
			if seen[set] {
				continue
			}
			seen[set] = true
			for _, pair := range set.pairs {
				key := [2]string{pair.Source, seriesKey(pair.Target, pair.Path, set.probe)}
				if known[key] == nil {
					known[key] = &plannedSeries{source: pair.Source, key: key[1], probe: set.probe, sets: map[*pairSet]bool{}}
				}
				known[key].sets[set] = true
			}
		}
	}
	out := make([]*plannedSeries, 0, len(known))
	for _, s := range known {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *plannedSeries) int { return compareSeries(a.source, a.key, b.source, b.key) })
	return out, due
}

// seriesKey orders series as their rows' keys do.
func seriesKey(target, path, probe string) string { return target + "|" + path + "|" + probe + "|" }

func compareSeries(sourceA, keyA, sourceB, keyB string) int {
	if d := strings.Compare(sourceA, sourceB); d != 0 {
		return d
	}
	return strings.Compare(keyA, keyB)
}

// join goes through the rows and through what was planned, both in the same order, once.
func (c *counter) join(rows iter.Seq2[tables.Row, error]) error {
	next, stop := iter.Pull2(rows)
	defer stop()
	unknown := map[int64]bool{}
	for i := range c.slots {
		unknown[c.slots[i].at.Unix()] = c.slots[i].unknown
	}
	r := &rowReader{next: next, skip: func(r *tables.Row) bool {
		c.simulated = c.simulated || r.Simulated
		return isForeign(r) || unknown[r.Slot.Unix()]
	}}
	r.advance()
	all, due := c.series()
	for _, s := range all {
		for r.ok && compareSeries(r.row.Series.Source, r.key, s.source, s.key) < 0 {
			c.unplanned(&r.row)
			r.advance()
		}
		for _, d := range slices.Backward(due[s.probe]) { // newest first, as the rows are
			if !s.sets[d.set] {
				continue
			}
			for r.is(s) && r.row.Slot.After(d.slot.at) {
				c.unplanned(&r.row)
				r.advance()
			}
			if r.is(s) && r.row.Slot.Equal(d.slot.at) {
				c.settle(&r.row)
				r.advance()
				continue
			}
			c.missing(s, d.slot)
		}
	}
	for ; r.ok; r.advance() {
		c.unplanned(&r.row)
	}
	return r.err
}

// rowReader is the rows, one at a time.
type rowReader struct {
	next func() (tables.Row, error, bool)
	skip func(*tables.Row) bool
	row  tables.Row
	key  string
	ok   bool
	err  error
}

func (r *rowReader) advance() {
	for {
		var err error
		r.row, err, r.ok = r.next()
		if err != nil {
			r.ok, r.err = false, err
		}
		if !r.ok || !r.skip(&r.row) {
			break
		}
	}
	r.key = seriesKey(r.row.Series.Target, r.row.Series.Path, r.row.Series.Probe)
}

func (r *rowReader) is(s *plannedSeries) bool {
	return r.ok && r.row.Series.Source == s.source && r.key == s.key
}

// unplanned counts a row that nobody planned. One of the last minutes may be of a sweep whose header was
// written after the ledger was read.
func (c *counter) unplanned(r *tables.Row) {
	if c.now.Sub(r.Slot) < unswept {
		return
	}
	t := c.tally(r.Series.Source, r.Slot)
	t.row.Unplanned++
	t.because(FateUnplanned, unplannedRow)
}

// settle counts a planned run that has a row.
func (c *counter) settle(r *tables.Row) {
	t := c.tally(r.Series.Source, r.Slot)
	switch r.Failure {
	case "":
		t.add(FateMeasured, "")
	case wire.FailureExpired:
		es := c.book.of(r.Slot, share{r.Series.Source, r.Series.Probe})
		e, known := part(es, r.Part)
		switch {
		case known && bookStates[e.state] == ledger.Received:
			t.add(FateLost, lostReplaced)
		case known && bookStates[e.state] == ledger.Expired:
			t.add(FateExpired, c.because(c.book.reasons[e.reason], ledger.Expired, r.Series.Source, r.Slot, r.Assignment))
		default: // its row is written before its entry
			t.add(FateExpired, c.because(noReason(ledger.Expired), ledger.Expired, r.Series.Source, r.Slot, r.Assignment))
		}
	default:
		t.add(FateFailed, string(r.Failure))
	}
}

// missing counts a planned run that has no row.
func (c *counter) missing(s *plannedSeries, slot *timelineSlot) {
	t := c.tally(s.source, slot.at)
	if slot.state == ledger.Missed {
		t.add(FateMissed, slot.reason)
		return
	}
	es := c.book.of(slot.at, share{s.source, s.probe})
	for _, e := range es {
		if state := bookStates[e.state]; !state.Final() {
			id := wire.AssignmentID(c.environment, slot.at, s.source, s.probe, int(e.part))
			t.add(FateOpen, c.because(c.book.reasons[e.reason], state, s.source, slot.at, id))
			return
		}
	}
	switch {
	case slot.state == "":
		t.add(FateOpen, slot.reason)
	case len(es) == 0 && slot.state == ledger.Planned:
		t.add(FateOpen, noReason(ledger.Planned))
	case len(es) == 0:
		t.add(FateLost, lostEntry)
	case bookStates[es[0].state] == ledger.Expired:
		t.add(FateLost, lostExpired)
	default:
		t.add(FateLost, lostRow)
	}
}

// because adds to a reason that says nothing what else is known of the document and its prober.
func (c *counter) because(reason string, state ledger.State, source string, slot time.Time, assignment string) string {
	if reason != noReason(state) {
		return reason
	}
	if why := c.refused[assignment]; why != "" {
		return why
	}
	if p := c.probers[source]; p != nil {
		if why := p.silence(slot); why != "" {
			return reason + "; " + why
		}
	}
	return reason
}
