package plan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func encoded(t testing.TB) []byte {
	t.Helper()
	b, err := Encode(mustMake(t, input(t)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeGivesWhatWasEncoded(t *testing.T) {
	want := mustMake(t, input(t))
	got, err := Decode(encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b wire.Key) bool { return a == b })); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestDecodeMakesTimesUTC(t *testing.T) {
	body := bytes.ReplaceAll(encoded(t), []byte("2026-11-30T10:"), []byte("2026-11-30T12:"))
	body = bytes.ReplaceAll(body, []byte(`Z"`), []byte(`+02:00"`))
	p, err := Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(p)
	if err != nil || !bytes.Equal(again, encoded(t)) {
		t.Errorf("%v\n%s", err, again)
	}
}

func TestHostilePlansAreRefused(t *testing.T) {
	good := string(encoded(t))
	first := `"id":"` + wire.AssignmentID("test", slot, "brazilsouth", "handshake", 0) + `"`
	for _, c := range []struct{ name, old, new, want string }{
		{"version", `"version":1`, `"version":2`, "version 2: this program reads plan version 1"},
		{"no version", `"version":1,`, ``, "version 0"},
		{"newer version with unknown fields", `"version":1`, `"version":2,"colour":"red"`, "version 2: this program reads plan version 1"},
		{"environment", `"environment":"test"`, `"environment":"TEST"`, `environment "TEST": want`},
		{"other environment", `"environment":"test"`, `"environment":"prod"`, "assignments[0]: id"},
		{"slot", `"slot":"2026-11-30T10:20:00Z"`, `"slot":"2026-11-30T10:20:30Z"`, "want a whole minute"},
		{"other slot", `"slot":"2026-11-30T10:20:00Z"`, `"slot":"2026-11-30T10:10:00Z"`, "assignments[0]: id"},
		{"ancient slot", `"slot":"2026`, `"slot":"1026`, "want a whole minute"},
		{"no seed", `"seed":"010203`, `"seed":"000000`, "the seed is zero or absent"},
		{"short seed", `"seed":"010203`, `"seed":"01`, "key of 60 characters"},
		{"hash", `"config_sha256":"0`, `"config_sha256":"X`, "configuration hash"},
		{"id", first, `"id":"` + strings.Repeat("0", 32) + `"`, `assignments[0]: id "0000`},
		{"id of another part", first + `,"source":"brazilsouth","probe":"handshake","part":0`, first + `,"source":"brazilsouth","probe":"handshake","part":1`, "part 1 of"},
		{"negative part", `"part":0`, `"part":-1`, "part -1 is negative"},
		{"source", `"source":"brazilsouth"`, `"source":"../brazil"`, `source "../brazil": want`},
		{"kind", `"kind":"connect"`, `"kind":"flood"`, `kind "flood"`},
		{"count", `"count":20`, `"count":2000000000`, "count 2000000000"},
		{"product of runs and samples", `"count":20`, `"count":90000`, "deadline"},
		{"deadline", `"deadline":"2026-11-30T10:2`, `"deadline":"2026-11-30T09:2`, "do not follow each other"},
		{"start before slot", `"start":"2026-11-30T10:2`, `"start":"2026-11-30T10:1`, "do not follow each other"},
		{"no runs", `"runs":[{"target":"eastus","path":"public","failure":"target_down","detail":"its heartbeat is old"},`, `"runs":[],"runs2":[`, "0 runs of"},
		{"target", `"target":"northeurope"`, `"target":"north/europe"`, `target "north/europe": want`},
		{"target is source", `"target":"eastus"`, `"target":"brazilsouth"`, `target "brazilsouth" is its own source`},
		{"run twice", `"target":"northeurope"`, `"target":"eastus"`, `"eastus" over "public" is there twice`},
		{"name as address", `"address":"198.51.100.4:7701"`, `"address":"evil.example.com:7701"`, "want a numeric host:port"},
		{"no address", `"address":"198.51.100.4:7701"`, `"address":""`, "want a numeric host:port"},
		{"failure of a sample", `"failure":"target_down"`, `"failure":"timeout"`, `failure "timeout"`},
		{"failure and address", `"failure":"target_down"`, `"failure":"target_down","address":"192.0.2.9:1"`, `with address "192.0.2.9:1"`},
		{"long detail", `"detail":"its heartbeat is old"`, `"detail":"` + strings.Repeat("x", wire.MaxDetailBytes+1) + `"`, "detail of 301 bytes: want at most 300"},
		{"detail without failure", `"address":"198.51.100.4:7701"`, `"address":"198.51.100.4:7701","detail":"slow"`, `detail "slow" without a failure`},
		{"cut off", good[len(good)-40:], ``, "unexpected end of JSON input"},
		{"list", good, `[]`, "cannot unmarshal array"},
		{"null", good, `null`, "version 0"},
		{"empty", good, ``, "unexpected end of JSON input"},
		{"two", good, good + good, "after top-level value"},
		{"deep", good, strings.Repeat(`[`, 100_000), "exceeded max depth"},
		{"big number", `"part":0`, `"part":1e99`, "cannot unmarshal number"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: the plan has no %s", c.name, c.old)
		}
		p, err := Decode([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) || p != nil {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d characters", c.name, len(err.Error()))
		}
	}
}

// An app that is rolled back goes on with what the newer one planned: the same version with more in it.
func TestFieldsThatANewerAppAddsAreLeftAlone(t *testing.T) {
	body := encoded(t)
	for _, c := range []struct{ old, new string }{
		{`"version":1`, `"version":1,"rounds":[{"guard":"1s"}]`},
		{`"part":0`, `"part":0,"round":3`},
		{`"failure":"target_down"`, `"failure":"target_down","since":"2026-11-30T10:00:00Z"`},
		{`"count":20`, `"count":20,"streams":4`},
	} {
		newer := bytes.Replace(body, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(newer, body) {
			t.Fatalf("the plan has no %s", c.old)
		}
		p, err := Decode(newer)
		if err != nil {
			t.Errorf("with %s: %v", c.new, err)
			continue
		}
		if again, err := Encode(p); err != nil || !bytes.Equal(again, body) {
			t.Errorf("with %s what is known of it became %s (%v)", c.new, again, err)
		}
	}
}

func TestAssignmentLimitsAreHeld(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Assignment)
		want   string
	}{
		{"no runs", func(a *Assignment) { a.Runs = nil }, "0 runs of 20 samples"},
		{"too many runs", func(a *Assignment) { a.Runs = make([]Run, wire.MaxRuns+1) }, "1001 runs"},
		{"too many samples", func(a *Assignment) {
			a.Spec.Count = wire.MaxSamples
			a.Deadline = a.LatestStart.Add(a.Spec.Span())
			a.Expires = a.Deadline
		}, "3 runs of 100000 samples"},
		{"a deadline within the run", func(a *Assignment) { a.Deadline = a.LatestStart }, "cuts a run of"},
		{"no expiry", func(a *Assignment) { a.Expires = time.Time{} }, "do not follow each other"},
	} {
		p := mustMake(t, input(t))
		c.change(&p.Assignments[0])
		if b, err := Encode(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want %s", c.name, b, err, c.want)
		}
	}
	p := mustMake(t, input(t))
	p.Assignments = append(p.Assignments, p.Assignments[0])
	if _, err := Encode(p); err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Errorf("an assignment twice: %v", err)
	}
	p = mustMake(t, input(t))
	p.Seed = wire.Key{}
	if _, err := Encode(p); err == nil || !strings.Contains(err.Error(), "known to everyone") {
		t.Errorf("no seed: %v", err)
	}
}

func TestOversizedPlanIsRefusedUnread(t *testing.T) {
	if _, err := Decode(bytes.Repeat([]byte(" "), MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "67108865 bytes: want at most 67108864") {
		t.Errorf("%v", err)
	}
}

// The design point fits well within what is read.
func TestPlanOfTheDesignPointFits(t *testing.T) {
	in := everyoneUp(60, wire.Spec{Kind: wire.KindTCP, Count: 100, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16})
	b, err := Encode(mustMake(t, in))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if p.Runs() != 3540 || 6*len(b) > MaxBytes/8 {
		t.Errorf("%d runs in %d bytes; six of these want to be at most %d", p.Runs(), len(b), MaxBytes/8)
	}
}

// planSeeds are plans, three of which can be read, and what is nearly one.
func planSeeds(t testing.TB) [][]byte {
	t.Helper()
	good := encoded(t)
	out := [][]byte{good, []byte(`{}`), []byte(`null`), []byte(`{"version":1}`),
		[]byte(`{"version":1,"environment":"test","slot":"2026-11-30T10:20:00Z","seed":"` + strings.Repeat("01", 32) + `","config_sha256":"` + hash + `","assignments":null}`),
		bytes.Replace(good, []byte("eastus"), []byte("EASTUS"), 1), good[:len(good)/2]}
	for _, in := range []Input{kindsInput(t), bulkInput(t)} {
		b, err := Encode(mustMake(t, in))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func TestTheFuzzTargetHasItsSeeds(t *testing.T) {
	read := 0
	for _, b := range planSeeds(t) {
		if _, err := Decode(b); err == nil {
			read++
		}
	}
	if n := len(planSeeds(t)); n != 9 || read != 4 {
		t.Errorf("%d seeds, of which %d are plans; want 9 and 4", n, read)
	}
}

// Whatever Decode accepts can be told and encoded again to the same bytes.
func FuzzDecode(f *testing.F) {
	for _, b := range planSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := Decode(body)
		if err != nil {
			return
		}
		once, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := Encode(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v: %s became %s", err, once, twice)
		}
		for _, a := range p.Assignments {
			c, err := Current(p.Environment, a.Source, []*Plan{p}, p.Slot)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
		}
	})
}
