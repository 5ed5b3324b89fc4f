package reflect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"isochrone/prober/wire"
)

// saturate is this end of a saturate session: every connection is answered by itself, one request after
// the other.
type saturate struct{ session *bulkSession }

func newSaturate(s *bulkSession) bulkServer { return &saturate{s} }

// control waits for the session's end: the source says nothing on this connection.
func (s *saturate) control(_ context.Context, c *bulkConn) error { return awaitEnd(c) }

// awaitEnd returns when the peer has closed the connection. An octet on it is a fault.
func awaitEnd(c *bulkConn) error {
	var b [1]byte
	switch n, err := c.Read(b[:]); {
	case n > 0:
		return errors.New("reading the control connection: something came, where nothing may")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the control connection: %w", err)
	}
	return nil
}

func (s *saturate) payload(_ context.Context, c *bulkConn) error {
	spec := s.session.spec
	through := max(min(spec.RequestBytes, chunk, transferMemory/spec.Bulk.Outstanding), 4096)
	return newTransfers(c.TCPConn, spec.RequestBytes, through, s.session.budget).serve()
}

// transferMemory bounds what the connections of a session are read through, together.
const transferMemory = 16 << 20

// transfers answers the requests of one connection.
type transfers struct {
	out    io.Writer
	in     *bufio.Reader
	size   int // of a transfer
	budget *wire.Budget
	answer [wire.TransferHeaderBytes]byte
	parts  [2][]byte
	rest   net.Buffers // writing consumes it
}

func newTransfers(conn io.ReadWriter, size, through int, budget *wire.Budget) *transfers {
	return &transfers{out: conn, size: size, budget: budget, in: bufio.NewReaderSize(conn, through)}
}

// serve answers requests until the peer closes the connection between two of them, or the budget is
// used up. It allocates nothing for each.
func (t *transfers) serve() error {
	for n := 0; ; n++ {
		header, err := t.in.Peek(wire.TransferHeaderBytes)
		if errors.Is(err, io.EOF) && len(header) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading request %d: %w", n, err)
		}
		sequence, read, ok := wire.Transfer(header)
		if !ok {
			return fmt.Errorf("reading request %d: it neither reads nor writes", n)
		}
		if !t.budget.TakeWhole(int64(t.size)) { // before anything of it is moved
			return nil
		}
		if err := t.transfer(sequence, read); err != nil {
			return fmt.Errorf("answering request %d: %w", n, err)
		}
	}
}

// transfer takes what is written, and answers.
func (t *transfers) transfer(sequence uint64, read bool) error {
	incoming, outgoing := t.size, len(t.answer)
	if read {
		incoming, outgoing = outgoing, incoming
	}
	if _, err := t.in.Discard(incoming); err != nil {
		return err
	}
	wire.PutResponse(t.answer[:], sequence, 0)
	t.parts = [2][]byte{t.answer[:], padding[:outgoing-len(t.answer)]}
	t.rest = t.parts[:]
	_, err := t.rest.WriteTo(t.out)
	return err
}
