package catalog

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Known distances of places, not of regions: airports after the great circle mapper
// (gcmap.com, ellipsoid), and what the sphere gives exactly.
func TestDistanceAgreesWithKnownDistances(t *testing.T) {
	place := func(latitude, longitude float64) Region { return Region{Latitude: latitude, Longitude: longitude} }
	half := math.Pi * EarthRadiusKM
	for _, c := range []struct {
		name    string
		a, b    Region
		km, off float64 // off is what the sphere may differ by
	}{
		{"London Heathrow to New York Kennedy", place(51.4775, -0.461389), place(40.639751, -73.778925), 5555, 5555 * 0.006},
		{"Sydney to Santiago, over the date line", place(-33.946111, 151.177222), place(-33.392778, -70.785556), 11365, 11365 * 0.006},
		{"Nashville to Los Angeles, the haversine's textbook case", place(36.12, -86.67), place(33.94, -118.40), 2886.44, 1},
		{"pole to pole", place(90, 17), place(-90, -40), half, 1e-9},
		{"antipodes on the equator", place(0, 0), place(0, 180), half, 1e-9},
		{"a quarter", place(0, 10), place(90, 0), half / 2, 1e-9},
		{"a metre", place(50, 8), place(50+180/half/1000, 8), 0.001, 1e-9},
		{"nothing", place(-35.3075, 149.1244), place(-35.3075, 149.1244), 0, 0},
	} {
		if got := Distance(c.a, c.b); math.Abs(got-c.km) > c.off {
			t.Errorf("%s: %.6f km, want %.6f ± %.2g", c.name, got, c.km, c.off)
		}
		if there, back := Distance(c.a, c.b), Distance(c.b, c.a); math.Abs(there-back) > 1e-9 {
			t.Errorf("%s: %.12f km there, %.12f back", c.name, there, back)
		}
	}
}

func TestDistanceKeepsTheTriangleInequality(t *testing.T) {
	all := Regions()
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				if detour := Distance(a, b) + Distance(b, c); Distance(a, c) > detour+1e-6 {
					t.Fatalf("%s to %s is farther than over %s", a.Name, c.Name, b.Name)
				}
			}
		}
	}
}

func TestFloorIsTheRoundTripAt204KMPerMillisecond(t *testing.T) {
	for _, c := range []struct {
		km   float64
		want time.Duration
	}{{0, 0}, {102, time.Millisecond}, {204, 2 * time.Millisecond}, {10_200, 100 * time.Millisecond}} {
		if got := Floor(c.km); got != c.want {
			t.Errorf("Floor(%g) = %s, want %s", c.km, got, c.want)
		}
	}
}

// No published value lies below light speed. The ratios were computed apart from this package
// as well, by the haversine in Python: wrong coordinates, radius, speed or direction would move
// them. The maximum is Israel Central to Qatar Central, 146 ms over 1,868 km, by way of Europe.
func TestPublishedRoundTripsAgreeWithLightSpeed(t *testing.T) {
	var ratios []float64
	all := Regions()
	judged := 0
	for _, a := range all {
		for _, b := range all {
			ms, ok := PublishedP95(a.Name, b.Name)
			if !ok {
				continue
			}
			km := Distance(a, b)
			floor := float64(Floor(km)) / float64(time.Millisecond)
			if judged++; km <= 500 {
				continue
			}
			ratio := ms / floor
			if ratio < 1 {
				t.Errorf("%s to %s: %g ms published over %.0f km, below the floor of %.1f ms", a.Name, b.Name, ms, km, floor)
			}
			ratios = append(ratios, ratio)
		}
	}
	byDirection, err := published()
	if err != nil {
		t.Fatal(err)
	}
	if judged != len(byDirection) {
		t.Errorf("%d of %d published directions are between regions of the catalog", judged, len(byDirection))
	}
	slices.Sort(ratios)
	n := len(ratios)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"minimum", ratios[0], 1.20}, {"median", ratios[n/2], 1.84},
		{"90th percentile", ratios[n*9/10], 2.86}, {"maximum", ratios[n-1], 7.97},
	} {
		if math.Abs(c.got-c.want) > 0.006 {
			t.Errorf("%s of %d ratios is %.3f, want %.2f", c.name, n, c.got, c.want)
		}
	}
}

func TestPublishedRoundTripsAreDirected(t *testing.T) {
	for _, c := range []struct {
		source, target string
		ms             float64
		ok             bool
	}{
		{"australiacentral", "australiacentral2", 5, true},
		{"australiacentral2", "australiacentral", 7, true},
		{"australiaeast", "westeurope", 282, true},
		{"westeurope", "westeurope", 0, false},
		{"westeurope", "nowhere", 0, false},
	} {
		ms, ok := PublishedP95(c.source, c.target)
		if ms != c.ms || ok != c.ok {
			t.Errorf("%s to %s: %g, %t; want %g, %t", c.source, c.target, ms, ok, c.ms, c.ok)
		}
	}
}
