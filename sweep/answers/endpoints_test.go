package answers

import (
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/tables"
)

const withEndpoints = threeRegions + `  - {name: dial, kind: connect, schedule: "*/10 * * * *", paths: [public, peering], count: 10, interval: 1s, from: [westeurope, eastus], to: [southeastasia, db, api]}
endpoints:
  - {name: api, url: https://api.example.com/}
  - {name: db, address: db.example.com:1433, path: peering}
`

func TestEndpointsAreTargetsAndNothingElse(t *testing.T) {
	row := measured("westeurope", "api", slot, 82_000)
	row.Series.Probe = "dial"
	m, err := ReadMatrix(t.Context(), &store{latest: []tables.Row{row}}, parse(t, withEndpoints), "public", "dial", now)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Probers, []string{"westeurope", "eastus", "southeastasia"}) || !slices.Equal(m.Endpoints, []string{"api"}) {
		t.Errorf("probers %q, endpoints %q: want the three, and the one of the path", m.Probers, m.Endpoints)
	}
	var pairs []string
	for _, c := range m.Cells {
		pairs = append(pairs, c.Source+" "+c.Target)
	}
	if want := []string{"westeurope southeastasia", "westeurope api", "eastus southeastasia", "eastus api"}; !slices.Equal(pairs, want) {
		t.Errorf("pairs %q, want %q", pairs, want)
	}
	c, _ := m.Cell("westeurope", "api")
	if c.State != Measured || *c.P50US != 82_000 || c.DistanceKM != nil || c.FloorUS != nil || c.ExcessUS != nil || c.Stretch != nil {
		t.Errorf("%+v: nobody has said where an endpoint is", c)
	}
	if c, _ := m.Cell("westeurope", "southeastasia"); c.DistanceKM == nil {
		t.Error("a prober in the same matrix has no distance")
	}
	m, err = ReadMatrix(t.Context(), &store{}, parse(t, withEndpoints), "peering", "dial", now)
	if err != nil || len(m.Cells) != 2 || m.Cells[0].Target != "db" || m.Missing != 2 {
		t.Errorf("over peering: %+v, %v", m, err)
	}
	// A probe that names no endpoint has none.
	if m, err = ReadMatrix(t.Context(), &store{}, parse(t, withEndpoints), "public", "tcp-64", now); err != nil || len(m.Endpoints) != 0 || len(m.Cells) != 6 {
		t.Errorf("tcp-64: %+v, %v", m, err)
	}
}

func TestDegradedCellsAreCountedAndSayWhy(t *testing.T) {
	noisy, older := measured("westeurope", "eastus", slot, 82_000), measured("eastus", "westeurope", slot.Add(-10*time.Minute), 82_000)
	noisy.Noise.Degraded = []summary.Reason{summary.ReasonLateSends}
	noisy.P50Range = tables.Range{LowUS: number(81_000), HighUS: number(83_000)}
	older.Noise.Degraded = []summary.Reason{summary.ReasonCPUSteal, summary.ReasonClockStep}
	from := &store{latest: []tables.Row{noisy, older, measured("westeurope", "southeastasia", slot, 158_000)}}
	m, err := ReadMatrix(t.Context(), from, parse(t, threeRegions), "public", "tcp-64", now)
	if err != nil {
		t.Fatal(err)
	}
	if m.Degraded != 2 || m.Measured != 2 || m.Older != 1 {
		t.Errorf("%d degraded, %d measured, %d older; want 2, 2, 1: a degraded run is a result", m.Degraded, m.Measured, m.Older)
	}
	c, _ := m.Cell("westeurope", "eastus")
	if !slices.Equal(c.Degraded, noisy.Noise.Degraded) || *c.P50Range.LowUS != 81_000 || *c.P50Range.HighUS != 83_000 || c.P90Range.LowUS != nil {
		t.Errorf("%+v", c)
	}
	if m.Kind != wire.KindTCP {
		t.Errorf("kind %q", m.Kind)
	}
}
