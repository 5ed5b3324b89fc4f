package rounds

import (
	"fmt"
	"testing"
)

func TestTournamentMeetsEveryPairOnceInTheFewestRounds(t *testing.T) {
	for n := 2; n <= 61; n++ {
		rounds := Tournament(n)
		fewest := n - 1 + n%2
		if len(rounds) != fewest {
			t.Errorf("n = %d: %d rounds, want %d", n, len(rounds), fewest)
		}
		met := map[[2]int]int{}
		for i, round := range rounds {
			busy := map[int]bool{}
			if len(round) != n/2 {
				t.Errorf("n = %d, round %d: %d pairs, want %d", n, i, len(round), n/2)
			}
			for _, pair := range round {
				if pair[0] < 0 || pair[0] >= pair[1] || pair[1] >= n {
					t.Fatalf("n = %d, round %d: pair %v", n, i, pair)
				}
				if busy[pair[0]] || busy[pair[1]] {
					t.Errorf("n = %d, round %d: somebody of %v plays twice", n, i, pair)
				}
				busy[pair[0]], busy[pair[1]] = true, true
				met[pair]++
			}
		}
		for a := range n {
			for b := a + 1; b < n; b++ {
				if met[[2]int{a, b}] != 1 {
					t.Errorf("n = %d: %d and %d meet %d times", n, a, b, met[[2]int{a, b}])
				}
			}
		}
	}
}

func TestTournamentOfFourIsWrittenOut(t *testing.T) {
	const want = "[[[0 3] [1 2]] [[1 3] [0 2]] [[2 3] [0 1]]]"
	if got := fmt.Sprint(Tournament(4)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTournamentWithoutOpponentsHasNoRounds(t *testing.T) {
	for _, n := range []int{-1, 0, 1} {
		if rounds := Tournament(n); len(rounds) != 0 {
			t.Errorf("n = %d: %v", n, rounds)
		}
	}
}
