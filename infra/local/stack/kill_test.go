package stack_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
)

// A moment of a sweep at which the handler is killed: as soon as reached says so.
type moment struct {
	name    string
	reached func(*stored) bool
}

// stored is what can be seen of a sweep in storage.
type stored struct {
	t    *testing.T
	s    *stack.Stack
	slot time.Time
	env  string
}

func (v *stored) blobs(container, prefix string) int {
	return len(blobs(v.t, v.s, container+v.env, prefix))
}

// told counts the probers that have been told of their assignments.
func (v *stored) told() int {
	n := 0
	for _, p := range v.s.Config.Probers {
		if body, _, err := v.s.Archive.ReadCurrent(v.t.Context(), p.ID); err == nil && body != nil {
			n++
		}
	}
	return n
}

func (v *stored) received() (n int) {
	_, entries, _, err := v.s.Tables.Sweep(v.t.Context(), v.slot)
	if err != nil {
		v.t.Error(err)
	}
	for _, e := range entries {
		if e.State == ledger.Received {
			n++
		}
	}
	return n
}

var moments = []moment{
	{"at once", func(*stored) bool { return true }},
	{"the slot is marked open", func(v *stored) bool {
		open, err := v.s.Tables.OpenSweeps(v.t.Context())
		return err == nil && len(open) > 0
	}},
	{"the plan is stored", func(v *stored) bool { return v.blobs("assignments-", "_sweeps/") > 0 }},
	{"the ledger has a header", func(v *stored) bool {
		_, _, found, err := v.s.Tables.Sweep(v.t.Context(), v.slot)
		return err == nil && found
	}},
	{"the first prober is told", func(v *stored) bool { return v.told() > 0 }},
	{"all probers are told", func(v *stored) bool { return v.told() == len(v.s.Config.Probers) }},
	{"the first document lies in the inbox", func(v *stored) bool { return v.blobs("inbox-", "") > 0 }},
	{"the first document is archived", func(v *stored) bool { return v.blobs("raw-", "documents/") > 0 }},
	{"the first samples are archived", func(v *stored) bool { return v.blobs("raw-", "samples/") > 0 }},
	{"half of the documents are converted", func(v *stored) bool { return v.received() >= 3 }},
}

// Each of ten stacks has its handler killed (SIGKILL) at a moment of its own. The host starts the
// handler again, and the ticks that follow finish the sweep. The stacks share a storage emulator
// and run side by side, five at a time.
func TestHandlerKilledAtAnyOfTenMomentsLosesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shared, err := azurite.Start(ctx, azurite.Options{Root: built.root, Location: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Stop(); err != nil {
			t.Error(err)
		}
	})
	for some := range slices.Chunk(moments, 5) {
		t.Run(some[0].name+" and later", func(t *testing.T) {
			views := make([]*stored, len(some))
			for i, m := range some {
				env := fmt.Sprintf("k%d", slices.IndexFunc(moments, func(o moment) bool { return o.name == m.name }))
				s := start(t, testConfig(env, fiveRegions[:3], 40*time.Second, 30*time.Second), func(o *stack.Options) { o.Azurite = shared })
				views[i] = &stored{t: t, s: s, env: env}
			}
			awayFromTheNextMinute(t, 20*time.Second)
			var wait sync.WaitGroup
			for i, m := range some {
				views[i].slot = wire.Slot(time.Now())
				wait.Go(func() { killDuringSweep(t, views[i], m) })
			}
			wait.Wait()
		})
	}
}

func killDuringSweep(t *testing.T, v *stored, m moment) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	pid := v.s.Host.HandlerPID()
	var killer sync.WaitGroup
	killer.Go(func() {
		for !m.reached(v) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("%s: killing the handler: %v", m.name, err)
		}
		t.Logf("killed when %s: %d plans, %d probers told, %d documents archived, %d assignments received", m.name,
			v.blobs("assignments-", "_sweeps/"), v.told(), v.blobs("raw-", "documents/"), v.received())
		v.askAgain(ctx)
	})
	outcome, err := v.s.Sweep(ctx, nil)
	killer.Wait()
	if err != nil {
		t.Errorf("killed when %s: %v", m.name, err)
		return
	}
	if outcome.Planned != 12 || outcome.Rows != 12 || outcome.Failed != 0 {
		t.Errorf("killed when %s: the sweep came to %+v; want 12 planned runs with a result", m.name, outcome)
	}
	for _, series := range rows(t, v.s, outcome.Slot) {
		for name, r := range series {
			if r.Failure != "" {
				t.Errorf("killed when %s: %s is %s (%s)", m.name, name, r.Failure, r.Detail)
			}
		}
	}
	for _, want := range []struct {
		container, prefix string
		n                 int
	}{{"raw-", "documents/", 6}, {"raw-", "samples/", 6}, {"quarantine-", "", 0}, {"assignments-", "_sweeps/", 1}} {
		if n := v.blobs(want.container, want.prefix); n != want.n {
			t.Errorf("killed when %s: %d blobs in %s%s/%s, want %d", m.name, n, want.container, v.env, want.prefix, want.n)
		}
	}
	waitUntil(t, 30*time.Second, "the inbox is empty", func() bool { return v.blobs("inbox-", "") == 0 })
	if pid == v.s.Host.HandlerPID() {
		t.Errorf("killed when %s: the handler still has pid %d", m.name, pid)
	}
}

// askAgain does what the host's next tick would: a handler that died before it marked the slot
// has left nothing to go on from.
func (v *stored) askAgain(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
		_, _, found, err := v.s.Tables.Sweep(ctx, v.slot)
		if found || err != nil {
			return
		}
		v.t.Log("nothing was planned: asking again")
		if err := v.s.Host.Fire(ctx, "Sweep"); err != nil {
			v.t.Error(err)
		}
		v.slot = wire.Slot(time.Now())
	}
}
