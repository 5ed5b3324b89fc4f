package plan

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// kindsInput is a sweep of every kind from westeurope. northeurope's prober is of a version that
// had no UDP reflector; of the endpoints gone could not be resolved.
func kindsInput(t testing.TB) Input {
	t.Helper()
	body, err := os.ReadFile("testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	older := addresses("public", "198.51.100.4:7700")
	north := older["public"]
	north.UDPPort = 0
	older["public"] = north
	return Input{Config: c, ConfigHash: hash, Slot: slot, Now: slot, Seed: seed, Targets: map[string]Target{
		"westeurope":  {Assignments: 1, Addresses: addresses("public", "192.0.2.4:7700", "peering", "10.1.0.4:7700")},
		"northeurope": {Assignments: 1, Addresses: older},
		"eastus":      {Assignments: 1, Addresses: addresses("public", "[2001:db8::4]:7700")},
		"db":          {Addresses: addresses("peering", "10.9.0.4:1433")},
		"api":         {Addresses: addresses("public", "203.0.113.9:443")},
		"gone":        {Refused: map[string]string{"public": "the endpoint's host is not usable"}},
	}}
}

func TestARunsAddressIsRightForItsKind(t *testing.T) {
	p := mustMake(t, kindsInput(t))
	got := map[string]string{}
	for _, a := range p.Assignments {
		if a.Source != "westeurope" {
			t.Errorf("an assignment of %s: endpoints never measure", a.Source)
		}
		for _, r := range a.Runs {
			got[a.Probe+" "+r.Target+" "+r.Path] = strings.TrimSpace(r.Address + r.URL + " " + string(r.Failure) + " " + r.Detail)
		}
	}
	want := map[string]string{
		"udp eastus public":       "[2001:db8::4]:7701",
		"udp northeurope public":  "target_down the target has no UDP reflector: bring its prober up to date",
		"echo eastus public":      "2001:db8::4",
		"echo db peering":         "10.9.0.4",
		"echo api public":         "203.0.113.9",
		"dial northeurope public": "198.51.100.4:7700",
		"dial db peering":         "10.9.0.4:1433",
		"dial api public":         "203.0.113.9:443",
		"dial gone public":        "target_down the endpoint's host is not usable",
		"health api public":       "https://api.example.com/health",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if b, err := Encode(p); err != nil {
		t.Error(err)
	} else if again, err := Decode(b); err != nil || !cmp.Equal(p, again, cmp.Comparer(func(a, b wire.Key) bool { return a == b })) {
		t.Errorf("decoded %v: %s", err, cmp.Diff(p, again, cmp.Comparer(func(a, b wire.Key) bool { return a == b })))
	}
}

// Whether a source may connect to its own loopback is the configuration's to say, and only of http
// is it asked: the addresses of other kinds are checked when the sweep is planned.
func TestSourcesAreToldWhetherLoopbackIsPermitted(t *testing.T) {
	for _, permitted := range []bool{false, true} {
		in := kindsInput(t)
		in.Config.Loopback = permitted
		p := mustMake(t, in)
		b, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = Decode(b); err != nil {
			t.Fatal(err)
		}
		runs := 0
		for _, a := range mustTell(t, "westeurope", []*Plan{p}, slot).Assignments {
			for _, r := range a.Runs {
				runs++
				if want := permitted && a.Spec.Kind == wire.KindHTTP; r.Loopback != want {
					t.Errorf("loopback: %t: %s to %s is told %t", permitted, a.Probe, r.Target, r.Loopback)
				}
			}
		}
		if runs == 0 || strings.Contains(string(b), "loopback") != permitted {
			t.Errorf("loopback: %t: %d runs, plan %s", permitted, runs, b)
		}
	}
}

// What is not resolved is no reason to leave an http run out: its source resolves the name.
func TestEndpointsOfWhichNothingIsKnown(t *testing.T) {
	in := kindsInput(t)
	delete(in.Targets, "api")
	for _, a := range mustMake(t, in).Assignments {
		for _, r := range a.Runs {
			switch {
			case r.Target != "api":
			case a.Spec.Kind == wire.KindHTTP && (r.Failure != "" || r.URL == ""):
				t.Errorf("http: %+v", r)
			case a.Spec.Kind != wire.KindHTTP && (r.Failure != wire.FailureTargetDown || r.Detail != "the endpoint's address is not known"):
				t.Errorf("%s: %+v", a.Spec.Kind, r)
			}
		}
	}
}

func TestSourcesAndTargetsAreToldOfEveryKind(t *testing.T) {
	p := mustMake(t, kindsInput(t))
	told := mustTell(t, "westeurope", []*Plan{p}, slot)
	target := mustTell(t, "eastus", []*Plan{p}, slot)
	if len(target.Sessions) != 1 {
		t.Fatalf("eastus is told %d sessions: want the one of udp", len(target.Sessions))
	}
	s := target.Sessions[0]
	if s.Kind != wire.KindUDP || s.RequestBytes != 1000 || s.ResponseBytes != 0 || s.MaxRequests != 25 || !s.NotBefore.Equal(slot.Add(29*time.Second)) {
		t.Errorf("session %+v", s)
	}
	for _, a := range told.Assignments {
		for _, r := range a.Runs {
			switch {
			case a.Spec.Kind == wire.KindUDP && r.Target == "eastus":
				if r.Session != s.ID || r.Key != s.Key {
					t.Error("source and target are told different sessions")
				}
			case !r.Session.IsZero() || !r.Key.IsZero():
				t.Errorf("%s to %s has a session", a.Probe, r.Target)
			case a.Spec.Kind == wire.KindHTTP && (r.URL != "https://api.example.com/health" || r.Address != "" || a.Spec.Method != "GET" || a.Spec.Connection != "fresh"):
				t.Errorf("http: %+v %+v", a.Spec, r)
			}
		}
	}
	if north := mustTell(t, "northeurope", []*Plan{p}, slot); len(north.Sessions) != 0 {
		t.Errorf("northeurope, which has no UDP reflector, is told %+v", north.Sessions)
	}
}

func TestHostilePlansOfTheNewKindsAreRefused(t *testing.T) {
	b, err := Encode(mustMake(t, kindsInput(t)))
	if err != nil {
		t.Fatal(err)
	}
	good, url := string(b), `"url":"https://api.example.com/health"`
	for _, c := range []struct{ name, old, new, want string }{
		{"a URL of udp", `"address":"[2001:db8::4]:7701"`, `"address":"[2001:db8::4]:7701",` + url, `a URL: kind "udp" has none`},
		{"http without a URL", url, `"url":""`, "its URL: want an http or https URL"},
		{"http with an address", url, url + `,"address":"203.0.113.9:443"`, `kind "http" has none, its source resolves the URL`},
		{"http with a password", url, `"url":"https://me:hunter2@api.example.com/"`, "its URL: holds a user name or password"},
		{"a file", url, `"url":"file:///etc/passwd"`, "its URL: want an http or https URL"},
		{"a long URL", url, `"url":"https://api.example.com/` + strings.Repeat("x", 3000) + `"`, "want at most 2048"},
		{"icmp with a port", `"address":"2001:db8::4"`, `"address":"[2001:db8::4]:80"`, "want a numeric host"},
		{"icmp to many", `"address":"2001:db8::4"`, `"address":"ff02::1"`, "want a numeric host"},
		{"udp without a port", `"address":"[2001:db8::4]:7701"`, `"address":"2001:db8::4"`, "want a numeric host:port"},
		{"failure and URL", url, url + `,"failure":"target_down"`, `failure "target_down" with a URL`},
		{"a closed loop", `"interval_ns":10000000,`, `"interval_ns":0,`, "no sweep has a closed loop"},
		{"another method", `"method":"GET"`, `"method":"DELETE"`, `method "DELETE": want GET or HEAD`},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: the plan has no %s", c.name, c.old)
		}
		if _, err := Decode([]byte(strings.Replace(good, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}

func TestWhatWasMeasuredIsHeldAgainstThePlan(t *testing.T) {
	tcp, web := Run{Address: "192.0.2.4:7700"}, Run{URL: "https://api.example.com/health"}
	for _, c := range []struct {
		run     Run
		kind    wire.Kind
		address string
		want    string // part of the error; empty for none
	}{
		{tcp, wire.KindTCP, "192.0.2.4:7700", ""},
		{tcp, wire.KindTCP, "192.0.2.5:7700", `the address is "192.0.2.5:7700"; planned is "192.0.2.4:7700"`},
		{Run{Address: "192.0.2.4"}, wire.KindICMP, "192.0.2.4", ""},
		{Run{Address: "192.0.2.4"}, wire.KindICMP, "192.0.2.4:1", "planned is"},
		{web, wire.KindHTTP, "", ""},
		{web, wire.KindHTTP, "203.0.113.9:443", ""},
		{web, wire.KindHTTP, "[2001:db8::4]:443", ""},
		{web, wire.KindHTTP, "203.0.113.9:80", "planned is a numeric one with port 443"},
		{web, wire.KindHTTP, "api.example.com:443", "planned is a numeric one"},
		{web, wire.KindHTTP, "0.0.0.0:443", "planned is a numeric one"},
		{web, wire.KindHTTP, strings.Repeat("x", 300), "planned is a numeric one"},
	} {
		err := c.run.CheckMeasured(c.kind, c.address)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %q: %v; want %q", c.kind, c.address, err, c.want)
		}
	}
}

func TestRunBytesCountsWholePacketsOrNothing(t *testing.T) {
	for _, c := range []struct {
		spec              wire.Spec
		request, response int64
		known             bool
	}{
		{wire.Spec{Kind: wire.KindTCP, Count: 100, Warmup: 5, RequestBytes: 64, ResponseBytes: 16}, 64 + 105*64, 48 + 105*16, true},
		{wire.Spec{Kind: wire.KindUDP, Count: 100, Warmup: 5, RequestBytes: 112}, 105*140 + 2*220, 105*140 + 2*220, true},
		{wire.Spec{Kind: wire.KindICMP, Count: 10, RequestBytes: 56}, 10 * 84, 10 * 84, true}, // ping says "56(84) bytes"
		{wire.Spec{Kind: wire.KindConnect, Count: 10}, 0, 0, true},
		{wire.Spec{Kind: wire.KindHTTP, Count: 10, Method: "GET"}, 0, 0, false},
	} {
		if request, response, known := RunBytes(c.spec); request != c.request || response != c.response || known != c.known {
			t.Errorf("%+v: %d, %d, %t; want %d, %d, %t", c.spec, request, response, known, c.request, c.response, c.known)
		}
	}
	cost := mustMake(t, kindsInput(t)).Cost()
	// udp to eastus; echo to eastus, db and api; dial; and health, of which nobody can say.
	udp, echo := int64(25*(1000+28)+440), int64(15*84)
	if cost.Bytes != 2*udp+3*2*echo || cost.UnknownRuns != 1 || cost.Runs != 10 {
		t.Errorf("%+v: want %d bytes, 1 run unknown of 10", cost, 2*udp+3*2*echo)
	}
}

// What an older app stored is read as before, and what this one stores for the older kinds has
// nothing new in it.
func TestPlansOfTheOlderKindsHaveNoNewFields(t *testing.T) {
	body := encoded(t)
	for _, field := range []string{`"url"`, `"method"`, `"connection"`, `"udp_port"`} {
		if strings.Contains(string(body), field) {
			t.Errorf("the plan has %s", field)
		}
	}
}
