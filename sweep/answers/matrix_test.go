package answers

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
	"isochrone/sweep/tables"
)

// measured is the row of a run in which everything came back.
func measured(source, target string, at time.Time, p50 float64) tables.Row {
	return tables.Row{
		Series: series(source, target, "public", "tcp-64"), Slot: at, Kind: wire.KindTCP,
		Counts: wire.Counts{Sent: 100, Received: 99, Lost: 1}, P50US: number(p50), P90US: number(p50 * 1.2),
		LossRatio: number(0.01), LossLow: number(0.0018), LossHigh: number(0.0545),
	}
}

func TestMatrixHasACellForEveryPairOfTheConfigurationMissingOnesToo(t *testing.T) {
	refused := tables.Row{Series: series("eastus", "westeurope", "public", "tcp-64"), Slot: slot, Failure: wire.FailureRefused, Detail: "connect: refused"}
	expired := tables.Row{Series: series("southeastasia", "eastus", "public", "tcp-64"), Slot: slot.Add(-10 * time.Minute), Failure: wire.FailureExpired}
	from := &store{latest: []tables.Row{
		measured("westeurope", "eastus", slot, 82_000), measured("eastus", "southeastasia", slot, 230_000), refused, expired,
		measured("gone", "westeurope", slot.Add(time.Hour), 1), // no longer in the configuration
	}}
	m, err := ReadMatrix(t.Context(), from, parse(t, threeRegions), "public", "tcp-64", now)
	if err != nil {
		t.Fatal(err)
	}
	if m.Measured != 2 || m.Older != 1 || m.Failed != 1 || m.Missing != 2 || len(m.Cells) != 6 {
		t.Errorf("%d measured, %d older, %d failed, %d missing of %d cells; want 2, 1, 1, 2 of 6", m.Measured, m.Older, m.Failed, m.Missing, len(m.Cells))
	}
	if want := slot.Add(-10 * time.Minute); !m.Oldest.Equal(want) {
		t.Errorf("oldest slot %s, want %s", m.Oldest, want)
	}
	if !slices.Equal(m.Probers, []string{"westeurope", "eastus", "southeastasia"}) {
		t.Errorf("probers %q are not in the configuration's order", m.Probers)
	}
	if !m.Newest.Equal(slot) {
		t.Errorf("newest slot %s, want %s: a series that the configuration has not does not count", m.Newest, slot)
	}
	for _, want := range []Cell{
		{Source: "westeurope", Target: "eastus", State: Measured, N: 99, Sent: 100, Lost: 1},
		{Source: "westeurope", Target: "southeastasia", State: Missing},
		{Source: "eastus", Target: "westeurope", State: Failed, Failure: wire.FailureRefused, Detail: "connect: refused"},
		{Source: "southeastasia", Target: "eastus", State: Failed, Failure: wire.FailureExpired, Older: true},
	} {
		c, ok := m.Cell(want.Source, want.Target)
		if !ok || c.State != want.State || c.Failure != want.Failure || c.Detail != want.Detail || c.Older != want.Older ||
			c.N != want.N || c.Sent != want.Sent || c.Lost != want.Lost {
			t.Errorf("cell %+v, want %+v", c, want)
		}
	}
	if c, ok := m.Cell("westeurope", "westeurope"); ok {
		t.Errorf("a prober has a cell with itself: %+v", c)
	}
}

func TestCellComparesWithLightInFibre(t *testing.T) {
	from := &store{latest: []tables.Row{measured("westeurope", "eastus", slot, 82_000)}}
	m, err := ReadMatrix(t.Context(), from, parse(t, threeRegions), "public", "tcp-64", now)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := m.Cell("westeurope", "eastus")
	a, _ := catalog.Lookup("westeurope")
	b, _ := catalog.Lookup("eastus")
	km := catalog.Distance(a, b)
	floor := 2 * km / 204 * 1000
	if km < 6000 || km > 6700 { // Amsterdam to northern Virginia
		t.Fatalf("%f km from westeurope to eastus", km)
	}
	if math.Abs(*c.DistanceKM-km) > 1e-9 || math.Abs(*c.FloorUS-floor) > 1 ||
		math.Abs(*c.ExcessUS-(82_000-floor)) > 1 || math.Abs(*c.Stretch-82_000/floor) > 1e-4 {
		t.Errorf("distance %f, floor %f, excess %f, stretch %f; want %f, %f, %f, %f", *c.DistanceKM, *c.FloorUS, *c.ExcessUS, *c.Stretch,
			km, floor, 82_000-floor, 82_000/floor)
	}
	if c.Age != 3*time.Minute {
		t.Errorf("age %s, want 3m", c.Age)
	}
	missing, _ := m.Cell("eastus", "westeurope")
	if missing.FloorUS == nil || missing.ExcessUS != nil || missing.Stretch != nil {
		t.Errorf("a missing cell has floor %v, excess %v, stretch %v; want the floor alone", missing.FloorUS, missing.ExcessUS, missing.Stretch)
	}
}

func TestCellsOfOneMachineAndOfNearRegionsAreNotJudgedByDistance(t *testing.T) {
	loopback := strings.NewReplacer("environment: dev", "environment: dev\nloopback: true",
		"20.50.0.0/16", "127.0.0.1/32", "20.60.0.0/16", "127.0.0.1/32", "20.70.0.0/16", "127.0.0.1/32").Replace(threeRegions)
	from := &store{latest: []tables.Row{measured("westeurope", "eastus", slot, 50)}}
	m, err := ReadMatrix(t.Context(), from, parse(t, loopback), "public", "tcp-64", now)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := m.Cell("westeurope", "eastus"); c.DistanceKM != nil || c.FloorUS != nil || c.ExcessUS != nil || c.Stretch != nil {
		t.Errorf("on one machine a cell is compared with the regions' distance: %+v", c)
	}
	near := strings.ReplaceAll(threeRegions, "eastus", "eastus2")
	near = strings.ReplaceAll(near, "westeurope", "eastus")
	from = &store{latest: []tables.Row{measured("eastus", "eastus2", slot, 5_000)}}
	m, err = ReadMatrix(t.Context(), from, parse(t, near), "public", "tcp-64", now)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := m.Cell("eastus", "eastus2")
	if c.ExcessUS == nil || c.Stretch != nil {
		t.Errorf("eastus to eastus2, %v km: excess %v and stretch %v, want an excess and no stretch", *c.DistanceKM, c.ExcessUS, c.Stretch)
	}
}

func TestMatrixKeepsToTheProbesSourcesAndPaths(t *testing.T) {
	c := parse(t, threeRegions)
	m, err := ReadMatrix(t.Context(), &store{}, c, "peering", "handshake", now)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Cells) != 1 || m.Cells[0].Source != "westeurope" || m.Cells[0].Target != "eastus" || m.Cells[0].State != Missing {
		t.Errorf("cells %+v, want westeurope to eastus alone, missing", m.Cells)
	}
	if !slices.Equal(m.Probers, []string{"westeurope", "eastus"}) || !m.Newest.IsZero() {
		t.Errorf("probers %q, newest %s; want the two with peering, and no newest slot", m.Probers, m.Newest)
	}
	for _, q := range [][2]string{{"vpn", "handshake"}, {"peering", "tcp-64"}, {"public", "nosuch"}} {
		if m, err := ReadMatrix(t.Context(), &store{}, c, q[0], q[1], now); err == nil {
			t.Errorf("path %q, probe %q: %+v, want an error", q[0], q[1], m)
		}
	}
	broken := errors.New("storage is away")
	if _, err := ReadMatrix(t.Context(), &store{err: broken}, c, "public", "tcp-64", now); !errors.Is(err, broken) {
		t.Errorf("a failing store: %v, want its error", err)
	}
}

func TestCellValueIsTheStatisticOrNothing(t *testing.T) {
	row := measured("westeurope", "eastus", slot, 1000)
	c := cellOf(&row, now)
	for stat, want := range map[Statistic]float64{P50: 1000, P90: 1200, Loss: 0.01} {
		if got := c.Value(stat); got == nil || *got != want {
			t.Errorf("%s is %v, want %v", stat, got, want)
		}
	}
	if c.Value(P99) != nil || c.Value("p1") != nil {
		t.Error("a statistic that the row has not is not nil")
	}
}
