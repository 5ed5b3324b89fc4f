package ingest_test

import (
	"testing"
	"time"

	"isochrone/prober/wire"
)

// Documents of a sweep whose plan a newer app stored wait for that app, at no cost: the plan is
// read once a tick, whatever number of them there is.
func TestDocumentsOfAnUnreadablePlanWait(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	later := slot.Add(10 * time.Minute)
	if _, err := b.store.CreatePlan(t.Context(), later, []byte(`{"version":99}`)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range b.documents(t, "westeurope", "00000001") {
		d.Slot, d.Assignment = later, wire.AssignmentID(d.Environment, later, d.Source, d.Probe, d.Part)
		b.deliver(t, d)
		n++
	}
	b.sleep(15 * time.Minute)
	reads := 0
	b.store.Before = func(op string) {
		if op == "ReadPlan" {
			reads++
		}
	}
	g := b.ingester()
	g.Concurrency = 1
	report, err := g.Drain(t.Context())
	if err == nil || report.Left != n || report.Quarantined != 0 || reads != 1 {
		t.Errorf("report %+v, error %v, the plan was read %d times; want %d documents left, an error and one reading", report, err, reads, n)
	}
	if waiting := b.store.Waiting(); len(waiting) != n {
		t.Errorf("%d documents wait, want %d", len(waiting), n)
	}
}
