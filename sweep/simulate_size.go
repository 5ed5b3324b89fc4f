package main

import (
	"bytes"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/simulate"
	"isochrone/sweep/tables"
)

// What the emulator takes on two cores (docs/simulate.md): documents stored with their rows, hours made, documents compacted.
const (
	documentsPerS = 95.0
	hoursPerS     = 600.0
	compactedPerS = 150.0
)

// historySize is how much a history is, before it is made.
type historySize struct {
	Environment string    `json:"environment"`
	Simulated   bool      `json:"simulated"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
	Slots       int       `json:"slots"`
	Documents   int       `json:"documents"`
	Rows        int       `json:"rows"`
	Samples     int64     `json:"samples"`
	Blobs       int       `json:"blobs"`
	// BlobBytes and RowBytes are about: each probe's first document stands for all of its.
	BlobBytes int64   `json:"blob_bytes"`
	RowBytes  int64   `json:"row_bytes"`
	Seconds   float64 `json:"seconds"`
}

// measure counts what a history comes to.
func (c *simulating) measure() (*historySize, error) {
	m := c.model
	out := &historySize{Environment: m.Environment, Simulated: true, Since: m.Since, Until: m.Until}
	type each struct{ blob, row int64 }
	known := map[string]each{}
	for _, s := range simulate.Slots(c.config.Config, m.Since, m.Until) {
		out.Slots++
		out.Blobs++ // the plan
		var examples []simulate.Example
		for i := range s.Probes {
			p := &s.Probes[i]
			if _, ok := known[p.Name]; ok || examples != nil {
				continue
			}
			var err error
			if examples, err = m.Examples(c.config.Config, s); err != nil {
				return nil, err
			}
		}
		for _, e := range examples {
			samples, _, err := archive.EncodeSamples(e.Results)
			if err != nil {
				return nil, err
			}
			row, err := tables.Encode(&e.Results[0])
			if err != nil {
				return nil, err
			}
			runs := int64(len(e.Results))
			known[e.Probe] = each{(int64(len(e.Body)) + int64(len(samples))) / runs, int64(len(row))}
		}
		for i := range s.Probes {
			p := &s.Probes[i]
			pairs := c.config.Config.Pairs(p)
			runs, documents := len(pairs), map[string]int{}
			most := min(wire.MaxRuns, max(wire.MaxSamples/max(p.Spec.Count, 1), 1))
			for _, pair := range pairs {
				documents[pair.Source]++
			}
			for _, n := range documents {
				if p.Spec.Kind.IsBulk() { // a document a run, and the intervals
					out.Documents += n
					out.Blobs += 3 * n
					continue
				}
				parts := (n + most - 1) / most
				out.Documents += parts
				out.Blobs += 2 * parts
			}
			out.Rows += runs
			out.Samples += int64(runs) * int64(p.Spec.Count)
			out.BlobBytes += int64(runs) * known[p.Name].blob
			out.RowBytes += int64(runs) * known[p.Name].row
		}
	}
	out.Seconds = float64(out.Documents) / documentsPerS
	if !c.noRollup {
		out.Seconds += float64(out.Rows) / hoursPerS
	}
	if !c.noCompact {
		out.Seconds += float64(out.Documents) / compactedPerS
	}
	return out, nil
}

func (h *historySize) answer() answer {
	return answer{object: h, records: []historySize{*h}, text: func(w *bytes.Buffer, _ style) {
		fmt.Fprintf(w, "simulated history of environment %s from %s to %s would be\n", h.Environment, stamp(h.Since), stamp(h.Until))
		fmt.Fprintf(w, "n = %s: %s, %s of %s samples, %s\n", plural(h.Slots, "sweep", "sweeps"), plural(h.Documents, "document", "documents"), plural(h.Rows, "row", "rows"),
			count(h.Samples), plural(h.Blobs, "blob", "blobs"))
		fmt.Fprintf(w, "about %s of blobs and %s of rows; some %.0f s on the emulator\n", megabytes(h.BlobBytes), megabytes(h.RowBytes), h.Seconds)
		fmt.Fprintln(w, "nothing was stored: without --dry-run it is")
	}}
}
