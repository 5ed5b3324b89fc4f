package simulate

import (
	"time"
)

// Truth is what a model puts into a history: what an analysis of it ought to find. The same
// configuration, window and seed give the same truth. Durations are microseconds.
type Truth struct {
	Environment string    `json:"environment"`
	Seed        uint64    `json:"seed"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`

	Pairs       []Pair        `json:"pairs"`
	Steps       []Step        `json:"steps"`
	Congestions []Congestion  `json:"congestions"`
	Outages     []Outage      `json:"outages"`
	Clocks      []ClockChange `json:"clock_changes"`
	// NotSimulated are the probes of the configuration that the model has nothing for, with the reason.
	NotSimulated []NotSimulated `json:"not_simulated"`
}

// Pair is what one source finds to one target on one path.
//
// A round trip is the floor, which the route decides, and a wait in queues: exponential, with a mean that
// follows the day. So the median is floor + ln 2 · mean, and the smallest of many lies at the floor.
type Pair struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Path   string `json:"path"`

	// FloorUS is the smallest round trip, and From what it is made of: "published" or "distance".
	FloorUS float64 `json:"floor_us"`
	From    string  `json:"from"`
	// QueueUS is the mean wait in the quietest hour, and MedianUS the median round trip then.
	QueueUS  float64 `json:"queue_us"`
	MedianUS float64 `json:"median_us"`
	// AmplitudeUS is how much higher the median is in the busiest hour of a working day than in the quietest.
	AmplitudeUS float64 `json:"amplitude_us"`
	// PeakHour is the busiest hour by the source's clock, which Zone names.
	PeakHour float64 `json:"peak_hour"`
	Zone     string  `json:"time_zone"`
	// WeekendRatio is what is left of the day's rhythm on Saturdays and Sundays.
	WeekendRatio float64 `json:"weekend_ratio"`
	// LossRatio is the part of the samples that is lost in the quietest hour, and BusyLossRatio in the busiest.
	LossRatio     float64 `json:"loss_ratio"`
	BusyLossRatio float64 `json:"busy_loss_ratio"`
	// CapacityBPS is what the path carries in the quietest hour, and WindowBytes what a stream may have
	// under way: the smaller of capacity and streams · window ÷ round trip is its throughput.
	CapacityBPS float64 `json:"capacity_bps"`
	WindowBytes float64 `json:"window_bytes"`
}

// Step is a change of route: from At on the floor of a pair is DeltaUS higher.
type Step struct {
	Source  string    `json:"source"`
	Target  string    `json:"target"`
	Path    string    `json:"path"`
	At      time.Time `json:"t"`
	DeltaUS float64   `json:"delta_us"`
}

// Congestion is a queue that stays: from At on the mean wait of a pair is QueueUS longer, by which the
// median rises by MedianUS, high quantiles by more, and the smallest round trips not at all.
type Congestion struct {
	Source   string    `json:"source"`
	Target   string    `json:"target"`
	Path     string    `json:"path"`
	At       time.Time `json:"t"`
	QueueUS  float64   `json:"queue_us"`
	MedianUS float64   `json:"median_us"`
}

// Outage is a prober that is away: its own runs expire, and those to it fail.
type Outage struct {
	Prober string    `json:"prober"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// ClockChange is a day of 23 or 25 hours: from At on the day's rhythm is an hour earlier or later by UTC.
type ClockChange struct {
	Zone          string    `json:"time_zone"`
	At            time.Time `json:"t"`
	OffsetBeforeS int       `json:"offset_before_s"`
	OffsetAfterS  int       `json:"offset_after_s"`
}

// NotSimulated is a probe that is left out.
type NotSimulated struct {
	Probe string `json:"probe"`
	Why   string `json:"why"`
}
