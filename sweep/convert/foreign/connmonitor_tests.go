package foreign

import (
	"fmt"
	"slices"
	"time"
)

// finish tells days from months and tests from each other, and leaves out the rows of which it cannot
// be told, and those that are there twice.
func (c *connMonitorReader) finish() {
	c.dates()
	c.variants()
	c.repeated()
}

// keep leaves the findings of which keep is true.
func (c *connMonitorReader) keep(keep func(i int) bool) {
	n := 0
	for i := range c.rows {
		if !keep(i) {
			continue
		}
		c.rows[n], c.d.Findings[n] = c.rows[i], c.d.Findings[i]
		n++
	}
	clear(c.d.Findings[n:])
	c.rows, c.d.Findings = c.rows[:n], c.d.Findings[:n]
}

func (c *connMonitorReader) leave(i int, reason string) bool {
	f := c.rows[i].row
	f.Reason = reason
	c.d.leave(f)
	return false
}

func (c *connMonitorReader) dates() {
	c.keep(func(i int) bool {
		note := &c.rows[i]
		if note.date.year == 0 {
			return true
		}
		at, why := note.date.at(c.order)
		if why != "" {
			return c.leave(i, fmt.Sprintf("%.60q: %s", note.time.Text, why))
		}
		if at.Before(epoch) || at.After(horizon) {
			return c.leave(i, fmt.Sprintf("%.60q lies outside the years 2000 to 9999", note.time.Text))
		}
		c.d.Findings[i].began(at, note.time)
		return true
	})
}

// variants names the tests where there are several: by configuration, and by group too where one
// configuration stands in several.
func (c *connMonitorReader) variants() {
	configs, groups := map[string]bool{}, map[string]map[string]bool{}
	for _, r := range c.rows {
		configs[r.config] = true
		if groups[r.config] == nil {
			groups[r.config] = map[string]bool{}
		}
		groups[r.config][r.group] = true
	}
	for i, r := range c.rows {
		v := ""
		if len(configs) > 1 {
			v = r.config
		}
		if len(groups[r.config]) > 1 {
			v = r.group + "/" + r.config
		}
		if r.path {
			v += " path"
		}
		c.d.Findings[i].Variant = v
	}
}

// repeated leaves out the rows that an export has twice, as two that overlap do once they are joined.
func (c *connMonitorReader) repeated() {
	type key struct {
		from, to, variant string
		at                time.Time
	}
	seen := map[key][]string{}
	c.keep(func(i int) bool {
		f := &c.d.Findings[i]
		k := key{f.From, f.To, f.Variant, f.Run.Start.Truncate(time.Second)}
		records, twice := seen[k]
		if !twice {
			seen[k] = []string{c.rows[i].record}
			return true
		}
		if record := c.rows[i].record; record != "" && slices.Contains(records, record) {
			return false // the same row again
		}
		if len(records) < 10 {
			seen[k] = append(records, c.rows[i].record)
		}
		return c.leave(i, "a row of the same ends, test and second stands in front of it")
	})
}
