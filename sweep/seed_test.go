package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/archive"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// seeder writes what a script's seed file says into the real stores.
type seeder struct {
	environment string
	archive     *archive.Store
	tables      *tables.Store
	hash        string // of the last pinned configuration
	readFile    func(string) string
}

// cmdSeed is "seed FILE". Each line of the file is one of
//
//	pin FILE                                       the configuration of the headers that follow
//	ok SLOT SOURCE TARGET PATH PROBE P50 N LOST    a run: half of its N samples are at most P50
//	samples SLOT SOURCE TARGET PATH PROBE P50 N LOST   raw samples, and the marks: the run has no row
//	fail SLOT SOURCE TARGET PATH PROBE CODE TEXT   a run without a result
//	header SLOT STATE [REASON]                     a sweep
//	run SLOT SOURCE TARGET PATH PROBE KIND P50 N LOST   the same of another kind, with all that the kind tells
//	noisy SLOT SOURCE TARGET PATH PROBE P50 N LOST      as ok, degraded by samples that left late and by steal
//	bulk SLOT SOURCE TARGET PATH PROBE KIND VMSIZE N    a run that loads the network: see bulkRun
//	prober SLOT PROBER AGE VERSION [UDPPORT]       a registration, its heartbeat AGE before the scripts' clock
//	entry SLOT SOURCE PROBE PART STATE RUNS [ERROR]
//	hours FIRST SOURCE TARGET PATH PROBE N P50 RHYTHM STEPAT STEP [simulated]   rolled-up hours: see madeHour
//	alert SINCE KIND SERIES RAISED ENDED TEXT      an alert; ENDED is - while it lasts
//	levels LAST SOURCE TARGET PATH PROBE P50 ABOVE what the app keeps of a series; its last three hours are slower by ABOVE
//
// Texts in quotes are unquoted as Go's.
func cmdSeed(ts *testscript.TestScript, neg bool, args []string) {
	acc := account.Account{ConnectionString: ts.Getenv(account.EnvConnectionString)}
	s := seeder{environment: ts.Getenv(account.EnvEnvironment), readFile: ts.ReadFile}
	var err error
	s.archive, err = archive.Open(acc, s.environment)
	ts.Check(err)
	s.tables, err = tables.Open(acc, s.environment)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ts.Check(s.archive.Ensure(ctx))
	ts.Check(s.tables.Ensure(ctx, scriptNow))
	for i, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		if fields := strings.Fields(line); len(fields) > 0 {
			if err := s.line(ctx, fields); err != nil {
				ts.Fatalf("%s:%d: %v", args[0], i+1, err)
			}
		}
	}
}

func (s *seeder) line(ctx context.Context, f []string) (err error) {
	if f[0] == "pin" {
		s.hash, err = s.archive.PinConfig(ctx, []byte(s.readFile(f[1])))
		return err
	}
	slot, err := time.Parse("2006-01-02T15:04", f[1])
	if err != nil {
		return err
	}
	switch f[0] {
	case "header":
		return s.tables.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.State(f[2]), ConfigHash: s.hash, Reason: text(f[3:])})
	case "entry":
		part, runs := whole(f[4]), whole(f[6])
		return s.tables.AdvanceEntries(ctx, []ledger.Entry{{Slot: slot, Key: ledger.Key{Source: f[2], Probe: f[3], Part: part},
			Assignment: wire.AssignmentID(s.environment, slot, f[2], f[3], part), State: ledger.State(f[5]), Runs: runs, Error: text(f[7:])}})
	case "prober":
		return s.register(ctx, f)
	case "ok", "fail", "noisy":
		return s.run(ctx, slot, f)
	case "hours":
		return s.hours(ctx, slot, f)
	case "alert":
		return s.alert(ctx, slot, f)
	case "levels":
		return s.levels(ctx, slot, f)
	case "samples":
		return s.samples(ctx, slot, f)
	case "run":
		return s.kind(ctx, slot, f)
	case "bulk":
		r := s.result(slot, f)
		r.Run, r.Provenance.VMSize = bulkRun(f[3], f[4], wire.Kind(f[6]), slot.Add(30*time.Second), whole(f[8])), f[7]
		return s.put(ctx, r)
	}
	return fmt.Errorf("%q is no kind of line", f[0])
}

// register stores what the app saw of a prober, of a heartbeat every 30 s and a clock good to 0.25 ms.
func (s *seeder) register(ctx context.Context, f []string) error {
	age, err := time.ParseDuration(f[3])
	if err != nil {
		return err
	}
	clock, udp := int64(250_000), 0
	if len(f) > 5 {
		udp = whole(f[5])
	}
	return s.tables.PutProbers(ctx, []wire.Registration{{Version: wire.RegistrationVersion, Environment: s.environment, Prober: f[2], Region: f[2],
		Started: scriptNow.Add(-time.Hour), Heartbeat: scriptNow.Add(-age), HeartbeatInterval: 30 * time.Second,
		Addresses: []wire.PathAddress{{Path: "public", Host: "20.50.0.4", TCPPort: 7700, UDPPort: udp}}, ReadsAssignments: []int{wire.AssignmentsVersion},
		Provenance: wire.Provenance{ProberVersion: f[4], ClockErrorNS: &clock}}})
}

func (s *seeder) run(ctx context.Context, slot time.Time, f []string) error {
	series := wire.Series{Environment: s.environment, Source: f[2], Target: f[3], Path: f[4], Probe: f[5]}
	assignment := wire.AssignmentID(s.environment, slot, f[2], f[5], 0)
	if wire.Failure(f[6]) == wire.FailureExpired {
		expired := []result.Result{result.Expired(series, slot, assignment, 0, wire.KindTCP, slot.Add(30*time.Second))}
		if err := s.tables.AddExpired(ctx, expired); err != nil {
			return err
		}
		return s.tables.PutLatest(ctx, expired)
	}
	r := s.result(slot, f)
	start := slot.Add(30 * time.Second)
	if f[0] != "fail" {
		p50, err := time.ParseDuration(f[6])
		if err != nil {
			return err
		}
		r.Run = goodRun(f[3], f[4], start, p50, whole(f[7]), whole(f[8]))
		if f[0] == "noisy" {
			steal := 0.2
			r.Provenance.CPUStealRatio = &steal
			for i := range r.Run.Samples.SentNS {
				r.Run.Samples.SentNS[i] += int64(10 * time.Millisecond)
			}
		}
	} else {
		r.Run = wire.Run{Target: f[3], Path: f[4], Kind: wire.KindTCP, Address: "20.50.0.4:7700", PlannedStart: start, Start: &start, End: &start,
			Failure: wire.Failure(f[6]), Detail: text(f[7:])}
	}
	return s.put(ctx, r)
}

// result is what the results of a line have in common.
func (s *seeder) result(slot time.Time, f []string) result.Result {
	return result.Result{Series: wire.Series{Environment: s.environment, Source: f[2], Target: f[3], Path: f[4], Probe: f[5]}, Slot: slot,
		Assignment: wire.AssignmentID(s.environment, slot, f[2], f[5], 0), Attempt: "0a1b2c3d",
		Document: "raw-" + s.environment + "/documents/v=1/src=" + f[2] + "/x.json.gz", Provenance: wire.Provenance{ProberVersion: "1.0.0"}}
}

func (s *seeder) put(ctx context.Context, r result.Result) error {
	var err error
	if r.Run.RTTHistogram, r.Run.ExcessHistogram, err = wire.Histograms(r.Run.Samples.RTTNS); err != nil {
		return err
	}
	r.Summary = summary.Of(&r.Run, &r.Provenance)
	if err := s.tables.PutResults(ctx, []result.Result{r}); err != nil {
		return err
	}
	if strings.HasPrefix(r.Series.Probe, wire.ForeignPrefix) {
		return nil
	}
	return s.tables.PutLatest(ctx, []result.Result{r})
}

// kind stores a run of a kind with what only that kind tells.
func (s *seeder) kind(ctx context.Context, slot time.Time, f []string) error {
	p50, err := time.ParseDuration(f[7])
	if err != nil {
		return err
	}
	r := s.result(slot, f)
	r.Run = goodRun(f[3], f[4], slot.Add(30*time.Second), p50, whole(f[8]), whole(f[9]))
	r.Run.Kind = wire.Kind(f[6])
	m := &r.Run.Samples
	column := func(of func(rtt int64) int64) (c wire.Column) {
		for _, rtt := range m.RTTNS {
			if rtt != wire.Null {
				rtt = of(rtt)
			}
			c = append(c, rtt)
		}
		return c
	}
	steady := func(d time.Duration) wire.Column { return column(func(int64) int64 { return int64(d) }) }
	switch n := func(v int) *int { return &v }; r.Run.Kind {
	case wire.KindUDP:
		r.Run.Timestamps, r.Run.ClockSteps = wire.TimestampsKernel, n(0)
		r.Run.Counts.LostForward, r.Run.Counts.LostReverse = n(whole(f[9])), n(0)
		m.ClientNS, m.ServerNS = steady(60*time.Microsecond), steady(12*time.Microsecond)
	case wire.KindICMP:
		r.Run.Address, r.Run.Timestamps, m.ClientNS = "20.50.0.4", wire.TimestampsKernel, steady(60*time.Microsecond)
	case wire.KindHTTP:
		r.Run.Address, r.Run.Timestamps = "203.0.113.9:443", wire.TimestampsUser
		m.DNSNS, m.ConnectNS, m.TLSNS = steady(time.Millisecond), steady(5*time.Millisecond), steady(6*time.Millisecond)
		m.FirstByteNS, m.ServerNS = steady(10*time.Millisecond), steady(3*time.Millisecond)
	}
	return s.put(ctx, r)
}

// goodRun has n samples that were sent, the last of them lost, and the others spread evenly
// around p50, a thousandth of it apart.
func goodRun(target, path string, start time.Time, p50 time.Duration, n, lost int) wire.Run {
	end := start.Add(time.Duration(n) * 20 * time.Millisecond)
	r := wire.Run{Target: target, Path: path, Kind: wire.KindTCP, Address: "20.50.0.4:7700", PlannedStart: start, Start: &start, End: &end,
		Counts: wire.Counts{Warmup: 5, Sent: n, Received: n - lost, Lost: lost}}
	rank := (n - lost + 1) / 2 // of p50, by nearest rank
	for i := range n {
		due := int64(i) * int64(20*time.Millisecond)
		rtt, failure := int64(p50)+int64(i+1-rank)*int64(p50)/1000, wire.Failure("")
		if i >= n-lost {
			rtt, failure = wire.Null, wire.FailureTimeout
		}
		s := &r.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, due), append(s.SentNS, due+1000)
		s.RTTNS, s.Failure = append(s.RTTNS, rtt), append(s.Failure, failure)
	}
	return r
}

// cmdDocuments is "documents": it writes a good document as JSON, XML and gzipped JSON.
func cmdDocuments(ts *testscript.TestScript, neg bool, args []string) {
	start := time.Date(2026, 11, 30, 10, 0, 30, 250_000_000, time.UTC)
	d := wire.Document{Version: wire.DocumentVersion, Environment: ts.Getenv(account.EnvEnvironment), Slot: start.Truncate(time.Minute),
		Source: "westeurope", Probe: "tcp-64", Assignment: strings.Repeat("0a", 16), Attempt: "0a1b2c3d",
		Provenance: wire.Provenance{ProberVersion: "1.0.0"},
		Runs: []wire.Run{
			goodRun("eastus", "public", start, 82*time.Millisecond, 100, 2),
			{Target: "brazilsouth", Path: "public", Kind: wire.KindTCP, PlannedStart: start, Failure: wire.FailureTargetDown, Detail: "no heartbeat"},
		}}
	asJSON, err := json.Marshal(d)
	ts.Check(err)
	asXML, err := xml.Marshal(d)
	ts.Check(err)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err = z.Write(asJSON)
	ts.Check(err)
	ts.Check(z.Close())
	for name, body := range map[string][]byte{"doc.json": asJSON, "doc.xml": asXML, "doc.json.gz": zipped.Bytes()} {
		ts.Check(os.WriteFile(ts.MkAbs(name), body, 0o644))
	}
}

func whole(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func text(fields []string) string {
	s := strings.Join(fields, " ")
	if unquoted, err := strconv.Unquote(s); err == nil {
		return unquoted
	}
	return s
}
