package wire

import "encoding/binary"

// The messages of the saturate kind, after the handshake and the Opening. A transfer has the agreed
// size, its header included; the side that does not send it sends the header alone. Big-endian; the
// rest is zero and is not looked at.
//
//	request    sequence number (8) | 0: the source writes, 1: it reads (8) | of a write …
//	answer     sequence number (8) | zero (8) | of a read …
const TransferHeaderBytes = MinMessageBytes

const (
	transferWrite = 0
	transferRead  = 1
)

// PutTransfer writes a request's header.
func PutTransfer(b []byte, sequence uint64, read bool) {
	direction := uint64(transferWrite)
	if read {
		direction = transferRead
	}
	binary.BigEndian.PutUint64(b, sequence)
	binary.BigEndian.PutUint64(b[8:], direction)
}

// Transfer reads a request's header. It is not ok where the direction is none.
func Transfer(b []byte) (sequence uint64, read, ok bool) {
	direction := binary.BigEndian.Uint64(b[8:])
	return binary.BigEndian.Uint64(b), direction == transferRead, direction <= transferRead
}

// IsRead says whether request i of a saturate run, counted from 0, is one that the source reads. The two
// alternate as evenly as the share allows: of any hundred requests in a row exactly percent are reads.
func IsRead(i int64, percent int) bool {
	i %= 100
	return (i+1)*int64(percent)/100 != i*int64(percent)/100
}

// NextLevel is the number of outstanding requests after n of a saturate run whose limit is most.
func NextLevel(n, most int) int { return min(2*n, most) }

// Knee is where a saturate run has its knee: the last level before the one at which the 99th
// percentile of the response time had at least doubled. ok is false where it never did. A level that
// was cut short says nothing.
func Knee(levels []Level) (knee int, ok bool) {
	last := len(levels) - 1
	if last < 1 || levels[last].CountedNS < levels[last-1].CountedNS {
		return 0, false
	}
	if levels[last-1].P99NS == 0 || levels[last].P99NS < 2*levels[last-1].P99NS {
		return 0, false
	}
	return last - 1, true
}

// Band is the index in Level.Bands of a response time in nanoseconds.
func Band(ns int64) int {
	for i, end := range bandEndsMS {
		if ns < int64(end)*1e6 {
			return i
		}
	}
	return len(bandEndsMS)
}

var bandEndsMS = BandEndsMS() // made once: Band is called for every request
