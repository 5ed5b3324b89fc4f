package ingest_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

// leaf is a field of a document that holds one value.
type leaf struct {
	name  string
	value reflect.Value
}

// leaves finds the fields of a document, samples apart, so that a field which is new is tested
// too.
func leaves(name string, v reflect.Value) (out []leaf) {
	switch v.Type() {
	case reflect.TypeFor[wire.Samples](), reflect.TypeFor[time.Time]():
		return nil // TestTheExtremesOfSamplesAreStorable, TestTheExtremesOfTimes
	case reflect.TypeFor[wire.Intervals](), reflect.TypeFor[bool]():
		return nil // no row holds them, or all that they can be
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name != "XMLName" {
				out = append(out, leaves(name+"."+f.Name, v.Field(i))...)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return nil // another kind's: completeBulk has it
		}
		return leaves(name, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, leaves(fmt.Sprintf("%s[%d]", name, i), v.Index(i))...)
		}
	default:
		out = append(out, leaf{name, v})
	}
	return out
}

// extremes are what a field may be set to.
func extremes(t *testing.T, l leaf) (out []any) {
	switch l.value.Kind() {
	case reflect.Int, reflect.Int64:
		for _, n := range []int64{math.MinInt64, -1, 0, math.MaxInt32, math.MaxInt32 + 1, 1 << 53, math.MaxInt64} {
			out = append(out, n)
		}
	case reflect.Float64:
		return []any{-1.0, 0.0, math.SmallestNonzeroFloat64, 1.0, math.MaxFloat64}
	case reflect.String:
		for _, n := range []int{0, 40, 200, 300, 40 << 10} {
			out = append(out, strings.Repeat("x", n), strings.Repeat("ü", n/2), strings.Repeat("\x00", n))
		}
	default:
		t.Fatalf("%s: no extremes for %s", l.name, l.value.Type())
	}
	return out
}

// complete is a document with a value in every field.
func complete(now time.Time, env string) *wire.Document {
	d := foreignDocument(now)
	clock, steal := int64(1), 0.5
	d.Environment = env
	d.Provenance = wire.Provenance{ProberVersion: "1", ImageDigest: "2", VMSize: "3", ClockErrorNS: &clock, CPUStealRatio: &steal}
	r, n := &d.Runs[0], func() *int { return new(int) }
	r.TCPInfo = &wire.TCPInfo{CongestionControl: "cubic"}
	r.Timestamps, r.ClockSteps, r.Unstamped, r.LeastConnectNS, r.TargetClockErrorNS = wire.TimestampsKernel, n(), n(), new(int64(1)), new(int64)
	c := &r.Counts
	c.LostForward, c.LostReverse, c.DuplicateForward, c.DuplicateReverse, c.ReorderedForward, c.ReorderedReverse = n(), n(), n(), n(), n(), n()
	return d
}

// completeBulk is a document of a bulk kind with a value in every field that only such a kind has.
func completeBulk(now time.Time, env string, kind wire.Kind) *wire.Document {
	d := complete(now, env)
	d.Provenance = wire.Provenance{ProberVersion: "1"}
	r, bands := &d.Runs[0], make([]int, len(wire.BandEndsMS())+1)
	b := &wire.BulkResult{Bytes: 1}
	*r = wire.Run{Target: r.Target, Path: r.Path, Kind: kind, Address: r.Address, PlannedStart: r.PlannedStart, Start: r.Start, End: r.End,
		Counts: wire.Counts{Sent: 10, Received: 9, Lost: 1}, Bulk: b}
	switch kind {
	case wire.KindThroughput:
		flow := wire.Flow{Direction: wire.DirectionUp, Streams: 1, BPS: 8, Bytes: 1, CountedNS: 1e9, RampBytes: 1, RampNS: 1, Retransmits: new(int64), CongestionControl: "cubic", WindowLimitedRatio: new(0.5)}
		b.Flows = []wire.Flow{flow}
	case wire.KindSaturate:
		b.Levels = []wire.Level{{Outstanding: 1, Requests: 0, Bytes: 1, CountedNS: 1, BPS: 1, Bands: bands}, {Outstanding: 2, Requests: 0, Bytes: 1, CountedNS: 1, BPS: 1, P99NS: 1, Bands: bands}}
	case wire.KindStream:
		b.Stream = &wire.StreamResult{SourceRate: 1, ReceiverRate: 1, Messages: 9}
	case wire.KindLoad:
		r.Counts = wire.Counts{Sent: 1, Received: 1}
		r.Samples = wire.Samples{Sequence: wire.Column{0}, DueNS: wire.Column{0}, SentNS: wire.Column{0}, RTTNS: wire.Column{2_000_000}, ServerNS: wire.Column{1_000_000}, Failure: wire.FailureColumn{""}}
		b.Load = &wire.LoadResult{Users: 1, RequestsPerS: 1, NetworkP50NS: new(int64), NetworkP99NS: new(int64), ServerP50NS: new(int64)}
	}
	return d
}

// on makes an ingester of foreign documents on the real tables, and on all else in memory.
func on(t *testing.T, rows ingest.Rows, env string) (*ingest.Ingester, *bench) {
	t.Helper()
	b := &bench{store: storetest.New(env), now: slot.Add(time.Second)}
	return &ingest.Ingester{Environment: env, Inbox: b.store, Archive: b.store, Rows: rows, Ledger: b.store, Now: b.clock, Log: slog.New(slog.DiscardHandler)}, b
}

func realRows(t *testing.T) (*tables.Store, string) {
	t.Helper()
	a, env := azuritetest.Environment(t)
	rows, err := tables.Open(a, env)
	if err != nil {
		t.Fatal(err)
	}
	return rows, env
}

// accepted sends a document: it must be stored, or refused before storage is asked.
func accepted(t *testing.T, g *ingest.Ingester, b *bench, what string, d *wire.Document) bool {
	t.Helper()
	out, err := g.Foreign(t.Context(), encode(t, d), ingest.Parameters{})
	var refused *ingest.Refused
	switch {
	case errors.As(err, &refused):
		if i := slices.IndexFunc(b.store.Reasons(), func(r inbox.Reason) bool { return r.Stage == "store" }); i >= 0 {
			t.Errorf("%s: storage was asked, and refused: %s", what, b.store.Reasons()[i].Text)
		}
		return false
	case err != nil, !out.Stored:
		t.Errorf("%s: outcome %+v, error %v: neither stored nor refused", what, out, err)
		return false
	}
	return true
}

// Whatever passes the checks fits its row: every field of a document in turn is as large, small or
// long as it may be.
func TestWhateverIsAcceptedFitsARow(t *testing.T) {
	rows, env := realRows(t)
	second := 0
	for kind, fresh := range map[wire.Kind]func(now time.Time) *wire.Document{
		wire.KindTCP:        func(now time.Time) *wire.Document { return complete(now, env) },
		wire.KindThroughput: func(now time.Time) *wire.Document { return completeBulk(now, env, wire.KindThroughput) },
		wire.KindSaturate:   func(now time.Time) *wire.Document { return completeBulk(now, env, wire.KindSaturate) },
		wire.KindStream:     func(now time.Time) *wire.Document { return completeBulk(now, env, wire.KindStream) },
		wire.KindLoad:       func(now time.Time) *wire.Document { return completeBulk(now, env, wire.KindLoad) },
	} {
		fields := len(leaves("document", reflect.ValueOf(fresh(slot)).Elem()))
		stored, tried, least := 0, 0, 13
		if kind == wire.KindTCP {
			least = 40
		}
		for i := range fields {
			probe := leaves("document", reflect.ValueOf(fresh(slot)).Elem())[i]
			if kind != wire.KindTCP && !strings.Contains(probe.name, ".Bulk.") && !strings.Contains(probe.name, ".Counts.") {
				continue // the same as of tcp
			}
			tried++
			for _, extreme := range extremes(t, probe) {
				g, b := on(t, rows, env)
				second++ // a row of its own
				d := fresh(b.clock().Add(-time.Duration(second) * time.Second))
				to := leaves("document", reflect.ValueOf(d).Elem())[i]
				to.value.Set(reflect.ValueOf(extreme).Convert(to.value.Type()))
				what := fmt.Sprintf("%s: %s = %.40v", kind, to.name, extreme)
				if accepted(t, g, b, what, d) {
					stored++
				}
			}
		}
		if tried < least {
			t.Errorf("%s: only %d fields are found", kind, tried)
		}
		if stored < tried {
			t.Errorf("%s: %d of %d fields' extremes were stored: the test shows little", kind, stored, tried)
		}
	}
}

// The longest histograms that samples can make: round trips of every size.
func TestTheExtremesOfSamplesAreStorable(t *testing.T) {
	rows, env := realRows(t)
	g, b := on(t, rows, env)
	d := complete(b.clock(), env)
	r := &d.Runs[0]
	r.Samples = wire.Samples{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range int64(wire.MaxSamples) {
		s := &r.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, math.MaxInt64-wire.MaxSamples+i), append(s.DueNS, int64(24*time.Hour)), append(s.SentNS, int64(24*time.Hour))
		s.RTTNS = append(s.RTTNS, int64(math.Exp(rnd.Float64()*math.Log(float64(wire.MaxTimeout)))))
		s.ServerNS, s.ForwardNS, s.ReverseNS = append(s.ServerNS, int64(24*time.Hour)), append(s.ForwardNS, math.MaxInt64), append(s.ReverseNS, math.MinInt64+1)
		s.Failure = append(s.Failure, "")
	}
	for _, c := range r.Samples.Columns() {
		for c.Optional && len(*c.Values) < wire.MaxSamples {
			*c.Values = append(*c.Values, int64(24*time.Hour))
		}
	}
	r.Counts = wire.Counts{Sent: wire.MaxSamples, Received: wire.MaxSamples, Warmup: math.MaxInt32, Duplicate: math.MaxInt32,
		Reordered: wire.MaxSamples, PacingViolations: wire.MaxSamples}
	if !accepted(t, g, b, "the largest samples", d) {
		t.Errorf("refused: %+v", b.store.Reasons())
	}
}

func TestTheExtremesOfTimesAreStorable(t *testing.T) {
	rows, env := realRows(t)
	for what, change := range map[string]func(r *wire.Run, at time.Time){
		"planned start": func(r *wire.Run, at time.Time) { r.PlannedStart = at },
		"start":         func(r *wire.Run, at time.Time) { r.Start = &at },
		"end":           func(r *wire.Run, at time.Time) { r.End = &at },
		"all":           func(r *wire.Run, at time.Time) { r.PlannedStart, r.Start, r.End = at, &at, &at },
	} {
		for year := range 10 {
			g, b := on(t, rows, env)
			d := complete(b.clock(), env)
			at := time.Date([]int{1, 1600, 1969, 1999, 2000, 2009, 2010, 2286, 9998, 9999}[year], 12, 31, 23, 59, 59, 999_999_999, time.FixedZone("", -18*3600))
			change(&d.Runs[0], at)
			d.Source = fmt.Sprintf("office-%d-%s", year, strings.ReplaceAll(what, " ", "-"))
			accepted(t, g, b, fmt.Sprintf("%s in %d", what, at.Year()), d)
		}
	}
}

// What storage refuses for good is refused for good, at whatever step: neither stored nor tried
// for ever.
func TestWhatStorageRefusesIsQuarantined(t *testing.T) {
	for _, op := range []string{"ReadPlan", "PutDocument", "PutSamples", "PutResults", "PutLatest", "MarkDirty", "AdvanceEntries"} {
		b := newBench(t)
		b.sweep(t)
		b.deliver(t, b.documents(t, "westeurope", "0000000a")["tcp-64"])
		b.store.Fault = storetest.Always(op, storetest.Refused)
		if report := b.drain(t); report != (ingest.Report{Listed: 1, Quarantined: 1}) || len(b.store.Waiting()) != 0 {
			t.Errorf("%s: report is %+v, waiting %q", op, report, b.store.Waiting())
		}
		if reasons := b.store.Reasons(); len(reasons) != 1 || reasons[0].Stage != "store" || !strings.Contains(reasons[0].Text, "storage cannot hold it") {
			t.Errorf("%s: reasons are %+v", op, reasons)
		}
	}
	for _, op := range []string{"PutForeign", "AddForeign", "MarkDirty"} {
		b := newBench(t)
		b.store.Fault = storetest.Always(op, storetest.Refused)
		var refused *ingest.Refused
		if _, err := b.ingester().Foreign(t.Context(), pack(t, foreignDocument(b.clock())), ingest.Parameters{}); !errors.As(err, &refused) || refused.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: error is %v", op, err)
		}
		if len(b.store.Reasons()) != 1 || len(b.store.Waiting()) != 0 {
			t.Errorf("%s: reasons are %+v, waiting %q", op, b.store.Reasons(), b.store.Waiting())
		}
	}
}
