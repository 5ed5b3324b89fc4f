package ingest

import (
	"errors"
	"fmt"
	"math"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/plan"
)

// windowSlack is how far a time in a document may lie outside the assignment's: the prober's
// clock and the app's differ, and a run may notice its deadline a little late.
const windowSlack = 10 * time.Second

// Longest texts and largest counts that a row has room for. A prober writes far less.
const (
	maxTextBytes = 200
	maxCount     = math.MaxInt32
)

// match holds a prober's document against the plan. The prober's id comes from the path that
// storage let it write to; what the document says must be what was planned for that prober, in
// that sweep, and nothing else. A fault found here is final.
func match(d *wire.Document, name wire.InboxName, p *plan.Plan) (*plan.Assignment, error) {
	a, ok := p.Assignment(name.Assignment)
	switch {
	case !ok:
		return nil, fmt.Errorf("the plan of slot %s has no assignment %q", wire.SlotName(p.Slot), name.Assignment)
	case a.Source != name.Prober:
		return nil, fmt.Errorf("assignment %q is that of prober %q, and the document lay in the folder of %q", a.ID, a.Source, name.Prober)
	case d.Assignment != a.ID:
		return nil, fmt.Errorf("the document says assignment %.64q, and its blob's name %q", d.Assignment, a.ID)
	case d.Source != a.Source:
		return nil, fmt.Errorf("the document says source %.64q, and lay in the folder of %q", d.Source, a.Source)
	case d.Attempt != name.Attempt:
		return nil, fmt.Errorf("the document says attempt %.64q, and its blob's name %q", d.Attempt, name.Attempt)
	case p.Slot.Format("1504") != name.HHMM:
		return nil, fmt.Errorf("the document says slot %s, and its blob's name %s", wire.SlotName(p.Slot), name.HHMM)
	case d.Probe != a.Probe || d.Part != a.Part:
		return nil, fmt.Errorf("the document says probe %.64q part %d; planned are %q part %d", d.Probe, d.Part, a.Probe, a.Part)
	case len(d.Runs) != len(a.Runs):
		return nil, fmt.Errorf("the document holds %d runs; planned are %d", len(d.Runs), len(a.Runs))
	}
	for i := range a.Runs {
		if err := matchRun(&d.Runs[i], a, &a.Runs[i]); err != nil {
			return nil, fmt.Errorf("runs[%d]: planned is %s over %s: %w", i, a.Runs[i].Target, a.Runs[i].Path, err)
		}
	}
	return a, nil
}

func matchRun(r *wire.Run, a *plan.Assignment, planned *plan.Run) error {
	switch {
	case r.Target != planned.Target || r.Path != planned.Path:
		return fmt.Errorf("the document says %q over %q", r.Target, r.Path)
	case r.Kind != a.Spec.Kind:
		return fmt.Errorf("kind is %q; planned is %q", r.Kind, a.Spec.Kind)
	case !r.PlannedStart.Equal(a.Start):
		return fmt.Errorf("planned start is %s; the plan says %s", r.PlannedStart.Format(time.RFC3339Nano), a.Start.Format(time.RFC3339Nano))
	case r.Samples.Len() > plannedSamples(a.Spec):
		return fmt.Errorf("it holds %d samples; planned are %d", r.Samples.Len(), plannedSamples(a.Spec))
	case r.Counts.Warmup > a.Spec.Warmup:
		return fmt.Errorf("it counts %d warm-up samples; planned are %d", r.Counts.Warmup, a.Spec.Warmup)
	case planned.Failure != "" && r.Bulk != nil:
		return fmt.Errorf("it moved %d bytes with a target that is planned as %s", r.Bulk.Bytes, planned.Failure)
	case planned.Failure != "" && r.Counts.Sent > 0:
		return fmt.Errorf("it sent %d samples to a target that is planned as %s", r.Counts.Sent, planned.Failure)
	}
	if err := matchBulk(r.Bulk, a.Spec); err != nil {
		return err
	}
	if err := matchMessages(r, a.Spec); err != nil {
		return err
	}
	if r.Address != "" || r.Counts.Sent > 0 || r.Bulk != nil { // else it was not made, and need not say
		if err := planned.CheckMeasured(r.Kind, r.Address); err != nil {
			return err
		}
	}
	return matchTimes(r, a)
}

// matchTimes refuses times outside the assignment's, which would put samples under another hour.
func matchTimes(r *wire.Run, a *plan.Assignment) error {
	earliest, latest := a.Start.Add(-windowSlack), a.Deadline.Add(windowSlack)
	outside := func(what string, t time.Time) error {
		return fmt.Errorf("%s is %s, outside %s to %s", what, t.Format(time.RFC3339Nano), earliest.Format(time.RFC3339), latest.Format(time.RFC3339))
	}
	if r.Start == nil && (r.Counts.Sent > 0 || r.Bulk != nil || r.End != nil) {
		return errors.New("it has samples sent, bytes moved, or an end, and no start")
	}
	if r.Start != nil && (r.Start.Before(earliest) || r.Start.After(latest)) {
		return outside("the start", *r.Start)
	}
	if r.End != nil && (r.End.Before(earliest) || r.End.After(latest)) {
		return outside("the end", *r.End)
	}
	span := int64(a.Spec.Span())
	for i := range r.Samples.Len() {
		if seq := r.Samples.Sequence[i]; seq >= int64(plannedSamples(a.Spec)) {
			return fmt.Errorf("samples: sequence[%d] is %d; planned are %d samples", i, seq, plannedSamples(a.Spec))
		}
		if due := r.Samples.DueNS[i]; due > span {
			return fmt.Errorf("samples: due_ns[%d] is %d; the run lasts %d", i, due, span)
		}
		if sent := r.Samples.SentNS[i]; sent != wire.Null {
			if at := r.Start.Add(time.Duration(sent)); at.After(latest) {
				return outside(fmt.Sprintf("samples: sent_ns[%d]", i), at)
			}
		}
	}
	return nil
}

// storable refuses what no row could hold, whoever sent it: storage would refuse it every time.
// What is not here is bounded by wire's Validate, by convert, or by the samples. A test sends every
// field's extremes to the real tables.
func storable(d *wire.Document) error {
	p := d.Provenance
	for _, text := range []struct{ what, is string }{{"prober_version", p.ProberVersion}, {"image_digest", p.ImageDigest}, {"vm_size", p.VMSize}} {
		if len(text.is) > maxTextBytes {
			return fmt.Errorf("provenance: %s has %d bytes: want at most %d", text.what, len(text.is), maxTextBytes)
		}
	}
	for i := range d.Runs {
		r := &d.Runs[i]
		if c := r.Counts; max(c.Warmup, c.Duplicate) > maxCount {
			return fmt.Errorf("runs[%d]: counts of %d warm-up samples and %d duplicates cannot be", i, c.Warmup, c.Duplicate)
		}
		if r.TCPInfo == nil {
			continue
		}
		if err := storableTCP(r.TCPInfo); err != nil {
			return fmt.Errorf("runs[%d]: tcp_info: %w", i, err)
		}
	}
	return nil
}

func storableTCP(t *wire.TCPInfo) error {
	for _, n := range []struct {
		what     string
		is, most int64
	}{
		{"rtt_us", t.RTTUS, math.MaxInt64}, {"min_rtt_us", t.MinRTTUS, math.MaxInt64}, {"rttvar_us", t.RTTVarUS, math.MaxInt64},
		{"retransmits", t.Retransmits, maxCount}, {"delivery_rate_bps", t.DeliveryRateBPS, math.MaxInt64},
		{"mss_bytes", t.MSSBytes, math.MaxInt64}, {"congestion_window_segments", t.CongestionWindow, maxCount},
	} {
		if n.is < 0 || n.is > n.most {
			return fmt.Errorf("%s is %d: want 0 to %d", n.what, n.is, n.most)
		}
	}
	if n := len(t.CongestionControl); n > maxTextBytes {
		return fmt.Errorf("congestion_control has %d bytes: want at most %d", n, maxTextBytes)
	}
	return nil
}
