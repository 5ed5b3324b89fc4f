package stamp

// What the tests make a reflector understand beside what this package does.

// Source is what keeps a clock in time (RFC 8972, section 4.3).
type Source uint8

const (
	SourceNTP         Source = 1
	SourcePTP         Source = 2
	SourceSSU         Source = 3 // SSU or BITS
	SourceSatellite   Source = 4 // GNSS and the like
	SourceFreeRunning Source = 5
)

// TimestampInformation is what a reflector says of its time stamps T2 (In) and T3 (Out); all
// zero in a request.
type TimestampInformation struct {
	SourceIn  Source
	MethodIn  Method
	SourceOut Source
	MethodOut Method
}

const timestampInformationBytes = 4

// TimestampInformation reads a TLV of TypeTimestampInformation; false: it is none, or has
// another length.
func (t TLV) TimestampInformation() (TimestampInformation, bool) {
	if t.Type != TypeTimestampInformation || len(t.Value) != timestampInformationBytes {
		return TimestampInformation{}, false
	}
	return TimestampInformation{Source(t.Value[0]), Method(t.Value[1]), Source(t.Value[2]), Method(t.Value[3])}, true
}

// SetTimestampInformation writes into a TLV of TypeTimestampInformation; false: it is none, or
// has another length.
func (t TLV) SetTimestampInformation(i TimestampInformation) bool {
	if _, ok := t.TimestampInformation(); !ok {
		return false
	}
	t.Value[0], t.Value[1], t.Value[2], t.Value[3] = byte(i.SourceIn), byte(i.MethodIn), byte(i.SourceOut), byte(i.MethodOut)
	return true
}

// SetReport writes a report into a TLV of TypeReport; false: it is none, or has another length.
func (t TLV) SetReport(r Report) bool {
	if _, ok := t.Report(); !ok {
		return false
	}
	appendReport(t.Value[:0], r)
	return true
}
