package catalog

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// PublishedUntil is the last of the 30 days that the published round trips cover.
const PublishedUntil = "2026-07-30"

// Where the two files come from is in origin.md.
var (
	//go:embed azure-regions.csv
	regionsCSV string
	//go:embed azure-published-rtt-2026-07-long.csv
	publishedCSV string
)

// The files are parsed at their first use, so that a program that needs none of them starts
// without the work. They are part of the program: a test holds that both parse.
var (
	regions = sync.OnceValues(func() (map[string]Region, error) { return parseRegions(regionsCSV) })

	published = sync.OnceValues(func() (map[direction]float64, error) { return parsePublished(publishedCSV) })
)

type direction struct{ source, target string }

// Regions lists every region of the catalog, by name.
func Regions() []Region {
	byName, _ := regions()
	out := make([]Region, 0, len(byName))
	for _, r := range byName {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Region) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Lookup finds a region by its name.
func Lookup(name string) (Region, bool) {
	byName, _ := regions()
	r, ok := byName[name]
	return r, ok
}

// PublishedP95 is the round trip that Microsoft publishes between two regions, in
// milliseconds: the 95th percentile over the 30 days to PublishedUntil, as measured from
// source. ok is false where nothing is published.
func PublishedP95(source, target string) (ms float64, ok bool) {
	byDirection, _ := published()
	ms, ok = byDirection[direction{source, target}]
	return ms, ok
}

func parseRegions(text string) (map[string]Region, error) {
	rows, err := readCSV(text, "name,display_name,geography,geography_group,physical_location,latitude,longitude,paired,time_zone")
	if err != nil {
		return nil, fmt.Errorf("reading the regions: %w", err)
	}
	out := make(map[string]Region, len(rows))
	for _, row := range rows {
		name := row[0]
		latitude, err := parseBetween(row[5], -90, 90)
		if err != nil {
			return nil, fmt.Errorf("reading the latitude of region %q: %w", name, err)
		}
		longitude, err := parseBetween(row[6], -180, 180)
		if err != nil {
			return nil, fmt.Errorf("reading the longitude of region %q: %w", name, err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("reading the regions: %q is there twice", name)
		}
		out[name] = Region{
			Name: name, DisplayName: row[1], Geography: row[2], GeographyGroup: row[3], PhysicalLocation: row[4],
			Latitude: latitude, Longitude: longitude, Paired: row[7], TimeZone: row[8],
			OffersCustomers: !strings.HasSuffix(name, "euap") && !strings.HasSuffix(name, "stg"),
		}
	}
	return out, nil
}

func parsePublished(text string) (map[direction]float64, error) {
	rows, err := readCSV(text, "source,target,p95_ms")
	if err != nil {
		return nil, fmt.Errorf("reading the published round trips: %w", err)
	}
	out := make(map[direction]float64, len(rows))
	for _, row := range rows {
		key := direction{source: row[0], target: row[1]}
		ms, err := parseBetween(row[2], 0.001, 10_000)
		if err != nil {
			return nil, fmt.Errorf("reading the published round trip from %q to %q: %w", key.source, key.target, err)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("reading the published round trips: %q to %q is there twice", key.source, key.target)
		}
		out[key] = ms
	}
	return out, nil
}

// readCSV checks the header and that every row has as many fields.
func readCSV(text, header string) ([][]string, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || strings.Join(rows[0], ",") != header {
		return nil, fmt.Errorf("the first line is not %q", header)
	}
	return rows[1:], nil
}

func parseBetween(text string, least, most float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	if !(v >= least && v <= most) { // so written that NaN fails
		return 0, fmt.Errorf("%q: want %g to %g", text, least, most)
	}
	return v, nil
}
