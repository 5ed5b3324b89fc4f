package ingest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ingest"
)

// sent is a foreign document and what it comes with.
type sent struct {
	body []byte
	p    ingest.Parameters
}

func toolSample(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "convert", "foreign", "testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// sentDocuments are documents that end in each of the ways there are.
func sentDocuments(t *testing.T) map[string]sent {
	named := ingest.Parameters{Source: "westeurope", Target: "northeurope", Path: "public", At: "2026-11-29T10:00:00Z"}
	hosts := named
	hosts.Target = "192.0.2.1=northeurope,192.0.2.2=eastus"
	return map[string]sent{
		"several rows": {toolSample(t, "fping/json-c.json"), hosts},
		"a failure":    {toolSample(t, "iperf3/refused.json"), named},
		"damaged":      {toolSample(t, "fping/json-cut.json"), hosts},
		"our own":      {pack(t, foreignDocument(slot)), ingest.Parameters{Probe: "mine"}},
		"unknown XML":  {[]byte("<order><item>1</item></order>"), ingest.Parameters{XML: ingest.XMLToJSON}},
		"refused":      {[]byte("hello"), named},
	}
}

// send is one try of a sender: what it is told, or that it has to try again.
func (s sent) send(t *testing.T, b *bench) (told string, again bool) {
	out, err := b.ingester().Foreign(t.Context(), s.body, s.p)
	if refused, ok := errors.AsType[*ingest.Refused](err); ok {
		return refused.Error(), false
	}
	if err != nil {
		return "", true
	}
	return fmt.Sprintf("stored %v as %q and %q, %d rows, %d parts left out", out.Stored, out.Document, out.JSON, out.Rows, out.LeftCount), false
}

// waits is what a sender is told whose document is safe in the inbox.
const waits = `stored false as "" and "", 0 rows, 0 parts left out`

// undisturbed is what a document comes to when nothing goes wrong.
func (s sent) undisturbed(t *testing.T) (told string, state, calls []string) {
	t.Helper()
	b := newBench(t)
	told, again := s.send(t, b)
	if again || len(b.store.Waiting()) != 0 {
		t.Fatalf("undisturbed it is told %q, and the inbox holds %q", told, b.store.Waiting())
	}
	return told, b.store.State(), b.store.Calls()
}

// route is a way that a document takes: the first so many calls fail.
type route struct {
	name   string
	faults []string
}

// then is the route's faults, and after those another.
func (r route) then(fault func(int, string) storetest.Fault) func(int, string) storetest.Fault {
	return func(call int, op string) storetest.Fault {
		if call < len(r.faults) {
			return storetest.NotStored
		}
		if fault == nil {
			return storetest.None
		}
		return fault(call, op)
	}
}

// calls are what the store is asked on the route.
func (r route) calls(t *testing.T, s sent, told string, want []string) []string {
	t.Helper()
	b := newBench(t)
	b.store.Fault = r.then(nil)
	got, again := s.send(t, b)
	if again || got != told {
		t.Fatalf("%s: it is told %q, want %q", r.name, got, told)
	}
	if diff := cmp.Diff(want, b.store.State()); diff != "" {
		t.Fatalf("%s: state (-undisturbed +disturbed):\n%s", r.name, diff)
	}
	return b.store.Calls()
}

// routes are at once, and through the inbox after a fault at the first call.
func routes(t *testing.T, calls []string) []route {
	t.Helper()
	for _, op := range calls {
		if op == "DropForeign" || op == "Take" {
			t.Fatalf("undisturbed the calls are %q: want nothing of the inbox", calls)
		}
	}
	return []route{{name: "at once"}, {name: "through the inbox", faults: calls[:1]}}
}

// Every call fails in every way, on either route. Who has no answer sends again, and the app's next Ingest
// finishes what was left: the end is the same, byte for byte.
func TestEveryFaultOfAForeignDocumentEndsTheSame(t *testing.T) {
	for name, s := range sentDocuments(t) {
		told, want, undisturbed := s.undisturbed(t)
		for _, r := range routes(t, undisturbed) {
			calls := r.calls(t, s, told, want)
			if r.faults != nil && (calls[1] != "DropForeign" || slices.Contains(calls, "Take")) {
				t.Fatalf("%s: the calls are %q: want the document dropped, and not taken once more", name, calls)
			}
			for i, op := range calls[len(r.faults):] {
				i += len(r.faults)
				for how, fault := range storetest.Faults(i, op) {
					t.Run(fmt.Sprintf("%s %s: %d %s %s", name, r.name, i, op, how), func(t *testing.T) {
						endsTheSame(t, s, r.then(fault), told, want)
					})
				}
			}
		}
	}
}

func endsTheSame(t *testing.T, s sent, fault func(int, string) storetest.Fault, told string, want []string) {
	b := newBench(t)
	b.store.Fault = fault
	first, again := s.send(t, b)
	dropped := slices.Contains(b.store.Calls(), "DropForeign")
	b.store.Fault = nil
	if !again && first != told && first != waits {
		t.Errorf("it is told %q, want %q or that it waits", first, told)
	}
	if again && !dropped {
		t.Errorf("it is to be sent again before the inbox was tried: %q", b.store.Calls())
	}
	if first == waits && len(b.store.Waiting()) != 1 && !cmp.Equal(want, b.store.State()) { // its removal may have succeeded
		t.Error("it is told that it waits, and is neither stored nor in the inbox")
	}
	if again { // what was dropped all the same a Drain finds, too
		if second, _ := s.send(t, b); second != told {
			t.Errorf("sent again, it is told %q, want %q", second, told)
		}
	}
	b.drain(t)
	if diff := cmp.Diff(want, b.store.State()); diff != "" {
		t.Errorf("state (-undisturbed +disturbed):\n%s", diff)
	}
	if third, _ := s.send(t, b); third != told {
		t.Errorf("sent once more, it is told %q, want %q", third, told)
	}
	if diff := cmp.Diff(want, b.store.State()); diff != "" {
		t.Errorf("state, sent once more (-undisturbed +disturbed):\n%s", diff)
	}
}

// The app is killed at a call of the first try, on either route, and whoever goes on, the sender's second
// try or Ingest, at a call of his.
func TestAnAppKilledTwiceEndsTheSame(t *testing.T) {
	const most = 10 // calls of a process, taking and releasing included
	for name, s := range sentDocuments(t) {
		told, want, undisturbed := s.undisturbed(t)
		for _, r := range routes(t, undisturbed) {
			calls := r.calls(t, s, told, want)
			for _, next := range []string{"the sender", "Ingest"} {
				for first := len(r.faults); first < len(calls); first++ {
					for second := range most {
						t.Run(fmt.Sprintf("%s %s: at %d, then %s at %d", name, r.name, first, next, second), func(t *testing.T) {
							killedTwice(t, s, r.then(storetest.From(first)), next == "Ingest", second, told, want)
						})
					}
				}
			}
		}
	}
}

func killedTwice(t *testing.T, s sent, first func(int, string) storetest.Fault, ingests bool, second int, told string, want []string) {
	b := newBench(t)
	b.store.Fault = first
	_, _ = s.send(t, b) // the answer is lost with the process
	b.store.Fault = storetest.From(len(b.store.Calls()) + second)
	if ingests {
		_, _ = b.ingester().Drain(t.Context())
	} else {
		_, _ = s.send(t, b)
	}
	b.store.Fault = nil
	if got, again := s.send(t, b); again || got != told {
		t.Errorf("sent again, it is told %q, want %q", got, told)
	}
	b.drain(t)
	if got, again := s.send(t, b); again || got != told {
		t.Errorf("in the end it is told %q, want %q", got, told)
	}
	if diff := cmp.Diff(want, b.store.State()); diff != "" {
		t.Errorf("state (-undisturbed +disturbed):\n%s", diff)
	}
}

// interleaved runs two senders one at a time: a until before its call i, b until before its call j, a to its
// end, b to its end.
func interleaved(store *storetest.Store, i, j int, a, b func()) {
	var calls [2]int // of a and of b
	turn := 0        // whose it is; only he runs
	back, on, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
	started, returned := false, false
	giveBack := func() { returned, turn = true, 0; close(back) }
	store.Before = func(string) {
		n := calls[turn]
		calls[turn]++
		switch {
		case turn == 0 && n == i && !started:
			started, turn = true, 1
			go func() {
				defer close(end)
				b()
				if !returned {
					giveBack()
				}
			}()
			<-back
		case turn == 1 && n == j && !returned:
			giveBack()
			<-on
		}
	}
	a()
	turn = 1
	close(on)
	if !started { // a was at its end before
		started, returned = true, true
		b()
		return
	}
	<-end
}

// The same document comes from two senders at once, on either route, one overtaking the other at every call.
func TestTwoSendersOfOneDocumentEndTheSame(t *testing.T) {
	const most = 8
	for name, s := range sentDocuments(t) {
		told, want, undisturbed := s.undisturbed(t)
		for _, r := range []route{{name: "at once"}, {name: "through the inbox", faults: undisturbed[:1]}} {
			for i := range most {
				for j := range most {
					t.Run(fmt.Sprintf("%s %s: %d and %d", name, r.name, i, j), func(t *testing.T) {
						twoSenders(t, s, r, i, j, told, want)
					})
				}
			}
		}
	}
}

// twoSenders has both senders of a route's faults meet them.
func twoSenders(t *testing.T, s sent, r route, i, j int, told string, want []string) {
	b := newBench(t)
	met := 0
	b.store.Fault = func(_ int, op string) storetest.Fault {
		if r.faults == nil || op != r.faults[0] || met == 2 {
			return storetest.None
		}
		met++
		return storetest.NotStored
	}
	var answers [2]string
	try := func(n int) func() {
		return func() {
			var again bool
			if answers[n], again = s.send(t, b); again {
				t.Errorf("sender %d is to send again", n)
			}
		}
	}
	interleaved(b.store, i, j, try(0), try(1))
	b.store.Before, b.store.Fault = nil, nil
	if answers[0] != told && answers[1] != told && r.faults == nil {
		t.Errorf("nobody is told %q: %q", told, answers)
	}
	for _, answer := range answers {
		if answer != told && answer != waits {
			t.Errorf("told %q, want %q or that it waits", answer, told)
		}
	}
	b.drain(t)
	if diff := cmp.Diff(want, b.store.State()); diff != "" {
		t.Errorf("state (-one sender +two):\n%s", diff)
	}
}

// Many senders of the same document, with Ingest among them, on the fake and on the real stores.
func TestManySendersOfOneDocumentAtOnce(t *testing.T) {
	genuine := azure(t)
	s := sentDocuments(t)["several rows"]
	end := func(w world, senders int) []string {
		t.Helper()
		b := newBench(t)
		g := &ingest.Ingester{Environment: w.environment, Inbox: w, Archive: w, Rows: w, Ledger: w, Now: b.clock, Log: b.log()}
		var all sync.WaitGroup
		for n := range senders {
			all.Go(func() {
				if n == 3 {
					if _, err := g.Drain(t.Context()); err != nil {
						t.Error(err)
					}
				}
				out, err := g.Foreign(t.Context(), s.body, s.p)
				if err != nil || out.Stored && out.Rows != 2 {
					t.Errorf("outcome %+v, error %v", out, err)
				}
			})
		}
		all.Wait()
		if report, err := g.Drain(t.Context()); err != nil || report.Left != 0 || report.Quarantined != 0 {
			t.Errorf("report %+v, error %v", report, err)
		}
		if waiting := list(t, w); len(waiting) != 0 {
			t.Errorf("in the inbox are %+v", waiting)
		}
		lines := w.look()
		slices.Sort(lines)
		return lines
	}
	want := end(memory(genuine.environment), 1)
	if len(want) != 3 {
		t.Fatalf("the state of one sender is %q: want a document and two rows", want)
	}
	for name, w := range map[string]world{"fake": memory(genuine.environment), "real": genuine} {
		if diff := cmp.Diff(want, end(w, 12)); diff != "" {
			t.Errorf("%s: state (-one sender +many):\n%s", name, diff)
		}
	}
}
