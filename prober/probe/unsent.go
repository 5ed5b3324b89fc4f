package probe

import "isochrone/prober/wire"

// notSent notes that the system did not send sample s, which is marked as sent, and why. What
// the network had no way for, as where a route is gone, was sent as far as loss goes: the outage
// shows as loss. What this machine itself failed to send says nothing of the network, and was not
// sent.
func (s *sample) notSent(err error) {
	if s.failure = failureOf(err); s.failure == wire.FailureLocal {
		s.sent.Store(notYet)
	}
}
