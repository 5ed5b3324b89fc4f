package stamp

import "testing"

func TestLossIsToldByDirection(t *testing.T) {
	for _, c := range []struct {
		name             string
		a, b             Pair
		received         uint32
		forward, reverse uint32
		ok               bool
	}{
		{"nothing lost", Pair{0, 0}, Pair{10, 10}, 10, 0, 0, true},
		{"three on the way out, two on the way back", Pair{5, 100}, Pair{15, 107}, 5, 3, 2, true},
		{"both counts wrap", Pair{0xfffffffe, 0xffffffff}, Pair{4, 3}, 2, 2, 2, true},
		{"the reflector counts from anywhere", Pair{0, 77}, Pair{1, 78}, 1, 0, 0, true},
		{"the same reply", Pair{3, 3}, Pair{3, 3}, 0, 0, 0, true},
		{"a copy on the way out", Pair{5, 5}, Pair{6, 7}, 2, 0, 0, false},
		{"a copy on the way back", Pair{5, 5}, Pair{6, 6}, 2, 0, 0, false},
		{"the reflector began anew", Pair{5, 5}, Pair{9, 0}, 1, 0, 0, false},
		{"the earlier last", Pair{6, 6}, Pair{5, 5}, 1, 0, 0, false},
	} {
		forward, reverse, ok := Lost(c.a, c.b, c.received)
		if forward != c.forward || reverse != c.reverse || ok != c.ok {
			t.Errorf("%s: %d, %d, %v; want %d, %d, %v", c.name, forward, reverse, ok, c.forward, c.reverse, c.ok)
		}
	}
}

func TestSequencesWrapInPackets(t *testing.T) {
	b := make([]byte, AuthenticatedBytes)
	var sequence uint32 = 0xfffffffe
	for _, want := range []uint32{0xfffffffe, 0xffffffff, 0, 1} {
		PutReply(b, Authenticated, ReplyTo(Request{Sequence: sequence}, 1))
		if r, _ := ParseReply(b, Authenticated); r.Sequence != want || r.SenderSequence != want {
			t.Errorf("sequences %d and %d, want %d", r.Sequence, r.SenderSequence, want)
		}
		sequence++
	}
}
