package probe

import (
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// The widest level that there may be is within what a reflector bears.
func TestTheWidestLevelIsServed(t *testing.T) {
	address, _ := bulkReflector(t)
	const size = 256
	req := bulkRequest(t, address, saturateSpec(size, 50, wire.MaxOutstanding, 500*time.Millisecond))
	link, err := newTestProber().openBulk(t.Context(), req, mustAddress(t, address))
	if err != nil {
		t.Fatal(err)
	}
	defer link.close()
	s := newSaturation(req, link)
	if err := s.widen(t.Context(), wire.MaxOutstanding); err != nil {
		t.Fatal(err)
	}
	s.begin = socket.Now()
	s.hold(t.Context(), wire.MaxOutstanding)
	if err := s.failure(); err != nil || len(s.levels) != 1 || s.levels[0].Requests < wire.MaxOutstanding {
		t.Fatalf("%v, %+v", err, s.levels)
	}
	if under := int(s.answered()) - s.levels[0].Requests; under < 0 || under > wire.MaxOutstanding {
		t.Errorf("%d requests were answered after the level's end, of at most %d under way", under, wire.MaxOutstanding)
	}
}
