package topology

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a wan.yaml.
type Fault struct {
	Line int // from 1; 0 when it belongs to no line
	Text string
}

// String is the fault as people read it, with the file's name and line in front.
func (f Fault) String() string {
	if f.Line == 0 {
		return "wan.yaml: " + f.Text
	}
	return fmt.Sprintf("wan.yaml:%d: %s", f.Line, f.Text)
}

// Faults is everything that is wrong with a wan.yaml, by line.
type Faults []Fault

// Error is one line a fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return a.Line - b.Line })
	return f
}

// list writes words for a message, in the order given.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(quoted, ", ")
}
