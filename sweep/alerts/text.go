package alerts

import (
	"fmt"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

func ms(us float64) string { return fmt.Sprintf("%.3f ms", us/1000) }

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

// seriesOf is the series that a subject names, without its environment.
func seriesOf(subject string) (wire.Series, bool) {
	parts := strings.Split(subject, "|")
	if len(parts) != 4 {
		return wire.Series{}, false
	}
	return wire.Series{Source: parts[0], Target: parts[1], Path: parts[2], Probe: parts[3]}, true
}
