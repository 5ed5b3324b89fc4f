package rounds

import (
	"cmp"
	"slices"
)

// Pair is a run from a source to a target, both numbered.
type Pair struct{ Source, Target int }

func compare(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
}

// Of lays out pairs, each of which is there once, in rounds: every pair is in exactly one, and
// nobody is in two pairs of a round. Where both directions of a pair are asked for, each has rounds
// of its own, first the one from the lower number to the higher. The same pairs in any order give
// the same rounds.
//
// The rounds of a direction are as few as can be for everyone with everyone (Tournament), and
// where no source is a target or, more generally, the probers fall into two groups without a
// pair inside one: as many as the busiest has pairs (König's theorem). Otherwise they are at most one
// more than that (Vizing's theorem, by the algorithm of Misra and Gries, 1992), or those of the
// tournament of all if these are fewer.
func Of(pairs []Pair) [][]Pair {
	asked := make(map[Pair]bool, len(pairs))
	for _, p := range pairs {
		asked[p] = true
	}
	var there, back []Pair
	for _, p := range slices.SortedFunc(slices.Values(pairs), compare) {
		if p.Source > p.Target && asked[Pair{p.Target, p.Source}] {
			back = append(back, p)
		} else {
			there = append(there, p)
		}
	}
	return append(oneWay(there), oneWay(back)...)
}

// ToMany lays out pairs whose targets bear any number at a time: only sources are in one pair of a
// round. The rounds are as many as the busiest source has targets.
func ToMany(pairs []Pair) (out [][]Pair) {
	next := map[int]int{}
	for _, p := range slices.SortedFunc(slices.Values(pairs), compare) {
		round := next[p.Source]
		next[p.Source]++
		if round == len(out) {
			out = append(out, nil)
		}
		out[round] = append(out[round], p)
	}
	return out
}

// oneWay lays out pairs no two of which have the same two ends.
func oneWay(pairs []Pair) [][]Pair {
	if len(pairs) == 0 {
		return nil
	}
	g := newGraph(pairs)
	n := len(g.degree)
	if len(pairs) == n*(n-1)/2 {
		return g.circle()
	}
	if g.bipartite() {
		return g.rounds(g.koenig())
	}
	circle := g.circle()
	if len(circle) <= slices.Max(g.degree) { // nothing has fewer
		return circle
	}
	if vizing := g.rounds(g.misraGries()); len(vizing) < len(circle) {
		return vizing
	}
	return circle
}

// graph is pairs as edges between nodes that are numbered without gaps.
type graph struct {
	pairs  []Pair
	edges  [][2]int // the pairs' ends, as nodes
	near   [][]int  // a node's neighbours
	degree []int
}

func newGraph(pairs []Pair) *graph {
	node := map[int]int{}
	var ids []int
	for _, p := range pairs {
		ids = append(ids, p.Source, p.Target)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		node[id] = len(node)
	}
	g := &graph{pairs: pairs, near: make([][]int, len(node)), degree: make([]int, len(node))}
	for _, p := range pairs {
		a, b := node[p.Source], node[p.Target]
		g.edges = append(g.edges, [2]int{a, b})
		g.near[a], g.near[b] = append(g.near[a], b), append(g.near[b], a)
		g.degree[a]++
		g.degree[b]++
	}
	return g
}

// circle is the tournament of all nodes, of which the edges are kept.
func (g *graph) circle() (out [][]Pair) {
	at := make(map[[2]int]Pair, len(g.edges))
	for i, e := range g.edges {
		at[[2]int{min(e[0], e[1]), max(e[0], e[1])}] = g.pairs[i]
	}
	for _, round := range Tournament(len(g.degree)) {
		var kept []Pair
		for _, ends := range round {
			if p, ok := at[ends]; ok {
				kept = append(kept, p)
			}
		}
		if len(kept) > 0 {
			slices.SortFunc(kept, compare)
			out = append(out, kept)
		}
	}
	return out
}

// bipartite says whether the nodes fall into two groups without an edge inside one.
func (g *graph) bipartite() bool {
	side := make([]int, len(g.near)) // 0: not known yet
	for first := range side {
		if side[first] != 0 {
			continue
		}
		side[first] = 1
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			for _, next := range g.near[queue[0]] {
				if side[next] == side[queue[0]] {
					return false
				}
				if side[next] == 0 {
					side[next] = -side[queue[0]]
					queue = append(queue, next)
				}
			}
		}
	}
	return true
}

// rounds makes a round of each colour that is used.
func (g *graph) rounds(c *colouring) (out [][]Pair) {
	byColour := make([][]Pair, c.colours)
	for i, e := range g.edges {
		colour := c.of(e[0], e[1])
		byColour[colour] = append(byColour[colour], g.pairs[i])
	}
	for _, round := range byColour {
		if len(round) > 0 {
			out = append(out, round)
		}
	}
	return out
}
