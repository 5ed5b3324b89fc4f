package answers

import "errors"

// Clock says by whose clock a question is answered.
type Clock string

// The clocks.
const (
	ClockUTC    Clock = "utc"
	ClockSource Clock = "source"
	ClockTarget Clock = "target"
)

// ClockNames lists them in the order of the documentation.
func ClockNames() []Clock { return []Clock{ClockUTC, ClockSource, ClockTarget} }

// Heatmap is how far above its baseline a series was, by weekday and hour. Levels between changes are taken
// out, so that a step in mid-week does not paint that weekday.
type Heatmap struct {
	History
	Clock Clock
	Zone  string // IANA; "UTC"
	// Cells are by weekday, Monday first, and hour.
	Cells   [7][24]HourSpread
	Changes []Change
}

// ErrNoClock says that nobody knows the zone of the clock that was asked for.
var ErrNoClock = errors.New("its zone is not known: the end is no prober of the configuration, or its region is not in the catalog")
