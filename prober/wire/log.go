package wire

import "log/slog"

// What carries a key logs itself without it. slog's handlers would otherwise ask for the JSON or
// text form, and that form has to hold the key.

// LogValue hides the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// LogValue says whose session it is.
func (s Session) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", s.ID.String()), slog.String("source", s.Source), slog.String("path", s.Path),
		slog.String("probe", s.Probe), slog.String("kind", string(s.Kind)))
}

// LogValue says which run it is.
func (r AssignedRun) LogValue() slog.Value {
	return slog.GroupValue(slog.String("target", r.Target), slog.String("path", r.Path), slog.String("address", r.Address),
		slog.String("failure", string(r.Failure)))
}

// LogValue says which assignment it is.
func (a Assignment) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", a.ID), slog.String("slot", SlotName(a.Slot)), slog.String("probe", a.Probe),
		slog.Int("part", a.Part), slog.Int("runs", len(a.Runs)))
}

// LogValue says how much there is to do.
func (c Current) LogValue() slog.Value {
	return slog.GroupValue(slog.String("prober", c.Prober), slog.Int("assignments", len(c.Assignments)), slog.Int("sessions", len(c.Sessions)))
}
