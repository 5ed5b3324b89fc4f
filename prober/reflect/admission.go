package reflect

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// Reason says why a connection was closed, or a packet dropped, without a byte. The peer never learns it,
// unless that is said; it is the label of a counter.
type Reason string

// The reasons.
const (
	ReasonConnectionLimit Reason = "connection_limit" // too many connections in all
	ReasonPendingLimit    Reason = "pending_limit"    // it was the oldest of too many that have not shown a key
	ReasonSourceLimit     Reason = "source_limit"     // too many of those from one source
	ReasonHelloTimeout    Reason = "hello_timeout"    // the first message did not come, or came too slowly
	ReasonShortHello      Reason = "short_hello"      // the peer closed within its first message
	ReasonUnknownSession  Reason = "unknown_session"  // no such session: garbage, or one that is over and forgotten
	ReasonWrongKey        Reason = "wrong_key"        // the session exists, and the peer does not hold its key
	ReasonTooEarly        Reason = "too_early"        // before the session's time
	ReasonTooLate         Reason = "too_late"         // after its deadline
	ReasonBeforeStart     Reason = "before_start"     // the session could have run before this reflector started
	ReasonReplayed        Reason = "replayed"         // the nonce was seen before; udp: the packet was, too often
	ReasonInUse           Reason = "in_use"           // the session has a connection already; udp: it is another address or port's
	ReasonExhausted       Reason = "exhausted"        // its requests or its nonces are used up
	ReasonUnsupportedKind Reason = "unsupported_kind" // granted for a kind that is not served here
	ReasonMalformed       Reason = "malformed"        // udp: too short or long for a STAMP packet, or it contradicts itself
	ReasonWrongSize       Reason = "wrong_size"       // udp: not the size that was agreed on
	ReasonOwnReply        Reason = "own_reply"        // udp: a reply that came back, or a packet from our own port
	ReasonBadSizes        Reason = "bad_sizes"        // made with the shared key, for sizes that its kind does not have
	ReasonSessionLimit    Reason = "session_limit"    // too many sessions made with the shared key; udp: too many open
	ReasonBulkBusy        Reason = "bulk_busy"        // as many bulk sessions as may be at a time; the peer is told
	ReasonBulkRefused     Reason = "bulk_refused"     // a bulk session for what was not planned, or beyond the limits; the peer is told
)

// Reasons lists every reason, so that a counter can begin at zero for each.
func Reasons() []Reason {
	return []Reason{ReasonConnectionLimit, ReasonPendingLimit, ReasonSourceLimit, ReasonHelloTimeout, ReasonShortHello,
		ReasonUnknownSession, ReasonWrongKey, ReasonTooEarly, ReasonTooLate, ReasonBeforeStart, ReasonReplayed,
		ReasonInUse, ReasonExhausted, ReasonUnsupportedKind, ReasonMalformed, ReasonWrongSize, ReasonOwnReply, ReasonBadSizes, ReasonSessionLimit,
		ReasonBulkBusy, ReasonBulkRefused}
}

const (
	// maxSessions bounds the table. The design point, 59 sources with three kinds on two paths
	// every ten minutes, needs about 700 at a time.
	maxSessions = 20_000
	// maxNonces bounds what the holder of a session's key can make us remember.
	maxNonces = 16
	// maxBulkNonces is the same of a bulk session, whose connections have one each.
	maxBulkNonces = wire.MaxOutstanding + 4*maxNonces
	// maxLifetime bounds how long a session may last.
	maxLifetime = 24 * time.Hour
	// maxAhead is how long before its time a session may be listed: timing.lead in sweep.yaml
	// is ten minutes at the most.
	maxAhead = 15 * time.Minute
)

// moment is one reading of both clocks.
type moment struct {
	wall   time.Time     // what deadlines are compared with; may be wrong, and be set right
	uptime time.Duration // monotonic
}

// door decides who is admitted. What it has seen of a session it remembers until the deadline:
// a nonce is good once. It forgets with the process, so it admits no session whose time began
// before it did: another reflector may have seen the nonce.
//
// Neither may fail because the wall clock is set. What is left is a clock that is slow when the
// process starts and stays so: then "before it did" is too early by as much.
type door struct {
	started moment
	secret  []byte // see Config.Secret; nil where an app lists the sessions

	mu       sync.Mutex
	sessions map[wire.SessionID]*entry
	// Of the udp kind: the open sessions, each by its peer; the octets that they take (see
	// maxTracked); and what checked a control packet last.
	peers     map[peer]*stampSession
	tracked   int
	prover    *stamp.Authenticator
	proverKey wire.Key
}

type entry struct {
	session wire.Session
	listed  bool // in the newest list; only then it may be opened
	open    bool
	nonces  []wire.Nonce
	used    int           // requests answered on earlier connections
	moved   *atomic.Int64 // of a bulk kind: payload of earlier openings
	stamp   *stampSession // of the udp kind; nil until it is opened
	// keep is the uptime until which the nonces are kept whatever the wall clock says. It goes
	// by how long the session lasts, not by how long the wall clock says that is from now.
	keep time.Duration
}

// over says whether the entry can be forgotten.
func (e *entry) over(now moment) bool {
	return now.wall.After(e.session.Deadline) && (len(e.nonces) == 0 && e.stamp == nil || now.uptime > e.keep)
}

// exhausted says whether the session can have no further connection.
func (e *entry) exhausted() bool {
	if e.session.Kind.IsBulk() {
		return len(e.nonces) >= maxBulkNonces
	}
	return len(e.nonces) >= maxNonces || e.used >= e.session.MaxRequests
}

// grant is an admitted connection.
type grant struct {
	session   wire.Session
	client    wire.Nonce
	remaining int           // requests that may be answered
	moved     *atomic.Int64 // the entry's
	deadline  time.Time     // with a monotonic reading: a step of the wall clock does not move it
	answered  int
}

func newDoor(now moment) *door {
	return &door{started: now, sessions: map[wire.SessionID]*entry{}, peers: map[peer]*stampSession{}}
}

// began is when this door did, by the wall clock as it was then or as it is now, whichever is
// later: a clock that was slow at the start may have been set since.
func (d *door) began(now moment) time.Time {
	if today := now.wall.Add(d.started.uptime - now.uptime); today.After(d.started.wall) {
		return today
	}
	return d.started.wall
}

// replace takes the newest list and forgets what is over. It returns a fault for every session
// that it left out.
func (d *door) replace(sessions []wire.Session, now moment) (skipped []error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, e := range d.sessions {
		e.listed = false
		if e.over(now) {
			d.drop(id, e)
		}
	}
	for i := range sessions {
		s := &sessions[i]
		if now.wall.After(s.Deadline) {
			continue // nothing to admit, and nothing wrong
		}
		if err := check(s); err != nil {
			skipped = append(skipped, fmt.Errorf("session %s of %q, probe %q: %w", s.ID, s.Source, s.Probe, err))
			continue
		}
		e := d.sessions[s.ID]
		if e == nil {
			if len(d.sessions) >= maxSessions {
				skipped = append(skipped, fmt.Errorf("session %s of %q, probe %q: %d sessions are the limit", s.ID, s.Source, s.Probe, maxSessions))
				continue
			}
			e = &entry{}
			d.sessions[s.ID] = e
		}
		e.session, e.listed = *s, true
		e.keep = max(e.keep, now.uptime+maxAhead+s.Deadline.Sub(s.NotBefore))
	}
	return skipped
}

// check holds a session to what a reflector can bear. Whoever can write the assignments could
// otherwise make an amplifier of it.
func check(s *wire.Session) error {
	switch {
	case s.ID.IsZero() || s.Key.IsZero():
		return fmt.Errorf("no id or no key")
	case s.Deadline.Sub(s.NotBefore) > maxLifetime:
		return fmt.Errorf("lasts %s: want %s at the most", s.Deadline.Sub(s.NotBefore), maxLifetime)
	case s.Kind.IsBulk() && s.Spec.Kind != s.Kind:
		return fmt.Errorf("kind %q with a spec of kind %q", s.Kind, s.Spec.Kind)
	case s.Kind.IsBulk():
		return s.Spec.Validate()
	case s.MaxRequests < 1 || s.MaxRequests > 2*wire.MaxSamples:
		return fmt.Errorf("%d requests: want 1 to %d", s.MaxRequests, 2*wire.MaxSamples)
	case s.Kind == wire.KindUDP && (s.RequestBytes < wire.MinDatagramBytes || s.RequestBytes > wire.MaxDatagramBytes):
		return fmt.Errorf("packets of %d bytes: want %d to %d", s.RequestBytes, wire.MinDatagramBytes, wire.MaxDatagramBytes)
	case s.Kind != wire.KindTCP: // of udp the replies have the requests' size
		return nil // others are refused when they are opened, and counted
	case s.RequestBytes < wire.MinMessageBytes || s.RequestBytes > wire.MaxMessageBytes:
		return fmt.Errorf("requests of %d bytes: want %d to %d", s.RequestBytes, wire.MinMessageBytes, wire.MaxMessageBytes)
	case s.ResponseBytes < wire.MinMessageBytes || s.ResponseBytes > s.RequestBytes:
		return fmt.Errorf("responses of %d bytes to requests of %d: want %d to the request's size", s.ResponseBytes, s.RequestBytes, wire.MinMessageBytes)
	}
	return nil
}

// enter decides over a first message. Exactly one of grant and reason is set.
func (d *door) enter(hello [wire.ClientHelloBytes]byte, now moment) (*grant, Reason) {
	id, nonce := wire.ReadClientHello(hello)
	d.mu.Lock()
	defer d.mu.Unlock()
	// The key before everything else: only who holds it may leave a trace in the table, or in
	// the counters that an operator reads as a fault of our own.
	e, reason := d.find(id, wire.KindTCP, now, func(s *wire.Session) bool { return wire.VerifyClientHello(hello, s.Key, s.Kind) })
	if reason != "" {
		return nil, reason
	}
	s := &e.session
	switch {
	case s.Kind != wire.KindTCP && !s.Kind.IsBulk():
		return nil, ReasonUnsupportedKind
	case s.NotBefore.Before(d.began(now)): // the app has allowed for clocks that differ in NotBefore
		return nil, ReasonBeforeStart
	case now.wall.Before(s.NotBefore):
		return nil, ReasonTooEarly
	case !now.wall.Before(s.Deadline):
		return nil, ReasonTooLate
	case slices.Contains(e.nonces, nonce):
		return nil, ReasonReplayed
	case e.open: // never of a bulk session, which has many connections
		return nil, ReasonInUse
	case e.exhausted():
		return nil, ReasonExhausted
	}
	e.nonces = append(e.nonces, nonce)
	e.open = !s.Kind.IsBulk()
	if e.moved == nil && s.Kind.IsBulk() {
		e.moved = new(atomic.Int64)
	}
	return &grant{
		session: *s, client: nonce, moved: e.moved,
		remaining: s.MaxRequests - e.used, deadline: time.Now().Add(s.Deadline.Sub(now.wall)),
	}, ""
}

// leave ends an admitted connection.
func (d *door) leave(g *grant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.sessions[g.session.ID]; e != nil {
		e.open = false
		e.used += g.answered
	}
}
