package wire

import (
	"strings"
	"testing"
	"time"
)

func TestEveryRuleOfADocument(t *testing.T) {
	if err := goldenDocument().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(d *Document)
		want  string
	}{
		{"version", func(d *Document) { d.Version = 2 }, "version 2"},
		{"environment", func(d *Document) { d.Environment = "Prod" }, `environment "Prod"`},
		{"source", func(d *Document) { d.Source = "West|Europe" }, `source "West|Europe"`},
		{"slot between minutes", func(d *Document) { d.Slot = d.Slot.Add(time.Second) }, "want a whole minute"},
		{"slot of year 1", func(d *Document) { d.Slot = time.Time{} }, "want a whole minute"},
		{"part", func(d *Document) { d.Part = -1 }, "part -1"},
		{"no run", func(d *Document) { d.Runs = nil }, "0 runs"},
		{"too many runs", func(d *Document) { d.Runs = make([]Run, MaxRuns+1) }, "1001 runs"},
		{"target", func(d *Document) { d.Runs[0].Target = "" }, `target ""`},
		{"path", func(d *Document) { d.Runs[0].Path = "../x" }, `path "../x"`},
		{"kind", func(d *Document) { d.Runs[0].Kind = "TCP!" }, `kind "TCP!"`},
		{"failure not listed", func(d *Document) { d.Runs[1].Failure = "tired" }, `"tired" is not one of`},
		{"expired is the app's word", func(d *Document) { d.Runs[1].Failure = FailureExpired }, "is the app's to say"},
		{"failure although something was received", func(d *Document) { d.Runs[0].Failure = FailureReset }, "exactly when nothing was received"},
		{"no failure although nothing was received", func(d *Document) { d.Runs[1].Failure = "" }, "exactly when nothing was received"},
		{"long detail", func(d *Document) { d.Runs[0].Detail = strings.Repeat("x", MaxDetailBytes+1) }, "longer than 300 bytes"},
		{"long address", func(d *Document) { d.Runs[0].Address = strings.Repeat("x", MaxDetailBytes+1) }, "longer than 300 bytes"},
		{"planned start of year 1", func(d *Document) { d.Runs[0].PlannedStart = time.Time{} }, "outside the years"},
		{"start of year 1", func(d *Document) { d.Runs[0].Start = &time.Time{} }, "outside the years"},
		{"end of year 1", func(d *Document) { d.Runs[0].End = &time.Time{} }, "outside the years"},
		{"end before start", func(d *Document) { d.Runs[0].End = ptr(d.Runs[0].Start.Add(-1)) }, "lies before start"},
		{"due_ns shorter", func(d *Document) { d.Runs[0].Samples.DueNS = Column{1} }, "due_ns has 1 entries, sequence has 5"},
		{"sent_ns absent", func(d *Document) { d.Runs[0].Samples.SentNS = nil }, "sent_ns has 0 entries"},
		{"rtt_ns longer", func(d *Document) { d.Runs[0].Samples.RTTNS = make(Column, 6) }, "rtt_ns has 6 entries"},
		{"failure absent", func(d *Document) { d.Runs[0].Samples.Failure = nil }, "failure has 0 entries"},
		{"server_ns shorter", func(d *Document) { d.Runs[0].Samples.ServerNS = Column{1} }, "server_ns has 1 entries"},
		{"forward_ns shorter", func(d *Document) { d.Runs[0].Samples.ForwardNS = Column{1} }, "forward_ns has 1 entries"},
		{"reverse_ns shorter", func(d *Document) { d.Runs[0].Samples.ReverseNS = Column{1} }, "reverse_ns has 1 entries"},
		{"sequence falls", func(d *Document) { d.Runs[0].Samples.Sequence[2] = 1 }, "sequence[2] is 1"},
		{"sequence is null", func(d *Document) { d.Runs[0].Samples.Sequence[0] = Null }, "sequence[0]"},
		{"due is null", func(d *Document) { d.Runs[0].Samples.DueNS[0] = Null }, "due_ns[0]"},
		{"due after a day", func(d *Document) { d.Runs[0].Samples.DueNS[4] = int64(24*time.Hour) + 1 }, "due_ns[4]"},
		{"sent before the start", func(d *Document) { d.Runs[0].Samples.SentNS[0] = -1 }, "sent_ns[0]"},
		{"sent after a day", func(d *Document) { d.Runs[0].Samples.SentNS[0] = int64(24*time.Hour) + 1 }, "sent_ns[0]"},
		{"a round trip of nothing", func(d *Document) { d.Runs[0].Samples.RTTNS[0] = 0 }, "rtt_ns[0] is 0"},
		{"a round trip beyond every timeout", func(d *Document) { d.Runs[0].Samples.RTTNS[0] = int64(MaxTimeout) + 1 }, "rtt_ns[0]"},
		{"received and not sent", func(d *Document) { d.Runs[0].Samples.SentNS[0] = Null }, "was not sent"},
		{"a round trip and a failure", func(d *Document) { d.Runs[0].Samples.Failure[0] = FailureTimeout }, "either a round trip or a failure code"},
		{"neither round trip nor failure", func(d *Document) { d.Runs[0].Samples.Failure[1] = "" }, "either a round trip or a failure code"},
		{"server time below zero", func(d *Document) { d.Runs[0].Samples.ServerNS[0] = -1 }, "server_ns[0]"},
		{"server time of days", func(d *Document) { d.Runs[0].Samples.ServerNS[0] = int64(24*time.Hour) + 1 }, "server_ns[0]"},
		{"sent counted wrong", func(d *Document) { d.Runs[0].Counts.Sent = 5 }, "counts say sent 5"},
		{"received counted wrong", func(d *Document) { d.Runs[0].Counts.Received = 3 }, "received 3"},
		{"lost counted wrong", func(d *Document) { d.Runs[0].Counts.Lost = 1 }, "lost 1"},
		{"more late than lost", func(d *Document) { d.Runs[0].Counts.Late = 3 }, "cannot be"},
		{"late below zero", func(d *Document) { d.Runs[0].Counts.Late = -1 }, "cannot be"},
		{"warm-up below zero", func(d *Document) { d.Runs[0].Counts.Warmup = -1 }, "cannot be"},
		{"duplicates below zero", func(d *Document) { d.Runs[0].Counts.Duplicate = -1 }, "cannot be"},
		{"reordered below zero", func(d *Document) { d.Runs[0].Counts.Reordered = -1 }, "cannot be"},
		{"more reordered than received", func(d *Document) { d.Runs[0].Counts.Reordered = 3 }, "cannot be"},
		{"pacing violations below zero", func(d *Document) { d.Runs[0].Counts.PacingViolations = -1 }, "cannot be"},
		{"more pacing violations than sent", func(d *Document) { d.Runs[0].Counts.PacingViolations = 5 }, "cannot be"},
		{"too many samples in all", func(d *Document) {
			s := &d.Runs[1].Samples
			n := MaxSamples - 4
			*s = Samples{Sequence: make(Column, n), DueNS: make(Column, n), SentNS: make(Column, n), RTTNS: make(Column, n), Failure: make(FailureColumn, n)}
			for i := range n {
				s.Sequence[i], s.SentNS[i], s.RTTNS[i], s.Failure[i] = int64(i), Null, Null, FailureTargetDown
			}
		}, "100001 samples"},
	} {
		d := goldenDocument()
		c.spoil(d)
		err := d.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
}

func TestAllFaultsOfADocumentAreReportedTogether(t *testing.T) {
	d := goldenDocument()
	d.Part, d.Source, d.Runs[1].Target = -1, "X", "Y"
	err := d.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"part -1", `source "X"`, `target "Y"`, "runs[1]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q:\n%v", want, err)
		}
	}
}

func TestABadDocumentDoesNotMakeAnEndlessError(t *testing.T) {
	d := goldenDocument()
	d.Runs = make([]Run, MaxRuns)
	for i := range d.Runs {
		d.Runs[i].Target = strings.Repeat("x", 10_000)
	}
	if err := d.Validate(); err == nil || len(err.Error()) > 300_000 || !strings.Contains(err.Error(), "and perhaps more") {
		t.Errorf("an error of %d bytes for a thousand bad runs", len(err.Error()))
	}
}

func TestSamplesAtTheirLimitsAreAccepted(t *testing.T) {
	d := goldenDocument()
	s := &d.Runs[0].Samples
	s.DueNS[4], s.SentNS[3] = int64(24*time.Hour), int64(24*time.Hour)
	s.RTTNS[0], s.RTTNS[2] = 1, int64(MaxTimeout)
	s.ServerNS[0] = 0
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}

func TestEveryRuleOfASpec(t *testing.T) {
	good := Spec{Kind: KindTCP, Count: 100, Warmup: 5, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := (Spec{Kind: KindConnect, Count: 1, Interval: time.Millisecond, Timeout: MaxTimeout}).Validate(); err != nil {
		t.Errorf("the least connect spec: %v", err)
	}
	for _, c := range []struct {
		name  string
		spoil func(s *Spec)
		want  string
	}{
		{"kind", func(s *Spec) { s.Kind = "tpc" }, `kind "tpc"`},
		{"no sample", func(s *Spec) { s.Count = 0 }, "count 0"},
		{"too many samples", func(s *Spec) { s.Count = MaxSamples + 1 }, "count 100001"},
		{"warm-up below zero", func(s *Spec) { s.Warmup = -1 }, "warmup -1"},
		{"warm-up too long", func(s *Spec) { s.Warmup = 10_001 }, "warmup 10001"},
		{"interval too short", func(s *Spec) { s.Interval = time.Millisecond - 1 }, "interval 999.999µs"},
		{"interval too long", func(s *Spec) { s.Interval = time.Minute + 1 }, "interval 1m0"},
		{"timeout too short", func(s *Spec) { s.Timeout = 0 }, "timeout 0s"},
		{"timeout too long", func(s *Spec) { s.Timeout = MaxTimeout + 1 }, "timeout 1m0"},
		{"request too small", func(s *Spec) { s.RequestBytes, s.ResponseBytes = 15, 15 }, "request of 15 bytes"},
		{"request too large", func(s *Spec) { s.RequestBytes = MaxMessageBytes + 1 }, "request of 1048577 bytes"},
		{"response too small", func(s *Spec) { s.ResponseBytes = 15 }, "response of 15 bytes"},
		{"response larger than the request", func(s *Spec) { s.ResponseBytes = 65 }, "response of 65 bytes"},
		{"a datagram that would be fragmented", func(s *Spec) { s.Kind, s.RequestBytes, s.ResponseBytes = KindUDP, 1453, 0 }, "want 112 to 1452"},
		{"a STAMP packet cut short", func(s *Spec) { s.Kind, s.RequestBytes, s.ResponseBytes = KindUDP, 111, 0 }, "want 112 to 1452"},
		{"a reply of another size", func(s *Spec) { s.Kind = KindUDP; s.RequestBytes, s.ResponseBytes = 200, 100 }, "has the request's size"},
		{"an echo without room", func(s *Spec) { s.Kind, s.RequestBytes, s.ResponseBytes = KindICMP, 15, 0 }, "want 16 to 1452"},
		{"another method", func(s *Spec) { s.Kind, s.Method, s.Connection = KindHTTP, "POST", ConnectionFresh }, "want GET or HEAD"},
		{"another connection", func(s *Spec) { s.Kind, s.Method, s.Connection = KindHTTP, "GET", "" }, "want fresh or keep-alive"},
		{"a method of tcp", func(s *Spec) { s.Method = "GET" }, "has none"},
		{"an interval under a millisecond", func(s *Spec) { s.Interval = time.Microsecond }, "want 1ms to 1m"},
		{"sizes of a kind without", func(s *Spec) { s.Kind = KindConnect }, "has no message sizes"},
	} {
		s := good
		c.spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
	if got := good.Span(); got != 105*20*time.Millisecond+time.Second {
		t.Errorf("a run of 105 samples, 20 ms apart with a timeout of 1 s, spans %s", got)
	}
}

func TestEveryRuleOfARegistration(t *testing.T) {
	good := func() *Registration {
		return &Registration{
			Version: 1, Environment: "dev", Prober: "westeurope", Region: "westeurope", Started: goldenSlot, Heartbeat: goldenSlot,
			HeartbeatInterval: time.Second, Addresses: []PathAddress{{"public", "20.50.1.2", 65535, 65535}, {"vpn", "::1", 1, 0}, {"peering", "weu.example.com", 7700, 7700}},
		}
	}
	if err := good().Validate("dev", "westeurope"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(r *Registration)
		want  string
	}{
		{"version", func(r *Registration) { r.Version = 0 }, "version 0"},
		{"another environment", func(r *Registration) { r.Environment = "prod" }, `environment "prod"`},
		{"another prober's folder", func(r *Registration) { r.Prober = "eastus" }, `prober "eastus" in the folder of "westeurope"`},
		{"region", func(r *Registration) { r.Region = "West Europe" }, `region "West Europe"`},
		{"start", func(r *Registration) { r.Started = time.Time{} }, "outside the years"},
		{"heartbeat", func(r *Registration) { r.Heartbeat = time.Time{} }, "outside the years"},
		{"interval too short", func(r *Registration) { r.HeartbeatInterval = 0 }, "heartbeat interval 0s"},
		{"interval too long", func(r *Registration) { r.HeartbeatInterval = time.Hour + 1 }, "heartbeat interval 1h0"},
		{"too many addresses", func(r *Registration) { r.Addresses = make([]PathAddress, MaxAddresses+1) }, "more than 16 addresses"},
		{"too many versions", func(r *Registration) { r.ReadsAssignments = make([]int, 17) }, "16 assignment versions"},
		{"path", func(r *Registration) { r.Addresses[0].Path = "Public" }, `addresses[0]: path "Public"`},
		{"port 0", func(r *Registration) { r.Addresses[1].TCPPort = 0 }, "addresses[1]: TCP port 0"},
		{"port too large", func(r *Registration) { r.Addresses[1].TCPPort = 65536 }, "TCP port 65536"},
		{"no host", func(r *Registration) { r.Addresses[0].Host = "" }, "host of 0 characters"},
		{"long host", func(r *Registration) { r.Addresses[0].Host = strings.Repeat("x", 254) }, "host of 254 characters"},
		{"host that is no name", func(r *Registration) { r.Addresses[0].Host = "foo/bar" }, `addresses[0]: host "foo/bar"`},
		{"unspecified host", func(r *Registration) { r.Addresses[0].Host = "0.0.0.0" }, "cannot be a target"},
		{"multicast host", func(r *Registration) { r.Addresses[0].Host = "ff02::1" }, "cannot be a target"},
		{"host with a zone", func(r *Registration) { r.Addresses[0].Host = "fe80::1%eth0" }, "cannot be a target"},
	} {
		r := good()
		c.spoil(r)
		if err := r.Validate("dev", "westeurope"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
}

func TestFailureCodesAreAClosedList(t *testing.T) {
	for _, f := range append(Failures(), "") {
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, f := range []Failure{"Timeout", " timeout", "lost"} {
		if f.Validate() == nil {
			t.Errorf("%q is accepted", f)
		}
	}
}

func TestDetailsAreCutAtACharactersBorder(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{strings.Repeat("x", 300), strings.Repeat("x", 300)},
		{strings.Repeat("x", 301), strings.Repeat("x", 300)},
		{strings.Repeat("x", 299) + "é", strings.Repeat("x", 299)},
		{strings.Repeat("x", 298) + "é", strings.Repeat("x", 298) + "é"},
		{strings.Repeat("x", 298) + "😀", strings.Repeat("x", 298)},
		{strings.Repeat("\x80", 400), ""}, // no character anywhere
	} {
		if got := CutDetail(c.in); got != c.want {
			t.Errorf("cut to %d bytes ending in %q, want %d", len(got), got[max(len(got)-5, 0):], len(c.want))
		}
	}
}
