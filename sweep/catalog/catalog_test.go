package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEmbeddedFilesParse(t *testing.T) {
	byName, err := regions()
	if err != nil {
		t.Fatal(err)
	}
	if len(byName) != 62 {
		t.Errorf("%d regions, want the file's 62", len(byName))
	}
	byDirection, err := published()
	if err != nil {
		t.Fatal(err)
	}
	sources, targets := map[string]bool{}, map[string]bool{}
	for d := range byDirection {
		sources[d.source], targets[d.target] = true, true
	}
	if len(sources) != 54 || len(targets) != 54 {
		t.Errorf("published from %d regions to %d, want 54 to 54", len(sources), len(targets))
	}
}

func TestRegionsComeByNameAndAsACopy(t *testing.T) {
	all := Regions()
	if !slices.IsSortedFunc(all, func(a, b Region) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in the order of the names")
	}
	all[0].TimeZone = "changed"
	if Regions()[0].TimeZone == "changed" {
		t.Error("a caller's change reached the catalog")
	}
}

func TestLookupKnowsARegionInFull(t *testing.T) {
	got, ok := Lookup("japaneast") // its row has a quoted comma
	want := Region{
		Name: "japaneast", DisplayName: "Japan East", Geography: "Japan", GeographyGroup: "Asia Pacific",
		PhysicalLocation: "Tokyo, Saitama", Latitude: 35.68, Longitude: 139.77, Paired: "japanwest",
		TimeZone: "Asia/Tokyo", OffersCustomers: true,
	}
	if !ok || got != want {
		t.Errorf("got %+v, %t\nwant %+v", got, ok, want)
	}
	for _, name := range []string{"", "West Europe", "WESTEUROPE", "westeurope2"} {
		if r, ok := Lookup(name); ok {
			t.Errorf("Lookup(%q) found %+v", name, r)
		}
	}
}

func TestOnlyCanariesAndStagesAreNotOffered(t *testing.T) {
	var closed []string
	for _, r := range Regions() {
		if !r.OffersCustomers {
			closed = append(closed, r.Name)
		}
	}
	want := []string{"centraluseuap", "eastus2euap", "eastusstg", "southcentralusstg"}
	if !slices.Equal(closed, want) {
		t.Errorf("not offered: %q, want %q", closed, want)
	}
}

func TestEveryRegionIsComplete(t *testing.T) {
	for _, r := range Regions() {
		if r.DisplayName == "" || r.Geography == "" || r.GeographyGroup == "" || (r.Latitude == 0 && r.Longitude == 0) {
			t.Errorf("%+v lacks something", r)
		}
		if r.OffersCustomers && r.PhysicalLocation == "" {
			t.Errorf("%q has no physical location", r.Name)
		}
	}
}

// Four regions are paired with one that is paired elsewhere, as Azure has it, and one with a
// region that Azure does not list; every other pair is mutual.
func TestPairsAreMutualExceptTheFiveThatAreNot(t *testing.T) {
	var oneSided []string
	for _, r := range Regions() {
		if r.Paired == "" {
			continue
		}
		other, ok := Lookup(r.Paired)
		switch {
		case !ok:
			oneSided = append(oneSided, r.Name+" -> "+r.Paired+", not listed")
		case other.Name == r.Name:
			t.Errorf("%q is paired with itself", r.Name)
		case other.Paired != r.Name:
			oneSided = append(oneSided, r.Name+" -> "+other.Name+" -> "+other.Paired)
		}
	}
	want := []string{
		"brazilsouth -> southcentralus -> northcentralus",
		"brazilsoutheast -> brazilsouth -> southcentralus",
		"swedencentral -> swedensouth, not listed",
		"westindia -> southindia -> centralindia",
		"westus3 -> eastus -> westus",
	}
	if !slices.Equal(oneSided, want) {
		t.Errorf("one-sided pairs:\n%s\nwant\n%s", strings.Join(oneSided, "\n"), strings.Join(want, "\n"))
	}
}

func TestTimeZonesLoadAndAreTheRegionsOwn(t *testing.T) {
	january := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	july := time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	for _, r := range Regions() {
		loc, err := r.Location()
		if err != nil {
			t.Errorf("%q: %v", r.Name, err)
			continue
		}
		// The sun's time differs from the zone's by less than three hours and a half
		// everywhere on land that has a region: a wrong sign or a mistyped zone shows.
		for _, at := range []time.Time{january, july} {
			_, offset := at.In(loc).Zone()
			if apart := float64(offset)/3600 - r.Longitude/15; apart < -2 || apart > 3.5 {
				t.Errorf("%q at longitude %.1f is %.1f h from the sun's time in %s", r.Name, r.Longitude, apart, r.TimeZone)
			}
		}
	}
	for _, c := range []struct {
		region         string
		winter, summer int // hours east of UTC in January and July
	}{
		{"westeurope", 1, 2}, {"northeurope", 0, 1}, {"eastus", -5, -4}, {"westus3", -7, -7},
		{"brazilsouth", -3, -3}, {"australiaeast", 11, 10}, {"southeastasia", 8, 8},
	} {
		r, _ := Lookup(c.region)
		loc, err := r.Location()
		if err != nil {
			t.Fatal(err)
		}
		_, w := january.In(loc).Zone()
		_, s := july.In(loc).Zone()
		if w != c.winter*3600 || s != c.summer*3600 {
			t.Errorf("%q: %d and %d s east of UTC, want %d and %d h", c.region, w, s, c.winter, c.summer)
		}
	}
}

func TestSpainCentralLiesInSpain(t *testing.T) {
	r, _ := Lookup("spaincentral")
	madrid := Region{Latitude: 40.4168, Longitude: -3.7038}
	if km := Distance(r, madrid); km > 50 {
		t.Errorf("%.0f km from Madrid: see origin.md", km)
	}
}

func TestBadDataIsRefusedWithItsPlace(t *testing.T) {
	const regionHeader = "name,display_name,geography,geography_group,physical_location,latitude,longitude,paired,time_zone\n"
	const publishedHeader = "source,target,p95_ms\n"
	for _, c := range []struct{ name, text, want string }{
		{"other header", "name,latitude\n", `reading the regions: the first line is not "name,display_name`},
		{"missing field", regionHeader + "a,A,G,GG,P,1,2,b\n", "wrong number of fields"},
		{"latitude", regionHeader + "a,A,G,GG,P,91,2,b,UTC\n", `reading the latitude of region "a": "91": want -90 to 90`},
		{"longitude", regionHeader + "a,A,G,GG,P,1,NaN,b,UTC\n", `reading the longitude of region "a": "NaN": want -180 to 180`},
		{"twice", regionHeader + "a,A,G,GG,P,1,2,b,UTC\na,A,G,GG,P,1,2,b,UTC\n", `"a" is there twice`},
	} {
		if _, err := parseRegions(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `reading the published round trips: the first line is not`},
		{"zero", publishedHeader + "a,b,0\n", `from "a" to "b": "0": want 0.001 to 10000`},
		{"word", publishedHeader + "a,b,fast\n", `from "a" to "b": strconv`},
		{"twice", publishedHeader + "a,b,1\na,b,2\n", `"a" to "b" is there twice`},
	} {
		if _, err := parsePublished(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
