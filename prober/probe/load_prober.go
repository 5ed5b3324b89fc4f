package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

func (p *Prober) loadProber(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	began := time.Now()
	// The session outlives ctx by the grace; its opening does not.
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	opened := context.AfterFunc(ctx, end)
	link, err := p.openBulk(session, req, address)
	if err != nil {
		return setupFailed(req, began, err)
	}
	defer link.close()
	if !opened() {
		return setupFailed(req, began, fmt.Errorf("%w: %w", errStopped, ctx.Err()))
	}
	l := newLoad(req, link.budget)
	l.least = int64(link.rtt)
	dialing, padding := make(chan struct{}, maxDialing), make([]byte, req.Spec.RequestBytes-wire.MinMessageBytes)
	return l.make(ctx, req, func(asking context.Context, i int) asker {
		return &targetUser{
			load: l, link: link, asking: asking, index: i, dialing: dialing, padding: padding,
			header: make([]byte, wire.MinMessageBytes), response: make([]byte, min(req.Spec.ResponseBytes, responseChunk)),
		}
	})
}

// responseChunk is the largest piece in which a response is read: its content is of no interest.
const responseChunk = 16 << 10

// targetUser asks a prober's reflector.
type targetUser struct {
	load    *load
	link    *bulkLink
	asking  context.Context // of the run
	index   int
	dialing chan struct{} // holds a token for each user that opens its connection
	conn    *net.TCPConn  // nil: it has none
	dropped bool          // it had one before
	in      incoming      // what is read from it
	// uncut takes away what ends the connection with the run.
	uncut func() bool

	sequence                  uint64
	header, padding, response []byte // padding is all users'
	parts                     [2][]byte
	rest                      net.Buffers // writing consumes it
}

// ready opens the connection, and then takes from the budget what a request and its response are: a
// target that cannot be reached costs none of it.
func (u *targetUser) ready() error {
	if u.conn == nil {
		if err := u.connect(); err != nil {
			return err
		}
	}
	if !u.link.budget.TakeWhole(int64(u.load.spec.RequestBytes + u.load.spec.ResponseBytes)) {
		return errBudget
	}
	return nil
}

func (u *targetUser) connect() error {
	select {
	case u.dialing <- struct{}{}:
	case <-u.asking.Done():
		return u.asking.Err()
	}
	defer func() { <-u.dialing }()
	conn, err := u.link.connect(u.asking, wire.RoleRequest, u.index)
	if err != nil {
		return err
	}
	if u.conn, u.sequence = conn, 0; u.dropped {
		u.dropped = false
		u.load.mu.Lock()
		u.load.reopened++
		u.load.mu.Unlock()
	}
	u.in, _ = incomingOf(conn)
	u.uncut = context.AfterFunc(u.asking, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return nil
}

// ask makes one request. It allocates nothing.
func (u *targetUser) ask() (answer, error) {
	got := answer{server: notYet, client: notYet, dns: notYet, connect: notYet, tls: notYet, firstByte: notYet}
	began := socket.Now()
	held, arrived, err := u.exchange(began)
	got.ended = socket.Now()
	got.client = ownShare(began, got.ended, arrived)
	if err != nil {
		if got.failure = failureOf(err); u.asking.Err() != nil {
			got.failure = wire.FailureCanceled
		}
		u.drop()
		return got, fmt.Errorf("asking %q: %w", u.link.address, err)
	}
	// More than there was time for is kept, as of http; more than a document holds is not.
	if held >= 0 && held <= maxServerTime {
		got.server = int64(held)
	}
	return got, nil
}

// exchange returns how long the target held the request, and when the last of its response arrived, in
// Unix nanoseconds, or 0 where that is not known.
func (u *targetUser) exchange(began time.Time) (held time.Duration, arrived int64, err error) {
	if err := u.conn.SetDeadline(began.Add(u.load.spec.Timeout)); err != nil {
		return 0, 0, err
	}
	if u.asking.Err() != nil { // whose end may have set another just before
		return 0, 0, u.asking.Err()
	}
	wire.PutRequest(u.header, u.sequence)
	u.parts = [2][]byte{u.header, u.padding}
	u.rest = u.parts[:]
	wrote, err := u.rest.WriteTo(u.conn)
	u.load.up.Add(wrote)
	if err != nil {
		return 0, 0, err
	}
	for have, size := 0, u.load.spec.ResponseBytes; have < size; {
		at := min(have, wire.MinMessageBytes) // the header stays
		n, stamp, err := u.in.Read(u.response[at:min(len(u.response), at+size-have)])
		u.load.down.Add(int64(n))
		if err != nil {
			return 0, 0, endOfStream(err, have)
		}
		have, arrived = have+n, stamp
	}
	sequence, held := wire.Response(u.response)
	if sequence != u.sequence {
		return 0, 0, fmt.Errorf("%w: a response to request %d, where that to %d is due", errProtocol, sequence, u.sequence)
	}
	u.sequence++
	return held, arrived, nil
}

// drop gives the connection up. What the target still sends on it nobody reads.
func (u *targetUser) drop() {
	u.uncut()
	_ = u.conn.SetLinger(0) // so that the target hears of it at once, and lets the next one in
	_ = u.conn.Close()
	u.conn, u.dropped = nil, true
}

func (u *targetUser) close() *wire.TCPInfo {
	if u.conn == nil {
		return nil
	}
	info := tcpInfo(u.conn)
	u.uncut()
	_ = u.conn.Close() // nothing is left to be said on it
	u.conn = nil
	return info
}
