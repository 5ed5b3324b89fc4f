package simulate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"sync"

	"isochrone/prober/wire"
	"isochrone/sweep/plan"
)

// Version is what simulated documents say of their prober's version.
const Version = "simulated"

// Document is what the source of an assignment would have measured.
func (m *Model) Document(p *plan.Plan, a *plan.Assignment) (*wire.Document, error) {
	random := m.random("document", a.ID)
	bound := int64(clockError)
	d := &wire.Document{
		Version: wire.DocumentVersion, Environment: p.Environment, Slot: p.Slot, Source: a.Source, Probe: a.Probe, Part: a.Part,
		Assignment: a.ID, Attempt: fmt.Sprintf("%08x", random.Uint32()),
		Provenance: wire.Provenance{ProberVersion: Version, VMSize: Version, ClockErrorNS: &bound, Simulated: true},
		Runs:       make([]wire.Run, len(a.Runs)),
	}
	for i := range a.Runs {
		d.Runs[i] = m.run(a.Source, a, &a.Runs[i], random)
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("simulating assignment %q of %s at %s: %w", a.ID, a.Source, wire.SlotName(p.Slot), err)
	}
	return d, nil
}

// packers are used again: a gzip writer takes most of a megabyte.
var packers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one
	return z
}}

// Encode is a document as it travels: JSON, gzipped without a time stamp.
func Encode(d *wire.Document) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding a document: %w", err)
	}
	var packed bytes.Buffer
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(&packed)
	if _, err = z.Write(text); err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("packing a document: %w", err)
	}
	return packed.Bytes(), nil
}
