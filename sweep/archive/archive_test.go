package archive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

var slot0 = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)

// newStore opens a store of an environment of its own, with its containers.
func newStore(t testing.TB) *Store {
	t.Helper()
	a, env := azuritetest.Environment(t)
	s, err := Open(a, env)
	must(t, err)
	must(t, s.Ensure(background(t)))
	return s
}

func background(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func idOf(env, source string) string {
	return wire.AssignmentID(env, slot0, source, "tcp-64", 0)
}

// results are the results of an assignment to several targets, n samples each, about one in
// ten of them lost and some not sent. The last target was not measured at all. The numbers are
// always the same.
func results(env string, n int) []result.Result {
	rnd := rand.New(rand.NewPCG(1, 2))
	var out []result.Result
	for i, target := range []string{"northeurope", "eastus", "southeastasia", "brazilsouth"} {
		series := wire.Series{Environment: env, Source: "westeurope", Target: target, Path: "public", Probe: "tcp-64"}
		run := wire.Run{Target: target, Path: "public", Kind: wire.KindTCP, PlannedStart: slot0.Add(5 * time.Second)}
		if target != "brazilsouth" {
			start := run.PlannedStart.Add(1234567 * time.Nanosecond)
			run.Start = &start
		}
		s := &run.Samples
		for j := range n {
			due, sent, rtt, server, failure := int64(j)*20_000_000+int64(i), wire.Null, wire.Null, wire.Null, wire.FailureCanceled
			if roll := rnd.IntN(20); run.Start != nil && roll > 0 {
				sent, failure = due+rnd.Int64N(100_000), wire.FailureTimeout
				if roll > 1 {
					rtt, server, failure = 10_000_000*int64(i+1)+rnd.Int64N(5_000_000), rnd.Int64N(90_000), ""
				}
			}
			s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(j)), append(s.DueNS, due), append(s.SentNS, sent)
			s.RTTNS, s.ServerNS, s.Failure = append(s.RTTNS, rtt), append(s.ServerNS, server), append(s.Failure, failure)
		}
		out = append(out, result.Result{Series: series, Slot: slot0, Assignment: idOf(env, "westeurope"), Run: run})
	}
	return out
}

func TestAnInvalidEnvironmentIsRefused(t *testing.T) {
	a, _ := azuritetest.Environment(t)
	for _, env := range []string{"", "Prod", "p", "pro-d", "../prod"} {
		if _, err := Open(a, env); err == nil {
			t.Errorf("environment %q was accepted", env)
		}
	}
}

func TestEnsureMayBeRepeated(t *testing.T) {
	s := newStore(t)
	must(t, s.Ensure(background(t)))
}

func TestReadingWhatDoesNotExistIsNotFound(t *testing.T) {
	a, env := azuritetest.Environment(t)
	bare, err := Open(a, env) // no containers
	must(t, err)
	for name, s := range map[string]*Store{"no containers": bare, "empty": newStore(t)} {
		t.Run(name, func(t *testing.T) {
			ctx := background(t)
			check := func(what string, found bool, err error) {
				if found || err != nil {
					t.Errorf("%s: found %v, %v", what, found, err)
				}
			}
			_, found, err := s.Config(ctx)
			check("configuration", found, err)
			_, found, err = s.PinnedConfig(ctx, fmt.Sprintf("%064x", 1))
			check("pinned configuration", found, err)
			_, found, err = s.ReadPlan(ctx, slot0)
			check("plan", found, err)
			body, etag, err := s.ReadCurrent(ctx, "westeurope")
			check("assignments", body != nil || etag != "", err)
			_, found, err = s.ReadDocument(ctx, s.rawContainer()+"/documents/v=1/src=x/y.json.gz")
			check("document", found, err)
			_, found, err = s.ReadSamples(ctx, s.rawContainer()+"/samples/v=1/src=x/y.parquet")
			check("samples", found, err)
			registered, err := s.Registrations(ctx)
			check("registrations", len(registered) > 0, err)
			n, err := s.InboxSize(ctx)
			check("inbox", n > 0, err)
			n, err = s.Count(ctx, Samples, slot0)
			check("count", n > 0, err)
			_, _, taken, err := s.Take(ctx, Item{Name: "westeurope/x.json.gz", ETag: `"0x8D"`})
			check("taking", taken, err)
			check("removing", false, s.Remove(ctx, Item{Name: "westeurope/x.json.gz", ETag: `"0x8D"`}))
		})
	}
}

func TestAnotherEnvironmentIsRefusedAndNothingWritten(t *testing.T) {
	s, ctx := newStore(t), background(t)
	mine, theirs := results(s.environment, 3), results("prod", 3)
	for name, write := range map[string]func() error{
		"plan": func() error {
			_, err := s.CreatePlan(ctx, slot0, []byte(`{"version":1,"environment":"prod"}`))
			return err
		},
		"assignments": func() error {
			_, err := s.WriteCurrent(ctx, "westeurope", []byte(`{"version":1,"environment":"prod"}`), "")
			return err
		},
		"samples": func() error {
			_, _, err := s.PutSamples(ctx, "westeurope", slot0, idOf(s.environment, "westeurope"), append(mine, theirs[0]))
			return err
		},
		"samples of another source": func() error {
			_, _, err := s.PutSamples(ctx, "eastus", slot0, idOf(s.environment, "eastus"), mine)
			return err
		},
		"document read": func() error { _, _, err := s.ReadDocument(ctx, "raw-prod/documents/v=1/x.json.gz"); return err },
		"document read upwards": func() error {
			_, _, err := s.ReadDocument(ctx, s.rawContainer()+"/documents/../../raw-prod/x.json.gz")
			return err
		},
		"samples read": func() error { _, _, err := s.ReadSamples(ctx, "raw-prod/samples/v=1/x.parquet"); return err },
		"document as samples": func() error {
			_, _, err := s.ReadSamples(ctx, s.rawContainer()+"/documents/v=1/x.parquet")
			return err
		},
	} {
		if err := write(); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	for _, container := range []string{s.rawContainer(), wire.AssignmentsContainer(s.environment)} {
		for b, err := range s.list(ctx, container, "", false) {
			must(t, err)
			t.Errorf("%s/%s was written", container, *b.Name)
		}
	}
}

func TestNamesThatCannotBeAreRefused(t *testing.T) {
	s, ctx := newStore(t), background(t)
	id := idOf(s.environment, "westeurope")
	for name, write := range map[string]func() error{
		"source":     func() error { _, _, err := s.PutDocument(ctx, "../x", slot0, id, nil); return err },
		"assignment": func() error { _, _, err := s.PutDocument(ctx, "westeurope", slot0, "x", nil); return err },
		"slot":       func() error { _, _, err := s.PutDocument(ctx, "westeurope", time.Time{}, id, nil); return err },
		"plan's slot": func() error {
			_, err := s.CreatePlan(ctx, slot0.Add(time.Second), nil)
			return err
		},
		"prober":    func() error { _, err := s.WriteCurrent(ctx, "_sweeps", nil, ""); return err },
		"hash":      func() error { _, _, err := s.PinnedConfig(ctx, "../sweep"); return err },
		"sum":       func() error { _, err := s.PutForeign(ctx, slot0, "x", "json", nil, nil); return err },
		"extension": func() error { _, err := s.PutForeign(ctx, slot0, fmt.Sprintf("%064x", 1), "a/b", nil, nil); return err },
		"extension of the reason": func() error {
			_, err := s.Quarantine(ctx, slot0, "x", nil, "reason.json", Reason{})
			return err
		},
	} {
		if err := write(); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}
