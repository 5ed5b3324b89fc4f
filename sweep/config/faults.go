package config

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a sweep.yaml.
type Fault struct {
	Line int // from 1; 0 when it belongs to no line
	Text string
}

// String is the fault as people read it, with the file's name and line in front.
func (f Fault) String() string {
	if f.Line == 0 {
		return "sweep.yaml: " + f.Text
	}
	return fmt.Sprintf("sweep.yaml:%d: %s", f.Line, f.Text)
}

// Faults is everything that is wrong with a sweep.yaml, by line.
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

// quote makes a text of the file fit for a message.
func quote(s string) string {
	const most = 60
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
}
