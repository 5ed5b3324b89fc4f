package answers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// Grouping says what runs are grouped by.
type Grouping string

// The groupings.
const (
	ByVMSize Grouping = "vm-size" // of the source's machine
	ByRegion Grouping = "region"  // of the source
	ByProbe  Grouping = "probe"
	ByPath   Grouping = "path"
)

// Groupings lists them in the order of the documentation.
func Groupings() []Grouping { return []Grouping{ByVMSize, ByRegion, ByProbe, ByPath} }

// Unknown is the group of runs that do not say what they are grouped by.
const Unknown = "unknown"

// GroupQuery asks how groups of runs differ.
type GroupQuery struct {
	By        Grouping
	Runs      tables.RunQuery
	Statistic Statistic // empty: ComparedOf the runs' kind, which has to be one
	Base      string    // the group that the others are held against; empty: the first by name
}

// Groups are groups of runs, by name.
type Groups struct {
	By        Grouping
	Statistic Statistic
	Base      string // empty without groups
	Groups    []Group
	Simulated bool // a model made up one of the runs at least
}

// Group is the runs of one group.
type Group struct {
	Name         string
	Runs, Failed int
	// Median is of the runs' figures; nil where no run has one.
	Median *trend.Estimate
	// Shift is trend.Shift of the group above the base; nil for the base itself, and where one of the
	// two has no figures.
	Shift *trend.Estimate
}

// ReadGroups answers the query. c says of which region a prober is; it is needed for ByRegion alone.
// A base that is no group is an error, as are runs of kinds that have no statistic in common.
func ReadGroups(ctx context.Context, from RunRows, c *config.Config, q GroupQuery) (*Groups, error) {
	out := &Groups{By: q.By, Statistic: q.Statistic}
	values, groups := map[string][]float64{}, map[string]*Group{}
	var kind wire.Kind
	for row, err := range from.Runs(ctx, q.Runs) {
		if err != nil {
			return nil, fmt.Errorf("reading runs: %w", err)
		}
		if q.Statistic != "" && !q.Statistic.Has(row.Kind) {
			continue
		}
		switch {
		case q.Statistic != "":
		case kind == "":
			kind, out.Statistic = row.Kind, ComparedOf(row.Kind)
		case ComparedOf(row.Kind) != out.Statistic:
			return nil, &MixedError{kind, row.Kind}
		}
		name := cmp.Or(nameOf(&row, q.By, c), Unknown)
		g := groups[name]
		if g == nil {
			g = &Group{Name: name}
			groups[name] = g
		}
		g.Runs++
		out.Simulated = out.Simulated || row.Simulated
		if row.Failure != "" {
			g.Failed++
		} else if v := out.Statistic.of(&row); v != nil {
			values[name] = append(values[name], *v)
		}
	}
	names := slices.Sorted(maps.Keys(groups))
	if len(names) == 0 {
		return out, nil
	}
	out.Base = cmp.Or(q.Base, names[0])
	if groups[out.Base] == nil {
		return nil, &NoGroupError{Base: out.Base, Groups: names}
	}
	for _, name := range names {
		g := groups[name]
		if e, ok := trend.Median(values[name]); ok {
			g.Median = &e
		}
		if name != out.Base {
			if e, ok := trend.Shift(values[name], values[out.Base]); ok {
				g.Shift = &e
			}
		}
		out.Groups = append(out.Groups, *g)
	}
	return out, nil
}

// MixedError says that runs of two kinds have no one figure that stands for both.
type MixedError struct{ A, B wire.Kind }

// Error names the kinds.
func (e *MixedError) Error() string {
	return fmt.Sprintf("comparing runs of kind %q with those of kind %q: no one figure stands for both", e.A, e.B)
}

// NoGroupError says that there is no group of the name that was to be the base.
type NoGroupError struct {
	Base   string
	Groups []string
}

// Error names the groups that there are.
func (e *NoGroupError) Error() string {
	return fmt.Sprintf("no run is of group %q: the groups are %s", e.Base, strings.Join(e.Groups, ", "))
}

func nameOf(r *tables.Row, by Grouping, c *config.Config) string {
	switch by {
	case ByVMSize:
		return r.Provenance.VMSize
	case ByRegion:
		if p, ok := c.Prober(r.Series.Source); ok {
			return p.Region
		}
		return ""
	case ByProbe:
		return r.Series.Probe
	}
	return r.Series.Path
}
