package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// process is a whole prober, run by its command line in this process.
type process struct {
	id   string
	out  *output
	stop context.CancelFunc
	code chan int
}

// output is a writer that several goroutines may write to while another reads.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) { o.mu.Lock(); defer o.mu.Unlock(); return o.b.Write(b) }
func (o *output) String() string              { o.mu.Lock(); defer o.mu.Unlock(); return o.b.String() }

// field finds a value in the log: of the first line with the message.
func (o *output) field(message, key string) string {
	for line := range strings.Lines(o.String()) {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) == nil && record["msg"] == message {
			return fmt.Sprint(record[key])
		}
	}
	return ""
}

func startProcess(t *testing.T, a account.Account, environment, id string) *process {
	t.Helper()
	env := map[string]string{
		account.EnvEnvironment: environment, account.EnvConnectionString: a.ConnectionString,
		"ISOCHRONE_PROBER": id, "ISOCHRONE_ADDRESSES": "public=127.0.0.1", "ISOCHRONE_LISTEN": "127.0.0.1:0", "ISOCHRONE_HEALTH": "127.0.0.1:0",
		"ISOCHRONE_POLL": "200ms", "ISOCHRONE_HEARTBEAT": "1s", "ISOCHRONE_VM_SIZE": "Standard_D2s_v5", "ISOCHRONE_IMAGE_DIGEST": "sha256:0",
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &process{id: id, out: &output{}, stop: stop, code: make(chan int, 1)}
	go func() { p.code <- run(ctx, nil, func(name string) string { return env[name] }, p.out, p.out) }()
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("log of %s:\n%s", id, p.out)
		}
	})
	return p
}

// exit stops the prober as SIGTERM does and returns its exit code and how long it took.
func (p *process) exit(t *testing.T) (int, time.Duration) {
	t.Helper()
	began := time.Now()
	p.stop()
	select {
	case code := <-p.code:
		return code, time.Since(began)
	case <-time.After(30 * time.Second):
		t.Fatalf("%s did not end within 30 s", p.id)
		return 0, 0
	}
}

// local asks the prober's own address for a path.
func (p *process) local(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + p.out.field("serving health", "address") + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // it is only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// exchange is the storage of an environment with probers that have registered.
type exchange struct {
	storage
	environment string
	account     account.Account
	seed        wire.Key
	slot        time.Time
	ports       map[string]int
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	a, environment := azuritetest.Environment(t)
	x := &exchange{storage: newStorage(t, a), environment: environment, account: a, seed: wire.NewSeed(), slot: wire.Slot(time.Now()), ports: map[string]int{}}
	for _, c := range []string{wire.ProbersContainer(environment), wire.AssignmentsContainer(environment), wire.InboxContainer(environment)} {
		x.create(c)
	}
	return x
}

// registered waits for a prober's registration, which must be valid.
func (x *exchange) registered(t *testing.T, id string) {
	t.Helper()
	blob := wire.RegistrationBlob(id)
	eventually(t, id+" has not registered", func() bool {
		for _, name := range x.list(wire.ProbersContainer(x.environment)) {
			if name == blob {
				return true
			}
		}
		return false
	})
	var r wire.Registration
	if err := json.Unmarshal(x.get(wire.ProbersContainer(x.environment), blob), &r); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(x.environment, id); err != nil {
		t.Fatalf("the registration of %s: %v", id, err)
	}
	if len(r.Addresses) != 1 || r.Addresses[0].Path != "public" || r.Region != id || len(r.ReadsAssignments) != 1 {
		t.Fatalf("registration %+v", r)
	}
	if r.Addresses[0].UDPPort != r.Addresses[0].TCPPort { // one rule in a firewall names both
		t.Fatalf("ports %d and %d", r.Addresses[0].TCPPort, r.Addresses[0].UDPPort)
	}
	x.ports[id] = r.Addresses[0].TCPPort
}

// assign is one assignment of source to target, and the session that the target is to admit.
func (x *exchange) assign(t *testing.T, source, target, probe string, spec wire.Spec, start time.Time) (wire.Assignment, wire.Session) {
	t.Helper()
	series := wire.Series{Environment: x.environment, Source: source, Target: target, Path: "public", Probe: probe}
	id, key, err := wire.DeriveSession(x.seed, series, x.slot)
	if err != nil {
		t.Fatal(err)
	}
	deadline := start.Add(time.Minute)
	r := wire.AssignedRun{Target: target, Path: "public", Address: fmt.Sprintf("127.0.0.1:%d", x.ports[target])}
	if spec.Authenticated() {
		r.Session, r.Key = id, key
	}
	return wire.Assignment{
			ID: wire.AssignmentID(x.environment, x.slot, source, probe, 0), Slot: x.slot, Probe: probe, Spec: spec,
			Start: start, LatestStart: start.Add(20 * time.Second), Deadline: deadline, Runs: []wire.AssignedRun{r},
		}, wire.Session{
			ID: id, Key: key, Source: source, Path: "public", Probe: probe, Kind: spec.Kind,
			RequestBytes: spec.RequestBytes, ResponseBytes: spec.ResponseBytes, MaxRequests: spec.Count + spec.Warmup,
			NotBefore: start.Add(-time.Second), Deadline: deadline, // as the app writes it: clocks may differ
		}
}

func (x *exchange) write(t *testing.T, id string, assignments []wire.Assignment, sessions []wire.Session) {
	t.Helper()
	body, err := json.Marshal(wire.Current{
		Version: wire.AssignmentsVersion, Environment: x.environment, Prober: id, Assignments: assignments, Sessions: sessions,
	})
	if err != nil {
		t.Fatal(err)
	}
	x.put(wire.AssignmentsContainer(x.environment), wire.CurrentBlob(id), body)
}

// document reads an assignment's document from the inbox; it must be valid.
func (x *exchange) document(t *testing.T, name string) *wire.Document {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(x.get(wire.InboxContainer(x.environment), name)))
	if err != nil {
		t.Fatal(err)
	}
	var d wire.Document
	if err := json.NewDecoder(z).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Errorf("the app would refuse %s: %v", name, err)
	}
	parsed, err := wire.ParseInboxBlob(name)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Prober != d.Source || parsed.Assignment != d.Assignment || parsed.Attempt != d.Attempt || parsed.HHMM != d.Slot.Format("1504") {
		t.Errorf("%s holds the document of %s, assignment %s, attempt %s, slot %s", name, d.Source, d.Assignment, d.Attempt, d.Slot)
	}
	return &d
}

var (
	tcpSpec     = wire.Spec{Kind: wire.KindTCP, Count: 30, Warmup: 3, Interval: 10 * time.Millisecond, Timeout: 5 * time.Second, RequestBytes: 64, ResponseBytes: 16}
	connectSpec = wire.Spec{Kind: wire.KindConnect, Count: 20, Warmup: 2, Interval: 10 * time.Millisecond, Timeout: 5 * time.Second}
	udpSpec     = wire.Spec{Kind: wire.KindUDP, Count: 25, Warmup: 2, Interval: 10 * time.Millisecond, Timeout: 5 * time.Second, RequestBytes: 112}
	specs       = map[string]wire.Spec{"tcp-64": tcpSpec, "connect": connectSpec, "udp": udpSpec}
)

func TestTwoProbersExchangeWhatTheAppAssignsThem(t *testing.T) {
	const a, b = "westeurope", "northeurope"
	x := newExchange(t)
	probers := map[string]*process{a: startProcess(t, x.account, x.environment, a), b: startProcess(t, x.account, x.environment, b)}
	x.registered(t, a)
	x.registered(t, b)

	start := time.Now().UTC().Add(3 * time.Second) // so that no session could have begun before the reflectors
	assignments, sessions := map[string][]wire.Assignment{}, map[string][]wire.Session{}
	var secrets []string
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for probe, spec := range specs {
			as, session := x.assign(t, pair[0], pair[1], probe, spec, start)
			assignments[pair[0]] = append(assignments[pair[0]], as)
			if spec.Authenticated() {
				sessions[pair[1]] = append(sessions[pair[1]], session)
			}
			secrets = append(secrets, hex.EncodeToString(session.Key[:]))
		}
	}
	for id := range probers {
		x.write(t, id, assignments[id], sessions[id])
	}
	inbox := wire.InboxContainer(x.environment)
	eventually(t, "six documents have not arrived", func() bool { return len(x.list(inbox)) == 6 })

	for _, name := range x.list(inbox) {
		d := x.document(t, name)
		r := d.Runs[0]
		spec := specs[d.Probe]
		if len(d.Runs) != 1 || r.Failure != "" || r.Counts.Received != spec.Count || r.Counts.Warmup != spec.Warmup || r.Samples.Len() != spec.Count || r.Kind != spec.Kind {
			t.Errorf("%s: %d runs, failure %q (%s), counts %+v; want all %d samples", name, len(d.Runs), r.Failure, r.Detail, r.Counts, spec.Count)
		}
		if want := map[string]string{a: b, b: a}[d.Source]; r.Target != want || r.Address != fmt.Sprintf("127.0.0.1:%d", x.ports[want]) {
			t.Errorf("%s: %s measured %s at %s", name, d.Source, r.Target, r.Address)
		}
		if r.Start == nil || r.Start.Before(start) || !r.PlannedStart.Equal(start) {
			t.Errorf("%s: planned for %s, started %v", name, start, r.Start)
		}
		if d.Provenance.ProberVersion != version || d.Provenance.VMSize != "Standard_D2s_v5" || d.Provenance.ImageDigest != "sha256:0" {
			t.Errorf("%s: provenance %+v", name, d.Provenance)
		}
	}
	for id, p := range probers {
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, body := p.local(t, path); code != http.StatusOK || body != "ok\n" {
				t.Errorf("%s: %s says %d %q", id, path, code, body)
			}
		}
		_, body := p.local(t, "/metrics")
		for _, want := range []string{
			"isochrone_assignments_taken_total 3", "isochrone_assignments_running 0", "isochrone_assignments_finished_total 3",
			"isochrone_documents_queued 0", "isochrone_documents_delivered_total 3", "isochrone_delivery_failures_total 0",
			"isochrone_sessions_admitted_total 2", `isochrone_sessions_refused_total{reason="wrong_key"} 0`,
			"isochrone_samples_sent_total 75", "isochrone_samples_received_total 75", "isochrone_heartbeats_total ",
			"isochrone_heartbeat_failures_total 0", "isochrone_poll_failures_total 0", "isochrone_last_poll_success_timestamp_seconds 1.", "process_cpu_seconds_total ",
		} {
			if !strings.Contains(body, "\n"+want) {
				t.Errorf("%s: the metrics do not say %q", id, want)
			}
		}
		if strings.Contains(body, "process_network_") {
			t.Errorf("%s: the metrics count the whole host's traffic as the process's", id)
		}
		if code, took := p.exit(t); code != exitOK || took > 10*time.Second {
			t.Errorf("%s: exit code %d after %s", id, code, took)
		}
		log := strings.ToLower(p.out.String())
		for _, secret := range append(secrets, hex.EncodeToString(x.seed[:])) {
			if strings.Contains(log, secret) {
				t.Errorf("%s: a session's key is in the log", id)
			}
		}
		if !strings.Contains(log, `"msg":"delivered"`) {
			t.Errorf("%s: the log says nothing of a delivery: this test looks at nothing", id)
		}
	}
	if n := len(x.list(inbox)); n != 6 {
		t.Errorf("%d documents in the end, want 6", n)
	}
}

func TestAStoppedProberDeliversWhatItHasAndLeavesTheRestToItsSuccessor(t *testing.T) {
	const a, b = "westeurope", "northeurope"
	x := newExchange(t)
	source := startProcess(t, x.account, x.environment, a)
	startProcess(t, x.account, x.environment, b)
	x.registered(t, a)
	x.registered(t, b)
	long := tcpSpec
	long.Count = 4000 // 40 s
	start := time.Now().UTC().Add(2 * time.Second)
	begun, session := x.assign(t, a, b, "tcp-long", long, start)
	later, _ := x.assign(t, a, b, "connect", connectSpec, start.Add(25*time.Second))
	x.write(t, b, nil, []wire.Session{session})
	x.write(t, a, []wire.Assignment{begun, later}, nil)
	eventually(t, "two assignments were not taken", func() bool {
		_, metrics := source.local(t, "/metrics")
		return strings.Contains(metrics, "\nisochrone_assignments_running 2")
	})
	time.Sleep(time.Until(start.Add(2 * time.Second)))

	if code, took := source.exit(t); code != exitOK || took > 10*time.Second {
		t.Errorf("exit code %d after %s; container hosts wait ten seconds", code, took)
	}
	names := x.list(wire.InboxContainer(x.environment))
	if len(names) != 1 {
		t.Fatalf("documents %q, want one: of the assignment that had begun", names)
	}
	d := x.document(t, names[0])
	r := d.Runs[0]
	if d.Assignment != begun.ID || r.Counts.Received == 0 || r.Counts.Received != r.Counts.Sent || r.Counts.Sent >= long.Count || r.Samples.Len() != long.Count {
		t.Errorf("document of %q: failure %q, counts %+v of %d samples", d.Probe, r.Failure, r.Counts, r.Samples.Len())
	}
	if f := r.Samples.Failure[long.Count-1]; f != wire.FailureCanceled {
		t.Errorf("the last sample's failure is %q, want canceled", f)
	}

	// The successor leaves the first alone, and takes the second, which starts after it did.
	next := startProcess(t, x.account, x.environment, a)
	eventually(t, "the successor has not taken anything", func() bool {
		return next.out.field("took an assignment", "assignment") == later.ID
	})
	if got := next.out.field("leaving an assignment alone: it starts before this process did", "assignment"); got != begun.ID {
		t.Errorf("left alone: %q, want %q", got, begun.ID)
	}
}

func TestAProberWhoseStorageIsMissingIsAliveAndNotReady(t *testing.T) {
	a, environment := azuritetest.Environment(t) // without containers
	p := startProcess(t, a, environment, "westeurope")
	eventually(t, "it does not serve health", func() bool { return p.out.field("serving health", "address") != "" })
	time.Sleep(3 * time.Second) // 15 polls and as many heartbeats as make it down
	code, body := p.local(t, "/readyz")
	if want := "polling assignments has not succeeded yet\nregistering has not succeeded yet\n"; code != http.StatusServiceUnavailable || body != want {
		t.Errorf("ready: %d %q, want 503 %q", code, body, want)
	}
	if code, body := p.local(t, "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("alive: %d %q: storage is away, and a restart would not bring it back", code, body)
	}
	_, metrics := p.local(t, "/metrics")
	for _, want := range []string{
		`\nisochrone_poll_failures_total [1-9]`, `\nisochrone_heartbeat_failures_total [1-9]`, `\nisochrone_last_poll_success_timestamp_seconds 0\n`,
	} {
		if !regexp.MustCompile(want).MatchString(metrics) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
	if code, _ := p.exit(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestAnAddressThatIsTakenEndsTheProber(t *testing.T) {
	a, environment := azuritetest.Environment(t)
	first := startProcess(t, a, environment, "westeurope")
	eventually(t, "it does not reflect", func() bool { return first.out.field("reflecting", "address") != "" })
	for _, name := range []string{"ISOCHRONE_LISTEN", "ISOCHRONE_HEALTH"} {
		env := map[string]string{
			account.EnvEnvironment: environment, account.EnvConnectionString: a.ConnectionString, "ISOCHRONE_PROBER": "northeurope",
			"ISOCHRONE_ADDRESSES": "public=127.0.0.1", "ISOCHRONE_LISTEN": "127.0.0.1:0", "ISOCHRONE_HEALTH": "127.0.0.1:0",
		}
		env[name] = first.out.field("reflecting", "address")
		var out bytes.Buffer
		if code := run(t.Context(), []string{"run"}, func(n string) string { return env[n] }, &out, &out); code != exitFailed {
			t.Errorf("%s taken: exit code %d, want %d", name, code, exitFailed)
		}
		if !strings.Contains(out.String(), "address already in use") {
			t.Errorf("%s taken: the log does not say so: %s", name, &out)
		}
	}
}
