package tables

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func TestProbersKeepTheLastHeartbeat(t *testing.T) {
	s, ctx := newStore(t), background(t)
	clock, now := int64(1234), time.Now().UTC().Add(-time.Hour)
	weu, neu := registration(s.environment, "westeurope", now), registration(s.environment, "northeurope", now)
	weu.Provenance.ClockErrorNS = &clock
	weu.Provenance.VMSize = "<Standard_B1s>&'"
	must(t, s.PutProbers(ctx, []wire.Registration{weu, neu}))
	later := registration(s.environment, "northeurope", now.Add(30*time.Second))
	later.Provenance.ProberVersion = "1.2.4"
	must(t, s.PutProbers(ctx, []wire.Registration{later}))
	must(t, s.PutProbers(ctx, []wire.Registration{neu, weu}))
	got, err := s.Probers(ctx)
	if d := cmp.Diff([]wire.Registration{later, weu}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// A prober whose clock is wrong for one heartbeat, or for several, is seen as it is once its clock
// is right again, and a handler that is behind cannot undo that.
func TestAHeartbeatFromTheFutureFreezesNoRow(t *testing.T) {
	now := time.Now().UTC()
	for _, ahead := range []time.Duration{time.Minute, 24 * time.Hour, 70 * 365 * 24 * time.Hour} {
		s, ctx := newStore(t), background(t)
		put := func(stored bool, heartbeat time.Time) {
			t.Helper()
			r := registration(s.environment, "westeurope", heartbeat)
			must(t, s.PutProbers(ctx, []wire.Registration{r}))
			got, err := s.Probers(ctx)
			must(t, err)
			if len(got) != 1 || got[0].Heartbeat.Equal(heartbeat) != stored {
				t.Errorf("%s ahead: after %s stored is %+v", ahead, heartbeat, got)
			}
		}
		put(true, now.Add(-time.Minute))
		put(true, now.Add(ahead))
		put(true, now.Add(ahead+30*time.Second))
		put(true, now.Add(ahead-10*time.Second)) // set back, but not far enough
		put(true, now.Add(-30*time.Second))
		put(false, now.Add(-time.Minute))
		put(true, now)
	}
}
