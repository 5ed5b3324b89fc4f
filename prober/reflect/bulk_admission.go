package reflect

import (
	"context"
	"fmt"
	"sync"

	"isochrone/prober/wire"
)

// bulkDoor holds the bulk sessions that are under way: two at a time would measure each other.
type bulkDoor struct {
	sessions int   // at a time
	bytes    int64 // of a session with the shared key
	shared   bool

	mu   sync.Mutex
	live map[wire.SessionID]*bulkSession
}

// refusal is why a connection is not to be used. Its peer has proved the key, and is told.
type refusal struct {
	reason Reason
	told   wire.Accepted
}

func turnAway(reason Reason, failure wire.Failure, format string, args ...any) *refusal {
	return &refusal{reason, wire.Accepted{Failure: failure, Detail: wire.CutDetail(fmt.Sprintf(format, args...))}}
}

// open decides over a control connection. Exactly one of the session and the refusal is set.
func (d *bulkDoor) open(ctx context.Context, o wire.Opening, g *grant) (*bulkSession, *refusal) {
	if no := d.check(o, g); no != nil {
		return nil, no
	}
	s := &bulkSession{
		spec: o.Spec, budget: wire.NewBudget(o.Spec.Bulk.MaxBytes), ctx: ctx, taken: map[seat]bool{},
	}
	s.deadline, _ = ctx.Deadline() // it has one
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.live[g.session.ID] != nil:
		return nil, turnAway(ReasonInUse, wire.FailureProtocol, "the session has a control connection already")
	case len(d.live) >= d.sessions:
		return nil, turnAway(ReasonBulkBusy, wire.FailureTargetBusy, "it serves as many runs that load the network as it may: %d", d.sessions)
	}
	// Who opens a session again goes on with its budget.
	if moved := g.moved.Load(); s.budget.Take(moved) < moved || s.budget.Left() == 0 {
		return nil, turnAway(ReasonBulkRefused, wire.FailureBudget, "the session has moved the %d bytes that it may: open another", o.Spec.Bulk.MaxBytes)
	}
	if s.server = newBulkServer(s); s.server == nil {
		return nil, turnAway(ReasonUnsupportedKind, wire.FailureUnsupported, "kind %q is not served by this version", o.Spec.Kind)
	}
	d.live[g.session.ID] = s
	return s, nil
}

// join decides over another connection of a session.
func (d *bulkDoor) join(o wire.Opening, g *grant) (*bulkSession, *refusal) {
	d.mu.Lock()
	s := d.live[g.session.ID]
	d.mu.Unlock()
	switch {
	case s == nil:
		return nil, turnAway(ReasonBulkRefused, wire.FailureProtocol, "the session has no control connection")
	case s.spec != o.Spec:
		return nil, turnAway(ReasonBulkRefused, wire.FailureUnsupported, "the connection's spec is not its session's")
	case o.Index < 0 || o.Index >= seats(o.Spec, o.Role):
		return nil, turnAway(ReasonBulkRefused, wire.FailureUnsupported, "connection %d of role %q: the session has %d", o.Index, o.Role, seats(o.Spec, o.Role))
	case !s.sit(o):
		return nil, turnAway(ReasonInUse, wire.FailureProtocol, "connection %d of role %q is there already, or the session is over", o.Index, o.Role)
	}
	return s, nil
}

// close ends the grant's session, and keeps what it has used of its budget.
func (d *bulkDoor) close(g *grant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g.moved.Store(d.live[g.session.ID].budget.Used())
	delete(d.live, g.session.ID)
}

// check holds an opening to what the app listed, or to this reflector's own limits.
func (d *bulkDoor) check(o wire.Opening, g *grant) *refusal {
	listed := &g.session
	switch err := o.Spec.Validate(); {
	case err != nil:
		return turnAway(ReasonBulkRefused, wire.FailureUnsupported, "the spec is not valid: %s", err)
	case o.Spec.Kind != listed.Kind || o.Index != 0:
		return turnAway(ReasonBulkRefused, wire.FailureUnsupported, "the session is of kind %q", listed.Kind)
	case !d.shared && o.Spec != listed.Spec:
		return turnAway(ReasonBulkRefused, wire.FailureUnsupported, "the spec is not the one that was planned")
	case d.shared && (o.Spec.RequestBytes != listed.RequestBytes || o.Spec.ResponseBytes != listed.ResponseBytes):
		return turnAway(ReasonBulkRefused, wire.FailureUnsupported, "the spec's sizes are not those of the session's id")
	case d.shared && o.Spec.Bulk.MaxBytes > d.bytes:
		return turnAway(ReasonBulkRefused, wire.FailureBudget, "the reflector lets a session move %d bytes, and %d were asked for: ask for less, or start it with a larger --max-bytes", d.bytes, o.Spec.Bulk.MaxBytes)
	}
	return nil
}

// seats is how many connections of the role a session has at the most, its control connection left out.
func seats(spec wire.Spec, role wire.Role) int {
	b := spec.Bulk
	streams := b.Streams
	if streams == 0 {
		streams = wire.MaxStreams
	}
	switch {
	case spec.Kind == wire.KindThroughput && role == wire.RoleUp && b.Direction != wire.DirectionDown,
		spec.Kind == wire.KindThroughput && role == wire.RoleDown && b.Direction != wire.DirectionUp:
		return streams
	case spec.Kind == wire.KindSaturate && role == wire.RoleRequest:
		return b.Outstanding
	case spec.Kind == wire.KindStream && role == wire.RoleUp:
		return 1
	case spec.Kind == wire.KindLoad && role == wire.RoleRequest && !spec.AsksURL():
		return b.Users
	}
	return 0
}
