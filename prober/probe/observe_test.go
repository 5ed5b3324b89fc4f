package probe

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// Who watches a connect run is told of every connection, and of every one that did not come about.
func TestWhoWatchesIsToldOfRepliesAndFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	watch := func() map[int]Reply {
		var mu sync.Mutex
		told := map[int]Reply{}
		now := time.Now()
		New(NewPacer(1)).Make(context.Background(), Request{
			Target: "target", Path: "public", Address: listener.Addr().String(), First: now, PlannedStart: now, Deadline: now.Add(time.Minute),
			Spec: wire.Spec{Kind: wire.KindConnect, Count: 3, Warmup: 1, Interval: 10 * time.Millisecond, Timeout: 10 * time.Second},
			Observe: func(r Reply) {
				mu.Lock()
				defer mu.Unlock()
				told[r.Sequence] = r
			},
		})
		return told
	}
	replies := watch()
	for i := -1; i < 3; i++ {
		if r, ok := replies[i]; !ok || r.RTT <= 0 || r.Failure != "" || r.Late || r.Duplicate {
			t.Errorf("sample %d: told %+v", i, r)
		}
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	failures := watch()
	for i := -1; i < 3; i++ {
		if r, ok := failures[i]; !ok || r.RTT != 0 || r.Failure != wire.FailureRefused {
			t.Errorf("sample %d at a closed port: told %+v", i, r)
		}
	}
}
