package ledger

import "testing"

// In the order in which each may follow; nothing goes back, and nothing is written twice.
var (
	ofHeaders = []State{"", Missed, Planned, Dispatched, Complete}
	ofEntries = []State{"", Planned, Dispatched, Expired, Received}
)

func TestStatesSupersedeOnlyForward(t *testing.T) {
	for _, states := range [][]State{ofHeaders, ofEntries} {
		for i, old := range states {
			for j, s := range states {
				if got, want := s.Supersedes(old), j > i; got != want {
					t.Errorf("%q over %q: %v, want %v", s, old, got, want)
				}
			}
		}
	}
}

func TestFinalStatesAwaitNothing(t *testing.T) {
	for s, want := range map[State]bool{"": false, Planned: false, Dispatched: false, Missed: true, Expired: true, Received: true, Complete: true} {
		if got := s.Final(); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}
