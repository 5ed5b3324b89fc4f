package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// chunk is the largest piece in which a request is read: its content is of no interest, so a
// request of a mebibyte does not cost one.
const chunk = 64 << 10

// padding is what responses consist of after their header. It is never written to, so the
// kernel backs all of it with one page of zeros.
var padding [wire.MaxMessageBytes]byte

// channel is an admitted connection, as far as answering goes. WriteParts writes both parts in one
// system call, so in one segment where they fit.
type channel interface {
	io.Reader
	WriteParts(first, second []byte) error
}

// polled is a channel that waits in the runtime's poller.
type polled struct {
	*net.TCPConn
	parts [2][]byte
	rest  net.Buffers // writing consumes it
}

func (p *polled) WriteParts(first, second []byte) error {
	p.parts = [2][]byte{first, second}
	p.rest = p.parts[:]
	_, err := p.rest.WriteTo(p.TCPConn)
	return err
}

// reflect answers the requests of an admitted connection until the peer closes it, its requests
// are used up, or the deadline comes; the first two are no error.
func (r *Reflector) reflect(ctx context.Context, conn *net.TCPConn, g *grant) error {
	// One deadline for all reads and writes: neither silence nor a peer that does not read its
	// responses outlasts the session.
	if err := errors.Join(conn.SetDeadline(g.deadline), conn.SetNoDelay(true)); err != nil {
		return fmt.Errorf("preparing the connection: %w", err)
	}
	hello := wire.ReflectorHello(g.session.Key, g.session.Kind, g.session.ID, g.client, wire.NewNonce())
	if _, err := conn.Write(hello[:]); err != nil {
		return fmt.Errorf("answering the first message: %w", err)
	}
	// Waking up is part of the round trip that the source measures. As long as there are few
	// sessions each has a thread, which the kernel wakes.
	if r.threads.Take() {
		defer r.threads.Give()
		if alone, end := detach(ctx, conn, g.deadline); alone != nil {
			defer end()
			return answer(alone, g)
		}
	}
	return answer(&polled{TCPConn: conn}, g)
}

// answer answers requests. It allocates nothing for each.
func answer(c channel, g *grant) error {
	in := make([]byte, min(g.session.RequestBytes, chunk))
	out := make([]byte, wire.MinMessageBytes)
	rest := padding[:g.session.ResponseBytes-len(out)]
	for ; g.remaining > 0; g.remaining-- {
		sequence, err := readRequest(c, in, g.session.RequestBytes)
		held := socket.Now() // from here the request is ours
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading request %d: %w", g.answered, err)
		}
		wire.PutResponse(out, sequence, socket.Now().Sub(held))
		if err := c.WriteParts(out, rest); err != nil {
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
