package probe

import (
	"bufio"
	"fmt"
	"net"

	"isochrone/prober/wire"
)

// blank is what requests and messages consist of after their header. It is never written to, so the
// kernel backs all of it with one page of zeros.
var blank [wire.MaxMessageBytes]byte

// transferLane is a connection that has one request under way at most.
type transferLane struct {
	conn   *net.TCPConn
	in     *bufio.Reader
	size   int // of a transfer
	header [wire.TransferHeaderBytes]byte
	parts  [2][]byte
	rest   net.Buffers // writing consumes it
}

// laneMemory bounds what the lanes of a run read through, together.
const laneMemory = 16 << 20

func newTransferLane(conn *net.TCPConn, size, lanes int) *transferLane {
	through := max(min(size, 64<<10, laneMemory/lanes), 4096)
	return &transferLane{conn: conn, size: size, in: bufio.NewReaderSize(conn, through)}
}

// transfer makes one request and waits for all of its answer. It allocates nothing.
func (t *transferLane) transfer(sequence uint64, read bool) error {
	outgoing, incoming := t.size, len(t.header)
	if read {
		outgoing, incoming = incoming, outgoing
	}
	wire.PutTransfer(t.header[:], sequence, read)
	t.parts = [2][]byte{t.header[:], blank[:outgoing-len(t.header)]}
	t.rest = t.parts[:]
	if _, err := t.rest.WriteTo(t.conn); err != nil {
		return err
	}
	header, err := t.in.Peek(len(t.header))
	if err != nil {
		return endOfStream(err, len(header))
	}
	if answered, _ := wire.Response(header); answered != sequence {
		return fmt.Errorf("%w: %w (%d)", errProtocol, errNotTheAnswer, answered)
	}
	_, err = t.in.Discard(incoming)
	return err
}
