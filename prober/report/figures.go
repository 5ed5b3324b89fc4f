package report

import (
	"cmp"
	"math"
	"slices"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Input is a run and what is known around it.
type Input struct {
	Target      string // as it was asked for
	Spec        wire.Spec
	Run         wire.Run
	Provenance  wire.Provenance
	Interrupted bool
	Histogram   bool // with the buckets
	Samples     bool // with the samples themselves
}

// Of makes the document of a run.
func Of(in Input) Document {
	run := sentOnly(in.Run)
	s := summary.Of(&run, &in.Provenance)
	d := Document{
		Format: Format, Version: Version, ProberVersion: in.Provenance.ProberVersion,
		Target: Target(in.Target), Address: run.Address, Kind: run.Kind, Spec: specOf(in.Spec),
		Started: run.Start, Ended: run.End, Interrupted: in.Interrupted,
		Failure: run.Failure, Detail: Visible(run.Detail), Failures: failuresOf(s),
		Counts: run.Counts,
		Loss:   Loss{Ratio: s.LossRatio, LowRatio: s.LossLow, HighRatio: s.LossHigh},
		RTT:    rttOf(s), OneWay: oneWayOf(s.OneWay), HTTP: httpOf(s.HTTP),
		Timestamps: run.Timestamps, TCPInfo: run.TCPInfo,
		Noise: noiseOf(s.Noise, &run, in.Provenance), Degraded: slices.Clone(s.Noise.Degraded),
	}
	if d.Degraded == nil {
		d.Degraded = []summary.Reason{} // known to be none
	}
	if in.Histogram {
		d.Histogram = &Histogram{Buckets: Buckets(run.Samples.RTTNS.Values())}
	}
	if in.Samples {
		d.Samples = &run.Samples
	}
	return d
}

// sentOnly leaves out the samples at the end that were never sent because the run was stopped:
// they are no failures of the target's. Those of a run that never began stay.
func sentOnly(r wire.Run) wire.Run {
	n := r.Samples.Len()
	for n > 0 && r.Samples.SentNS[n-1] == wire.Null && r.Samples.Failure[n-1] == wire.FailureCanceled {
		n--
	}
	for _, c := range r.Samples.Columns() { // r is a copy: the caller's columns keep their length
		*c.Values = (*c.Values)[:min(n, len(*c.Values))]
	}
	r.Samples.Failure = r.Samples.Failure[:n]
	return r
}

func specOf(s wire.Spec) Spec {
	out := Spec{
		Count: s.Count, Warmup: s.Warmup, ClosedLoop: s.ClosedLoop(),
		IntervalUS: Microseconds(s.Interval) / 1000, TimeoutUS: Microseconds(s.Timeout) / 1000,
		Method: s.Method, Connection: s.Connection,
	}
	if s.RequestBytes > 0 {
		out.RequestBytes = &s.RequestBytes
	}
	if s.ResponseBytes > 0 {
		out.ResponseBytes = &s.ResponseBytes
	}
	return out
}

func failuresOf(s summary.Summary) []FailureCount {
	out := []FailureCount{}
	for code, n := range s.Failures {
		out = append(out, FailureCount{Code: code, Count: n})
	}
	slices.SortFunc(out, func(a, b FailureCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Code, b.Code)) })
	return out
}

// us is a figure in nanoseconds, in microseconds.
func us(ns *float64) *Microseconds {
	if ns == nil {
		return nil
	}
	v := Microseconds(math.Round(*ns) / 1000)
	return &v
}

func usOf(ns *int64) *Microseconds {
	if ns == nil {
		return nil
	}
	v := Microseconds(*ns) / 1000
	return &v
}

func rttOf(s summary.Summary) RTT {
	out := RTT{MinUS: us(s.Min), MeanUS: us(s.Mean), MaxUS: us(s.Max), StddevUS: us(s.Stddev), JitterUS: us(s.Jitter), PDVUS: us(s.PDV)}
	for _, q := range []struct {
		name  string
		needs int // n(1 − p) = 10
		from  summary.Quantile
	}{{"p50", 20, s.P50}, {"p90", 100, s.P90}, {"p95", 200, s.P95}, {"p99", 1000, s.P99}, {"p99.9", 10_000, s.P999}} {
		out.Percentiles = append(out.Percentiles, Percentile{
			Name: q.name, ValueUS: us(q.from.Value), LowUS: us(q.from.Low), HighUS: us(q.from.High), NeedsCount: q.needs,
		})
	}
	return out
}

func oneWayOf(o *summary.OneWay) *OneWay {
	if o == nil {
		return nil
	}
	return &OneWay{
		ForwardPDV95US: us(o.ForwardPDV95), ForwardPDV99US: us(o.ForwardPDV99), ReversePDV95US: us(o.ReversePDV95), ReversePDV99US: us(o.ReversePDV99),
		ForwardMinUS: us(o.ForwardMin), ForwardP50US: us(o.ForwardP50), ReverseMinUS: us(o.ReverseMin), ReverseP50US: us(o.ReverseP50), BoundUS: us(o.Bound),
		Method: o.Method, ClockOffsetUS: us(o.OffsetNS), ClockSkewPPM: o.SkewPPM,
	}
}

func httpOf(h *summary.HTTP) *HTTP {
	if h == nil {
		return nil
	}
	return &HTTP{
		DNSP50US: us(h.DNSP50), ConnectP50US: us(h.ConnectP50), TLSP50US: us(h.TLSP50), FirstByteP50US: us(h.FirstByteP50),
		NetworkP50US: us(h.NetworkP50), NetworkP99US: us(h.NetworkP99), BelowRTTCount: h.BelowRTT,
	}
}

func noiseOf(n summary.Noise, r *wire.Run, p wire.Provenance) Noise {
	return Noise{
		LatenessP50US: us(n.LatenessP50), LatenessP99US: us(n.LatenessP99), LatenessMaxUS: us(n.LatenessMax),
		ClientP50US: us(n.ClientP50), ClientP99US: us(n.ClientP99), ServerP50US: us(n.ServerP50), ServerP99US: us(n.ServerP99),
		CPUStealRatio: p.CPUStealRatio, ClockErrorUS: usOf(p.ClockErrorNS), TargetClockErrorUS: usOf(r.TargetClockErrorNS), ClockStepCount: r.ClockSteps, UnstampedCount: r.Unstamped,
	}
}
