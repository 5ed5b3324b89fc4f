package stack_test

import (
	"bytes"
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/stack"
)

// Storage hangs while the probers measure; one of them is killed with its documents, and started
// again when storage is back. The sweep becomes complete, and has each run once.
func TestAProberKilledDuringAnOutageOfStorageLosesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	config := testConfig("sp", fiveRegions[:3], 40*time.Second, 60*time.Second)
	config = bytes.Replace(config, []byte("lead: 3s"), []byte("lead: 15s"), 1)      // time to stop storage before a run begins
	s := start(t, config, func(o *stack.Options) { o.Heartbeat = 5 * time.Second }) // none counts as silent because the machine is busy
	awayFromTheNextMinute(t, 30*time.Second)
	counter := func(id, name string) int {
		c, err := s.Prober(id).Counters(ctx)
		if err != nil {
			t.Log(err)
		}
		return int(c[name])
	}
	all := func(name string, want int) bool {
		sum := 0
		for _, id := range fiveRegions[:3] {
			sum += counter(id, name)
		}
		return sum == want
	}
	storage := func(signal syscall.Signal) {
		if err := syscall.Kill(s.Azurite.PID(), signal); err != nil {
			t.Errorf("%s to storage: %v", signal, err)
		}
	}
	victim := fiveRegions[1]
	var outage sync.WaitGroup
	outage.Go(func() {
		// All of them: one that storage keeps from its runs has nothing to lose, and the sweep is not whole.
		for !all("isochrone_assignments_taken_total", 6) && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		storage(syscall.SIGSTOP)
		defer storage(syscall.SIGCONT)
		for !all("isochrone_assignments_finished_total", 6) && ctx.Err() == nil { // the victim answers the others' probes
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := counter(victim, "isochrone_documents_queued"); n != 2 {
			t.Errorf("%d documents wait, want 2: storage was away too late, and this test looks at nothing", n)
		}
		if n := counter(victim, "isochrone_documents_unsaved"); n != 0 {
			t.Errorf("%d documents are not on the disk", n)
		}
		s.Prober(victim).Kill()
		if err := s.StartProber(victim); err != nil {
			t.Error(err)
		}
		for end := time.Now().Add(30 * time.Second); counter(victim, "isochrone_documents_queued") != 2; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Error("the new process has not found two documents")
				return
			}
		}
	})
	outcome, err := s.Sweep(ctx, nil)
	outage.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Planned != 12 || outcome.Rows != 12 || outcome.Failed != 0 {
		t.Errorf("the sweep came to %+v; want 12 planned runs with a result", outcome)
	}
	waitUntil(t, 30*time.Second, "nothing waits and the inbox is empty", func() bool {
		return all("isochrone_documents_queued", 0) && len(blobs(t, s, "inbox-sp", "")) == 0
	})
	for prefix, want := range map[string]int{"documents/": 6, "samples/": 6} {
		if n := len(blobs(t, s, "raw-sp", prefix)); n != want {
			t.Errorf("%d blobs in raw-sp/%s, want %d", n, prefix, want)
		}
	}
	if n := len(blobs(t, s, "quarantine-sp", "")); n != 0 {
		t.Errorf("%d documents are in quarantine", n)
	}
}
