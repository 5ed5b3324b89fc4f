package reflect

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"isochrone/prober/wire"
)

// chunk is the largest piece in which a request is read: its content is of no interest, so a
// request of a mebibyte does not cost one.
const chunk = 64 << 10

// padding is what responses consist of after their header. It is never written to, so the
// kernel backs all of it with one page of zeros.
var padding [wire.MaxMessageBytes]byte

// reflect answers the requests of an admitted connection until the peer closes it, its requests
// are used up, or the deadline comes; the first two are no error.
func (r *Reflector) reflect(conn *net.TCPConn, g *grant) error {
	// One deadline for all reads and writes: neither silence nor a peer that does not read its
	// responses outlasts the session.
	if err := errors.Join(conn.SetDeadline(g.deadline), conn.SetNoDelay(true)); err != nil {
		return fmt.Errorf("preparing the connection: %w", err)
	}
	hello := wire.ReflectorHello(g.session.Key, g.session.Kind, g.session.ID, g.client, wire.NewNonce())
	if _, err := conn.Write(hello[:]); err != nil {
		return fmt.Errorf("answering the first message: %w", err)
	}
	in := make([]byte, min(g.session.RequestBytes, chunk))
	out := make([]byte, wire.MinMessageBytes)
	parts := make(net.Buffers, 2)
	rest := new(net.Buffers) // writing consumes it; it is declared here so that no request allocates
	for ; g.remaining > 0; g.remaining-- {
		sequence, err := readRequest(conn, in, g.session.RequestBytes)
		held := time.Now() // from here the request is ours
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading request %d: %w", g.answered, err)
		}
		// Header and padding leave in one system call, so in one segment where they fit.
		parts[0], parts[1] = out, padding[:g.session.ResponseBytes-len(out)]
		*rest = parts
		wire.PutResponse(out, sequence, time.Since(held))
		if _, err := rest.WriteTo(conn); err != nil {
			return fmt.Errorf("writing response %d: %w", g.answered, err)
		}
		g.answered++
	}
	return nil
}

// readRequest reads one whole request of size bytes through in, and returns its sequence
// number. io.EOF means that the peer closed between two requests.
func readRequest(conn io.Reader, in []byte, size int) (sequence uint64, err error) {
	if _, err := io.ReadFull(conn, in); err != nil {
		return 0, err
	}
	sequence = wire.RequestSequence(in)
	for left := size - len(in); left > 0; {
		n, err := conn.Read(in[:min(left, len(in))])
		if left -= n; err != nil && left > 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	return sequence, nil
}
