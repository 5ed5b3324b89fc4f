package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// load is this end of a load session: every user has a connection, whose requests are answered one
// after the other, each with how long it was held.
type load struct{ session *bulkSession }

func newLoad(s *bulkSession) bulkServer { return &load{s} }

// control waits for the source to end the session.
func (l *load) control(_ context.Context, c *bulkConn) error {
	var nothing struct{}
	if err := c.receive(&nothing); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("waiting for the end of the session: %w", err)
	}
	return nil
}

// payload answers the requests of one user. It allocates nothing for each.
func (l *load) payload(_ context.Context, c *bulkConn) error {
	spec := l.session.spec
	in, out := make([]byte, min(spec.RequestBytes, chunk)), make([]byte, wire.MinMessageBytes)
	rest := padding[:spec.ResponseBytes-len(out)]
	to := &polled{TCPConn: c.TCPConn}
	for answered := 0; ; answered++ {
		sequence, err := readRequest(to, in, spec.RequestBytes)
		held := socket.Now() // from here the request is ours
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading request %d: %w", answered, err)
		}
		if !l.session.budget.TakeWhole(int64(spec.RequestBytes + spec.ResponseBytes)) {
			return nil // the source counts the same, and has no answer to wait for
		}
		wire.PutResponse(out, sequence, socket.Now().Sub(held))
		if err := to.WriteParts(out, rest); err != nil {
			return fmt.Errorf("writing response %d: %w", answered, err)
		}
	}
}
