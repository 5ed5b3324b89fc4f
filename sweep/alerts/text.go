package alerts

import (
	"fmt"
	"strings"
	"time"

	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

func ms(us float64) string { return fmt.Sprintf("%.3f ms", us/1000) }

// span is a time as people say it.
func span(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

func subjectOf(l *tables.SeriesLevels) string {
	return strings.Join([]string{l.Series.Source, l.Series.Target, l.Series.Path, l.Series.Probe}, "|")
}

// zonesOf are the time zones of the probers, by id.
func zonesOf(c *config.Config) map[string]*time.Location {
	out := map[string]*time.Location{}
	for _, p := range c.Probers {
		region, ok := catalog.Lookup(p.Region)
		if !ok {
			continue
		}
		if zone, err := region.Location(); err == nil {
			out[p.ID] = zone
		}
	}
	return out
}

// zone is that of a prober; UTC where it is not known.
func (e *Evaluator) zone(source string) *time.Location {
	if zone := e.zones[source]; zone != nil {
		return zone
	}
	return time.UTC
}
