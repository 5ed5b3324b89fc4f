package rounds

import "slices"

// none is no node, or no colour.
const none = -1

// colouring gives every edge a colour that no other edge at its two nodes has.
type colouring struct {
	colours int
	at      [][]int // by node and colour: the neighbour that the edge of that colour leads to
	colour  [][]int // by two nodes
}

func newColouring(nodes, colours int) *colouring {
	c := &colouring{colours: colours, at: make([][]int, nodes), colour: make([][]int, nodes)}
	for i := range nodes {
		c.at[i] = slices.Repeat([]int{none}, colours)
		c.colour[i] = slices.Repeat([]int{none}, nodes)
	}
	return c
}

func (c *colouring) of(a, b int) int { return c.colour[a][b] }

// free is the first colour that no edge at the node has.
func (c *colouring) free(node int) int { return slices.Index(c.at[node], none) }

// common is the first colour that is free at both nodes.
func (c *colouring) common(a, b int) int {
	for colour, neighbour := range c.at[a] {
		if neighbour == none && c.at[b][colour] == none {
			return colour
		}
	}
	return none
}

func (c *colouring) isFree(node, colour int) bool { return c.at[node][colour] == none }

func (c *colouring) paint(a, b, colour int) {
	c.at[a][colour], c.at[b][colour] = b, a
	c.colour[a][b], c.colour[b][a] = colour, colour
}

func (c *colouring) wipe(a, b int) {
	colour := c.colour[a][b]
	c.at[a][colour], c.at[b][colour] = none, none
	c.colour[a][b], c.colour[b][a] = none, none
}

// swap exchanges two colours on the path of edges of these colours in turn that begins at a node with
// an edge of the first. No edge of the second may be there.
func (c *colouring) swap(node, first, second int) {
	path := []int{node}
	for colour, other := first, second; c.at[node][colour] != none; colour, other = other, colour {
		node = c.at[node][colour]
		path = append(path, node)
	}
	colours := make([]int, 0, len(path))
	for i := 1; i < len(path); i++ {
		colours = append(colours, c.of(path[i-1], path[i]))
	}
	for i := 1; i < len(path); i++ {
		c.wipe(path[i-1], path[i])
	}
	for i := 1; i < len(path); i++ {
		c.paint(path[i-1], path[i], first+second-colours[i-1])
	}
}

// koenig colours the edges of a bipartite graph with as many colours as the largest degree.
func (g *graph) koenig() *colouring {
	c := newColouring(len(g.near), slices.Max(g.degree))
	for _, e := range g.edges {
		a, b := e[0], e[1]
		colour := c.free(a)
		if !c.isFree(b, colour) {
			// The path from b ends on b's side, or leaves a's by this colour, which a lacks: it
			// never comes to a.
			c.swap(b, colour, c.free(b))
		}
		c.paint(a, b, colour)
	}
	return c
}

// misraGries colours the edges of any graph with at most one colour more than the largest degree: J.
// Misra and D. Gries, A constructive proof of Vizing's theorem, Information Processing Letters 41
// (1992).
func (g *graph) misraGries() *colouring {
	c := newColouring(len(g.near), slices.Max(g.degree)+1)
	for _, e := range g.edges {
		centre := e[0]
		if colour := c.common(centre, e[1]); colour != none {
			c.paint(centre, e[1], colour)
			continue
		}
		fan := c.fan(g, centre, e[1])
		keep, colour := c.free(centre), c.free(fan[len(fan)-1])
		if !c.isFree(centre, colour) {
			c.swap(centre, colour, keep)
		}
		// Now the colour is free at the centre, and at the end of the fan or of a part of it.
		last := 0
		for !c.isFree(fan[last], colour) {
			last++
		}
		for i := range last { // each takes the colour of the next
			next := c.of(centre, fan[i+1])
			c.wipe(centre, fan[i+1])
			c.paint(centre, fan[i], next)
		}
		c.paint(centre, fan[last], colour)
	}
	return c
}

// fan is a longest list of the centre's neighbours that begins with first, whose edge has no colour
// yet, and goes on with one whose edge has a colour that is free at the neighbour before.
func (c *colouring) fan(g *graph, centre, first int) []int {
	fan := []int{first}
	in := make([]bool, len(g.near))
	in[first] = true
	for {
		last := fan[len(fan)-1]
		i := slices.IndexFunc(g.near[centre], func(n int) bool {
			colour := c.of(centre, n)
			return !in[n] && colour != none && c.isFree(last, colour)
		})
		if i < 0 {
			return fan
		}
		next := g.near[centre][i]
		fan, in[next] = append(fan, next), true
	}
}
