package main

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// stored is a document in raw.
type stored struct {
	name, sum string
	samples   int
}

// figures are what samples come to, however they are kept.
type figures struct {
	samples, sent, answered int
	rtt                     int64 // the sum, in ns
}

// checkRaw holds every document in raw against its Parquet file and its rows.
func (m *month) checkRaw(ctx context.Context, v *verdict, rows map[runKey]tables.Row) (map[string]stored, error) {
	out := map[string]stored{}
	parquet, err := m.parquetFiles(ctx)
	if err != nil {
		return nil, err
	}
	byDocument, lake := map[string]figures{}, map[lakeKey]figures{}
	for _, r := range rows {
		f := byDocument[r.Document]
		f.sent += r.Counts.Sent
		f.answered += r.Counts.Received
		byDocument[r.Document] = f
	}
	for day := m.start.AddDate(0, 0, -1); day.Before(m.end.AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) {
		for d, err := range m.blobs.Archived(ctx, day, "") {
			if err != nil {
				return nil, err
			}
			body, found, err := m.blobs.ReadDocument(ctx, d.Name)
			if err != nil || !found {
				return nil, fmt.Errorf("reading %q: found %t: %w", d.Name, found, err)
			}
			want, probe, err := figuresOf(body)
			if err != nil {
				return nil, fmt.Errorf("reading %q: %w", d.Name, err)
			}
			v.documents++
			v.samples += want.samples
			out[d.Assignment] = stored{d.Name, sum(body), want.samples}
			k := lakeKey{d.Source, d.Day.UTC().Format(time.DateOnly), probe}
			lake[k] = lake[k].and(want)
			if f := byDocument[d.Name]; f.sent != want.sent || f.answered != want.answered {
				v.bad(wrongCounts, 1, "%s sent %d and received %d, its rows say %d and %d", d.Name, want.sent, want.answered, f.sent, f.answered)
			}
			if _, there := parquet[d.Assignment]; !there && m.prunable(d.Day) {
				v.pruned++
				continue
			}
			got, err := m.parquetFigures(ctx, parquet[d.Assignment])
			if err != nil {
				return nil, err
			}
			delete(parquet, d.Assignment)
			if got.samples != want.samples || got.answered != want.answered || got.rtt != want.rtt {
				v.bad(wrongSamples, max(want.samples-got.samples, 1), "%s says %+v, its Parquet file %+v", d.Name, want, got)
			}
		}
	}
	for assignment, name := range parquet {
		v.bad(wrongSamples, 1, "%s has no document %s", name, assignment)
	}
	return out, m.checkLake(ctx, v, lake)
}

// parquetFiles are the files of samples in raw, by assignment.
func (m *month) parquetFiles(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for day := m.start.AddDate(0, 0, -1); day.Before(m.end.AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) {
		for b, err := range m.blobs.Blobs(ctx, archive.Samples, day) {
			if err != nil {
				return nil, err
			}
			_, assignment, _ := strings.Cut(strings.TrimSuffix(path.Base(b.Name), ".parquet"), "_")
			out[assignment] = b.Name
		}
	}
	return out, nil
}

func (m *month) parquetFigures(ctx context.Context, name string) (f figures, err error) {
	if name == "" {
		return f, nil // of a document without samples there may be no file
	}
	samples, _, err := m.blobs.ReadSamples(ctx, name)
	if err != nil {
		return f, fmt.Errorf("reading %q: %w", name, err)
	}
	f.samples = len(samples)
	for _, s := range samples {
		if s.RTTNS != nil {
			f.answered++
			f.rtt += *s.RTTNS
		}
	}
	return f, nil
}

// and adds up.
func (f figures) and(g figures) figures {
	return figures{f.samples + g.samples, f.sent + g.sent, f.answered + g.answered, f.rtt + g.rtt}
}

// figuresOf reads a document's own, and its probe.
func figuresOf(body []byte) (f figures, probe string, err error) {
	d, err := decode(body)
	if err != nil {
		return f, "", err
	}
	for i := range d.Runs {
		r := &d.Runs[i]
		f.samples += r.Samples.Len()
		f.sent += r.Counts.Sent
		for _, ns := range r.Samples.RTTNS {
			if ns != wire.Null {
				f.answered++
				f.rtt += ns
			}
		}
	}
	return f, d.Probe, nil
}

// checkJournals holds what probers finished against what is stored. A second document of an assignment, made by a process
// whose predecessor's clock was wrong, is kept in quarantine as a conflict, and nothing else is there but the
// garbage.
func (m *month) checkJournals(ctx context.Context, v *verdict, raw map[string]stored) error {
	held := map[string]string{} // by SHA-256, the stage
	for h, err := range m.blobs.Quarantined(ctx, time.Unix(0, 0), "") {
		if err != nil {
			return err
		}
		held[h.SHA256] = h.Why.Stage
	}
	for garbage := range m.garbage {
		if _, there := held[garbage]; !there {
			v.bad(wrongPlanted, 1, "%s", garbage)
		}
		delete(held, garbage)
	}
	for _, p := range m.probers {
		lines, err := readJournal(p.task.Journal)
		if err != nil {
			return err
		}
		for _, f := range lines {
			document, there := raw[f.Assignment]
			switch {
			case there && document.sum == f.SHA256:
			case there && held[f.SHA256] == "conflict":
				v.conflicts++
				delete(held, f.SHA256)
			default:
				v.bad(wrongDocuments, 1, "%s of %s is not in raw; in raw is %q, in quarantine %q", f.Name, f.Source, document.name, held[f.SHA256])
				v.bad(wrongSamples, f.Samples, "those of %s", f.Name)
			}
		}
	}
	for _, f := range m.sent { // refused by a handler whose clock was far behind, and taken when it was sent again
		if hash := sum([]byte(f.Body)); held[hash] == "too_early" {
			v.early++
			delete(held, hash)
		}
	}
	for hash, stage := range held {
		v.bad(wrongQuarantine, 1, "%s at stage %s", hash, stage)
	}
	return nil
}
