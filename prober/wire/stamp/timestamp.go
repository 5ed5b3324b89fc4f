package stamp

// Timestamp is a time stamp as it stands in a packet. Which of the two formats of RFC 8762,
// section 4.2.1, it has is said by the Error Estimate of who wrote it:
//
//	NTP     seconds since 1900 modulo 2^32 (32 bits), fraction of a second in 2^-32 (32 bits); RFC 5905
//	PTPv2   seconds since 1970 modulo 2^32 (32 bits), nanoseconds (32 bits); IEEE 1588, truncated
//
// True PTP time is TAI, 37 s ahead of UTC since 2017, but some reflectors write UTC in its
// format: differences of stamps from two clocks may be off by that.
type Timestamp uint64

const (
	second    = int64(1e9)         // in nanoseconds
	unixIsNTP = uint32(2208988800) // 1970-01-01 in NTP seconds
	half      = uint64(1) << 31    // of 2^32, to round with
)

// NTP is the time stamp, in NTP's format, of an instant in Unix nanoseconds. Unix gives back
// the same nanosecond.
func NTP(unixNS int64) Timestamp {
	seconds, rest := split(unixNS)
	// Rounded down, so by less than a quarter of a nanosecond; Unix rounds to the nearest.
	fraction := uint64(rest) << 32 / uint64(second)
	return Timestamp(uint64(uint32(seconds)+unixIsNTP)<<32 | fraction)
}

// PTP is the time stamp, in PTPv2's truncated format, of an instant in Unix nanoseconds. It
// stays in UTC.
func PTP(unixNS int64) Timestamp {
	seconds, rest := split(unixNS)
	return Timestamp(uint64(uint32(seconds))<<32 | uint64(rest))
}

// Unix is the stamp's instant in Unix nanoseconds, in the format that its writer's Error
// Estimate names. The seconds wrap every 136 years (NTP's next in 2036): of the instants that
// the stamp may mean, it is the one nearest to the second of near. False says that the stamp is
// no time: PTPv2 with 10^9 nanoseconds or more.
func (t Timestamp) Unix(e ErrorEstimate, near int64) (unixNS int64, ok bool) {
	base, _ := split(near)
	zero := uint32(base)
	if !e.PTP() {
		zero += unixIsNTP
	}
	// Signed, so that it is right on both sides of a wrap.
	since := int64(uint64(t) - uint64(zero)<<32)
	seconds, rest := base+since>>32, int64(uint32(since))
	if !e.PTP() {
		rest = int64((uint64(rest)*uint64(second) + half) >> 32)
	} else if rest >= second {
		return 0, false
	}
	return seconds*second + rest, true
}

// split is Unix nanoseconds as whole seconds, rounded down, with nanoseconds from 0.
func split(unixNS int64) (seconds, rest int64) {
	seconds, rest = unixNS/second, unixNS%second
	if rest < 0 {
		seconds, rest = seconds-1, rest+second
	}
	return seconds, rest
}
