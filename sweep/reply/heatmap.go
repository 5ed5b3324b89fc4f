package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Heatmap is a series by weekday and hour: /api/query/heatmap, and sweep heatmap.
type Heatmap struct {
	Head
	Series Series `json:"series"`
	Window
	Clock string        `json:"clock" jsonschema:"utc, source or target"`
	Zone  string        `json:"zone" jsonschema:"IANA"`
	Cells []HeatmapCell `json:"cells" jsonschema:"168: by weekday, Monday first, and hour"`
	// Changes are those whose levels were taken out.
	Changes []Change `json:"changes"`
}

// HeatmapCell is an hour of the week: n 0 and null when there is no data.
type HeatmapCell struct {
	Weekday        int      `json:"weekday" jsonschema:"0 is Monday"`
	Hour           int      `json:"hour"`
	N              int      `json:"n" jsonschema:"hours that have a figure"`
	MedianExcessUS *float64 `json:"median_excess_us"`
	Q1US           *float64 `json:"q1_us"`
	Q3US           *float64 `json:"q3_us"`
}

// HeatmapOf is the reply of a heat map.
func HeatmapOf(environment string, m *answers.Heatmap, now time.Time) *Heatmap {
	out := &Heatmap{Head: headOf(environment, now, &m.Rests), Series: seriesOf(&m.History), Window: windowOf(&m.History),
		Clock: string(m.Clock), Zone: m.Zone, Cells: make([]HeatmapCell, 0, 7*24), Changes: changesOf(m.Changes)}
	for day := range m.Cells {
		for hour := range m.Cells[day] {
			c := &m.Cells[day][hour]
			out.Cells = append(out.Cells, HeatmapCell{day, hour, c.N, rounded(c.MedianUS, 3), rounded(c.Q1US, 3), rounded(c.Q3US, 3)})
		}
	}
	return out
}
