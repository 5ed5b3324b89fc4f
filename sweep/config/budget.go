package config

// Budget bounds what bulk runs may send, in bytes: the sum of their max_bytes. It is zero where no
// probe is bulk.
type Budget struct {
	Sweep int64 // by the runs of one slot
	Month int64 // by the runs of all slots of a calendar month, UTC
}

// maxBudget is the largest budget: a petabyte is more than anybody means.
const maxBudget = 1e15

// budget reads the section of that name, which a file with bulk probes must have.
func (r *reader) budget(file section, c *Config) {
	n := file.values["budget"]
	if n == nil {
		return
	}
	s, ok := r.mapping("budget", n, "sweep", "month")
	if !ok {
		return
	}
	s.need("sweep", "month")
	for _, b := range []struct {
		key string
		to  *int64
	}{{"sweep", &c.Budget.Sweep}, {"month", &c.Budget.Month}} {
		if s.quantity(b.key, byteUnits, b.to) && s.has(b.key) && (*b.to < 1 || *b.to > maxBudget) {
			r.fault(s.lineOf(b.key), "%s %s: want 1B to %s", s.place(b.key), FormatBytes(*b.to), FormatBytes(maxBudget))
			*b.to = 0
		}
	}
	if c.Budget.Sweep > 0 && c.Budget.Month > 0 && c.Budget.Month < c.Budget.Sweep {
		r.fault(s.lineOf("month"), "budget.month %s: is less than the %s of one sweep; raise it, or lower budget.sweep", FormatBytes(c.Budget.Month), FormatBytes(c.Budget.Sweep))
	}
}

// needsBudget reports a file that has bulk probes and no budget.
func (r *reader) needsBudget(file section, probes []probeEntry) {
	if file.has("budget") || file.meant["budget"] {
		return
	}
	for i := range probes {
		if p := &probes[i]; p.Spec.Kind.IsBulk() {
			r.fault(p.line, "%s: is of kind %q, and the file has no budget; say what one sweep and one month may send, such as budget: {sweep: 200GB, month: 5TB}", p.at, p.Spec.Kind)
			return
		}
	}
}
