package answers

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// month is a month of sweeps of n probers in one region, made up as it is read.
type month struct {
	*covered
	ids   []string
	since time.Time
	slots int
	peak  uint64 // of the heap, while rows are read
}

func (m *month) Entries(_ context.Context, _ string, since, until time.Time) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for i := range m.slots {
			for _, id := range m.ids {
				e := entry(id, "tcp-64", ledger.Received, len(m.ids)-1, "")
				if e.Slot = m.since.Add(time.Duration(i) * 10 * time.Minute); !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (m *month) Outcomes(context.Context, tables.RunQuery) iter.Seq2[tables.Row, error] {
	return func(yield func(tables.Row, error) bool) {
		n := 0
		for _, source := range m.ids {
			for _, target := range m.ids {
				if source == target {
					continue
				}
				for i := range m.slots {
					at := m.since.Add(time.Duration(m.slots-1-i) * 10 * time.Minute)
					if n++; n%40_000 == 0 {
						runtime.GC()
						var s runtime.MemStats
						runtime.ReadMemStats(&s)
						m.peak = max(m.peak, s.HeapAlloc)
					}
					if !yield(tables.Row{Series: series(source, target, "public", "tcp-64"), Slot: at}, nil) {
						return
					}
				}
			}
		}
	}
}

// A month of 10 probers has 388,800 rows. What is kept of it is the slots, an entry an assignment and the
// counts of the answer.
func TestCoverageOfAMonthIsCountedAsItIsRead(t *testing.T) {
	m := &month{covered: newCovered(), since: now.Add(-31 * 24 * time.Hour).Truncate(24 * time.Hour), slots: 30 * 144}
	text := "version: 1\nenvironment: dev\nprobers:\n"
	for i := range 10 {
		m.ids = append(m.ids, fmt.Sprintf("westeurope-%02d", i))
		text += fmt.Sprintf("  - {id: westeurope-%02d, region: westeurope, addresses: {public: [20.50.%d.0/24]}}\n", i, i)
	}
	slices.Sort(m.ids)
	text += threeRegions[strings.Index(threeRegions, "probes:"):strings.Index(threeRegions, "  - name: handshake")]
	m.pinned[Hash([]byte(text))] = []byte(text)
	for i := range m.slots {
		m.headers = append(m.headers, ledger.Header{Slot: m.since.Add(time.Duration(m.slots-1-i) * 10 * time.Minute), State: ledger.Complete, ConfigHash: Hash([]byte(text))})
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	before := s.HeapAlloc
	c, err := ReadCoverage(t.Context(), m, m, "dev", CoverageQuery{Since: m.since, Until: m.since.Add(30 * 24 * time.Hour), ByDay: true}, now)
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for i := range c.Rows {
		if measured += c.Rows[i].Measured; !c.Rows[i].AddsUp() || len(c.Rows[i].Why) != 0 {
			t.Fatalf("%+v", c.Rows[i])
		}
	}
	if want := 10 * 9 * m.slots; measured != want || len(c.Rows) != 10*30 {
		t.Errorf("%d measured of %d, %d rows", measured, want, len(c.Rows))
	}
	if grown := int64(m.peak) - int64(before); grown > 12<<20 || m.peak == 0 {
		t.Errorf("the heap grew by %d KiB, want 12 MiB at the most", grown>>10)
	} else {
		t.Logf("%d rows, the heap grew by %d KiB", measured, grown>>10)
	}
}
