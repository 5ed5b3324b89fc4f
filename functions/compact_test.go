package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/result"
)

// The whole way on real storage: an assignment of yesterday, its samples and its mark, the timer, and its
// lake file; and then nothing more.
func TestCompactMakesTheLakeOfWhatIsStored(t *testing.T) {
	s := onStorage(t)
	slot := time.Now().UTC().Truncate(24 * time.Hour).Add(-26 * time.Hour)
	series := wire.Series{Environment: s.environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
	run := wire.Run{Target: series.Target, Path: series.Path, Kind: wire.KindTCP, PlannedStart: slot.Add(5 * time.Second)}
	run.Samples = wire.Samples{Sequence: []int64{0, 1}, DueNS: []int64{0, 1000}, SentNS: wire.Column{wire.Null, wire.Null}, RTTNS: wire.Column{wire.Null, wire.Null},
		Failure: []wire.Failure{wire.FailureTargetDown, wire.FailureTargetDown}}
	rs := []result.Result{{Series: series, Slot: slot, Assignment: wire.AssignmentID(s.environment, slot, series.Source, series.Probe, 0), Run: run}}
	if err := s.blobs.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.blobs.PutSamples(t.Context(), series.Source, slot, rs[0].Assignment, rs); err != nil {
		t.Fatal(err)
	}
	if err := s.rows.MarkDirty(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"written":1,"rows":2`, `"days":0,"written":0`} {
		if w := post(s.app, "/Compact", `{"Data":{"timer":{}}}`); w.Code != http.StatusOK || !strings.Contains(s.log.String(), want) {
			t.Fatalf("answered %d %s: %s", w.Code, w.Body, s.log)
		}
	}
	files, err := s.blobs.LakeSamples(t.Context(), archive.SourceDay{Source: series.Source, Day: slot.Truncate(24 * time.Hour)})
	if err != nil || len(files) != 1 || files[0].Label != series.Probe {
		t.Errorf("lake files %+v, %v", files, err)
	}
}

func TestTheCompactTimerCompactsAndSaysWhatFailed(t *testing.T) {
	for _, failure := range []error{nil, errors.New("storage is away")} {
		f := &fakeCompactor{err: failure}
		a, log := faked(t, &fake{}, time.Now())
		a.compactor = func(context.Context, *slog.Logger) (compactor, error) { return f, nil }
		w := post(a, "/Compact", `{"Data":{"timer":{}}}`)
		want := http.StatusOK
		if failure != nil {
			want = http.StatusInternalServerError
		}
		if w.Code != want || f.scope != (compact.Scope{Apply: true}) || !strings.Contains(log.String(), `"written":4`) {
			t.Errorf("answered %d, want %d; called with %+v, logged %s", w.Code, want, f.scope, log)
		}
	}
}

type fakeCompactor struct {
	scope compact.Scope
	err   error
}

func (f *fakeCompactor) Run(_ context.Context, s compact.Scope) (compact.Report, error) {
	f.scope = s
	return compact.Report{Written: 4}, f.err
}
