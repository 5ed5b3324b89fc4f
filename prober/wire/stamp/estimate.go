package stamp

import "math"

// ErrorEstimate is a clock's bound on its error, with the format of its time stamps (RFC 8762,
// section 4.2.1; RFC 4656, section 4.1.2):
//
//	S (1 bit) | Z (1) | scale (6) | multiplier (8)    error = multiplier × 2^(scale−32) seconds
type ErrorEstimate uint16

const (
	synchronized ErrorEstimate = 1 << 15
	ptp          ErrorEstimate = 1 << 14
)

// UnknownError is the Error Estimate of a clock that nothing is known of: not synchronized, the
// greatest error, time stamps in NTP's format.
const UnknownError ErrorEstimate = 0x3fff

// EstimateOf is the Error Estimate of a clock that an outside source keeps within boundNS
// nanoseconds of UTC, rounded up, with time stamps in NTP's format; nil: UnknownError.
func EstimateOf(boundNS *int64) ErrorEstimate {
	if boundNS == nil {
		return UnknownError
	}
	seconds, rest := split(max(*boundNS, 0))
	// In 2^-32 s, or in seconds where that would not fit 64 bits.
	units, scale := uint64(seconds)<<32+(uint64(rest)<<32+uint64(second)-1)/uint64(second), 0
	if seconds >= math.MaxInt32 {
		units, scale = uint64(seconds)+1, 32
	}
	for ; units > math.MaxUint8; scale++ {
		units = (units + 1) / 2
	}
	return synchronized | ErrorEstimate(scale<<8) | ErrorEstimate(max(units, 1)) // a multiplier of 0 is not allowed
}

// Synchronized says whether an outside source keeps the clock on UTC (bit S).
func (e ErrorEstimate) Synchronized() bool { return e&synchronized != 0 }

// PTP says whether time stamps are in PTPv2's truncated format, not in NTP's (bit Z).
func (e ErrorEstimate) PTP() bool { return e&ptp != 0 }

// Scale is the exponent, 0 to 63, of the error's unit 2^(scale−32) seconds.
func (e ErrorEstimate) Scale() int { return int(e >> 8 & 0x3f) }

// Multiplier is the error in units of 2^(scale−32) seconds; 0 is not allowed.
func (e ErrorEstimate) Multiplier() int { return int(e & 0xff) }

// BoundNS is the error in nanoseconds, rounded up, at most the greatest int64. False says that
// the estimate is not valid: its multiplier is 0. It says nothing about UTC unless Synchronized.
func (e ErrorEstimate) BoundNS() (int64, bool) {
	if e.Multiplier() == 0 {
		return 0, false
	}
	// Exact: the product has at most 8 + 30 significant bits before the power of two.
	bound := math.Ceil(math.Ldexp(float64(e.Multiplier())*float64(second), e.Scale()-32))
	if bound >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(bound), true
}

// Stamp is an instant in Unix nanoseconds as a time stamp in the format that the estimate names.
func (e ErrorEstimate) Stamp(unixNS int64) Timestamp {
	if e.PTP() {
		return PTP(unixNS)
	}
	return NTP(unixNS)
}
