package rounds

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// check returns the largest number of pairs that anybody is in, and complains of rounds that are not
// right.
func check(t *testing.T, name string, pairs []Pair, rounds [][]Pair) {
	t.Helper()
	met := map[Pair]int{}
	for i, round := range rounds {
		busy := map[int]bool{}
		if len(round) == 0 {
			t.Errorf("%s: round %d is empty", name, i)
		}
		for _, p := range round {
			if busy[p.Source] || busy[p.Target] {
				t.Fatalf("%s: round %d has somebody of %v twice", name, i, p)
			}
			busy[p.Source], busy[p.Target] = true, true
			met[p]++
		}
	}
	if len(met) != len(pairs) {
		t.Fatalf("%s: %d pairs meet, want %d", name, len(met), len(pairs))
	}
	for _, p := range pairs {
		if met[p] != 1 {
			t.Fatalf("%s: %v meets %d times", name, p, met[p])
		}
	}
}

func mesh(n int) (out []Pair) {
	for a := range n {
		for b := range n {
			if a != b {
				out = append(out, Pair{a, b})
			}
		}
	}
	return out
}

func TestEveryoneWithEveryoneTakesTheFewestRoundsADirection(t *testing.T) {
	for n := 2; n <= 61; n++ {
		rounds := Of(mesh(n))
		check(t, fmt.Sprint(n), mesh(n), rounds)
		if want := 2 * (n - 1 + n%2); len(rounds) != want {
			t.Errorf("%d: %d rounds, want %d", n, len(rounds), want)
		}
		for i, round := range rounds {
			for _, p := range round {
				if (p.Source < p.Target) != (i < len(rounds)/2) {
					t.Fatalf("%d: round %d of %d has %v: the directions have rounds of their own", n, i, len(rounds), p)
				}
			}
		}
	}
}

// König: where no source is a target, the busiest decides.
func TestSourcesThatAreNoTargetsTakeAsManyRoundsAsTheBusiestHasPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for try := range 300 {
		sources, targets := 1+random.IntN(30), 1+random.IntN(31)
		var pairs []Pair
		degree := map[int]int{}
		part := 1 + random.IntN(10) // tenths of all
		for _, i := range random.Perm(sources * targets) {
			if random.IntN(10) >= part {
				continue
			}
			// Odd numbers measure even ones, so that neither side has the lower.
			p := Pair{2*(i/targets) + 1, 2 * (i % targets)}
			pairs = append(pairs, p)
			degree[p.Source]++
			degree[p.Target]++
		}
		most := 0
		for _, d := range degree {
			most = max(most, d)
		}
		rounds := Of(pairs)
		check(t, fmt.Sprint(try), pairs, rounds)
		if len(rounds) != most {
			t.Errorf("try %d: %d rounds, want %d", try, len(rounds), most)
		}
	}
}

// Vizing: at most one more than the busiest has pairs in a direction; and never more than everyone with
// everyone takes.
func TestOtherPairsTakeAtMostOneRoundMore(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for try := range 300 {
		n := 3 + random.IntN(59)
		part := 1 + random.IntN(100)
		pairs := slices.DeleteFunc(mesh(n), func(Pair) bool { return random.IntN(100) >= part })
		var directions [2]map[int]int
		asked := map[Pair]bool{}
		for _, p := range pairs {
			asked[p] = true
		}
		directions[0], directions[1] = map[int]int{}, map[int]int{}
		for _, p := range pairs {
			d := 0
			if p.Source > p.Target && asked[Pair{p.Target, p.Source}] {
				d = 1
			}
			directions[d][p.Source]++
			directions[d][p.Target]++
		}
		most := 0
		for _, d := range directions {
			busiest := 0
			for _, k := range d {
				busiest = max(busiest, k)
			}
			if busiest > 0 {
				most += min(busiest+1, n-1+n%2)
			}
		}
		rounds := Of(pairs)
		check(t, fmt.Sprint(try), pairs, rounds)
		if len(rounds) > most {
			t.Errorf("try %d: %d rounds of %d pairs between %d, want at most %d", try, len(rounds), len(pairs), n, most)
		}
	}
}

func TestTheOrderOfThePairsDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	pairs := slices.DeleteFunc(mesh(17), func(Pair) bool { return random.IntN(3) == 0 })
	want := fmt.Sprint(Of(pairs))
	for range 20 {
		random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		if got := fmt.Sprint(Of(pairs)); got != want {
			t.Fatalf("got %s, then %s", want, got)
		}
	}
}

func TestTargetsThatBearManyOccupyTheirSourcesAlone(t *testing.T) {
	got := fmt.Sprint(ToMany([]Pair{{2, 11}, {1, 10}, {1, 11}, {2, 10}, {3, 11}, {1, 12}}))
	if want := "[[{1 10} {2 10} {3 11}] [{1 11} {2 11}] [{1 12}]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Of(nil); len(got) != 0 {
		t.Errorf("no pairs: %v", got)
	}
}
