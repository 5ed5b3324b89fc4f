package catalog

import (
	"math"
	"time"
)

// EarthRadiusKM is the mean radius R1 = (2a + b) / 3 of the GRS 80 ellipsoid (Moritz, Geodetic
// Reference System 1980, Journal of Geodesy 74, 2000). On the sphere a distance is wrong by at
// most 0.6 %, less than the places of the regions are.
const EarthRadiusKM = 6371.0088

// FibreKMPerMS is how far light gets in fibre in a millisecond: 299.792 km ÷ 1.468, the group
// index of common single-mode fibre at 1,550 nm.
const FibreKMPerMS = 204.0

// Distance is the great-circle distance between two regions, in kilometres.
//
// It is Vincenty's formula for the sphere (Survey Review 23, 1975), which unlike the law of
// cosines and the haversine keeps its precision for points that lie close together and for
// antipodes alike.
func Distance(a, b Region) float64 {
	const radians = math.Pi / 180
	sinA, cosA := math.Sincos(a.Latitude * radians)
	sinB, cosB := math.Sincos(b.Latitude * radians)
	sinL, cosL := math.Sincos((b.Longitude - a.Longitude) * radians)
	y := math.Hypot(cosB*sinL, cosA*sinB-sinA*cosB*cosL)
	x := sinA*sinB + cosA*cosB*cosL
	return EarthRadiusKM * math.Atan2(y, x)
}

// Floor is the least time that a round trip over km kilometres can take: light in fibre along
// the great circle, there and back. A reading below it is impossible, unless the two places
// are so near that the catalog's coordinates are too coarse to judge (under some 500 km).
func Floor(km float64) time.Duration {
	return time.Duration(2 * km / FibreKMPerMS * float64(time.Millisecond))
}
