// Package catalog knows the Azure regions: where they lie, which is paired with which, their
// time zones, how far apart two are, how fast light could be between them, and the round trips
// that Microsoft publishes. All of it is embedded; nothing is fetched.
package catalog

import (
	"time"
	_ "time/tzdata" // the container and the Functions worker may hold no zone files
)

// Region is an Azure region, as `az account list-locations` names it.
type Region struct {
	Name             string // "westeurope"
	DisplayName      string // "West Europe"
	Geography        string // "Europe", "United States"
	GeographyGroup   string // "Europe", "US", "Asia Pacific"
	PhysicalLocation string // "Netherlands"; empty for the canaries
	// Latitude and Longitude are degrees, north and east positive. Microsoft publishes the
	// place of a region to some tens of kilometres at best.
	Latitude, Longitude float64
	// Paired is the name of the region that Azure pairs this one with; empty where there is
	// none. The other need not be paired with this one, nor be listed (Azure reserves some).
	Paired string
	// TimeZone is the IANA name of the zone in which the region lies.
	TimeZone string
	// OffersCustomers says whether customers can deploy to the region: canary and stage
	// regions (…euap, …stg) are Microsoft's own.
	OffersCustomers bool
}

// Location loads the region's time zone. It does not fail for a region of the catalog.
func (r Region) Location() (*time.Location, error) { return time.LoadLocation(r.TimeZone) }
