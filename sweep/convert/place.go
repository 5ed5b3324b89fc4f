package convert

import (
	"strconv"
	"strings"
)

// place is where in a document a reader is, such as runs[2].samples.rtt_ns.
type place []string

func (p *place) enter(name string) { *p = append(*p, name) }

// index enters an entry of the list or column that the reader is in.
func (p *place) index(i int) { *p = append(*p, "["+strconv.Itoa(i)+"]") }

func (p *place) leave() { *p = (*p)[:len(*p)-1] }

func (p place) String() string {
	return strings.ReplaceAll(strings.Join(p, "."), ".[", "[")
}
