package reflect

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func openingSeeds(t testing.TB) [][]byte {
	t.Helper()
	both := throughputSpec()
	both.Bulk.Direction, both.Bulk.Streams = wire.DirectionBoth, 0
	huge := throughputSpec()
	huge.Bulk.MaxBytes = wire.MaxBulkBytes
	var seeds [][]byte
	for _, o := range []wire.Opening{
		{Role: wire.RoleControl, Spec: throughputSpec()}, {Role: wire.RoleControl, Spec: both}, {Role: wire.RoleControl, Spec: huge},
		{Role: wire.RoleUp, Spec: throughputSpec()}, {Role: wire.RoleDown, Index: 63, Spec: both}, {Role: "x", Index: -1}, {},
		{Role: wire.RoleControl, Spec: wire.Spec{Kind: wire.KindSaturate, RequestBytes: 4096, Timeout: time.Second, Bulk: wire.Bulk{MaxBytes: 1, Duration: time.Second, Outstanding: 1}}},
	} {
		var b bytes.Buffer
		if err := wire.WriteFrame(&b, o); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b.Bytes())
	}
	return seeds
}

func TestOpeningSeedsAreThere(t *testing.T) {
	if n := len(openingSeeds(t)); n != 8 {
		t.Errorf("%d seeds, want 8", n)
	}
}

// Whatever an opening says, a session that is served keeps to the limits, and has no connection twice.
func FuzzOpening(f *testing.F) {
	for _, seed := range openingSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o wire.Opening
		if wire.ReadOpening(bytes.NewReader(b), &o) != nil {
			return
		}
		d := &bulkDoor{sessions: 1, bytes: 1e9, shared: true, live: map[wire.SessionID]*bulkSession{}}
		g := &grant{moved: new(atomic.Int64), session: wire.Session{ID: wire.SessionID{1}, Kind: o.Spec.Kind, RequestBytes: o.Spec.RequestBytes, ResponseBytes: o.Spec.ResponseBytes}}
		g.deadline = time.Now().Add(time.Minute)
		ctx, cancel := context.WithDeadline(t.Context(), bulkDeadline(o.Spec, g))
		defer cancel()
		s, no := d.open(ctx, wire.Opening{Role: wire.RoleControl, Spec: o.Spec}, g)
		if (s == nil) == (no == nil) {
			t.Fatalf("%v and %v", s, no)
		}
		if s == nil {
			if no.told.Failure == "" || no.told.Failure.Validate() != nil {
				t.Errorf("refused with %+v", no.told)
			}
			return
		}
		if err := s.spec.Validate(); err != nil || !s.spec.Kind.IsBulk() || s.spec.Bulk.MaxBytes > 1e9 {
			t.Errorf("serves %+v: %v", s.spec, err)
		}
		if _, no := d.join(o, g); no == nil {
			if o.Role == wire.RoleControl || o.Index < 0 || o.Index >= wire.MaxOutstanding {
				t.Errorf("connection %d of role %q is served", o.Index, o.Role)
			}
			if _, no := d.join(o, g); no == nil {
				t.Error("a connection is there twice")
			}
		}
	})
}
