// Package rounds lays pairs out in rounds in which nobody takes part twice.
package rounds

// Tournament lays out n players in rounds, by the circle method: every unordered pair of two
// players, numbered from 0, the lower first, meets exactly once, and nobody plays twice in a
// round. That takes n − 1 rounds for n even and n for n odd, the minimum: a round holds at most
// n/2 of the n(n − 1)/2 pairs, rounded down. Fewer than two players have no rounds.
func Tournament(n int) [][][2]int {
	if n < 2 {
		return nil
	}
	// One player sits in the middle, the others on a circle; each round turns the circle by a
	// place and pairs those at equal distance from the place opposite the middle. With n odd
	// nobody sits in the middle, and whoever faces it rests.
	circle := n - 1 + n%2
	rounds := make([][][2]int, circle)
	for round := range rounds {
		pairs := make([][2]int, 0, n/2)
		if n%2 == 0 {
			pairs = append(pairs, [2]int{round, n - 1})
		}
		for d := 1; d <= (circle-1)/2; d++ {
			a, b := (round+d)%circle, (round-d+circle)%circle
			pairs = append(pairs, [2]int{min(a, b), max(a, b)})
		}
		rounds[round] = pairs
	}
	return rounds
}
