package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"isochrone/infra/local/azurite/azuritetest"
)

var update = flag.Bool("update", false, "write what the scripts print into their golden files")

func TestMain(m *testing.M) { testscript.Main(withAzurite{m}, map[string]func(){"prober": main}) }

// withAzurite stops Azurite after the tests, and lets testscript clean up after that.
type withAzurite struct{ *testing.M }

func (w withAzurite) Run() int { return azuritetest.Run(w.M) }

// TestScripts runs testdata/*.txt: the commands as a person types them, with real sockets.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command would wait a second before it ends
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "reflector": cmdReflector, "web": cmdWeb, "closed": cmdClosed, "masked": cmdMasked,
		},
	})
}

// cmdExits is "exits CODE COMMAND ARGS…": the command ends with that exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// cmdReflector is "reflector NAME ARGS…": a prober reflect of this process, whose address is in $NAME until
// "reflector stop FILE" ends it and writes what it said into the file.
func cmdReflector(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "stop" {
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(scripted(ts).end(ts)), 0o600))
		return
	}
	for i, a := range args {
		if i > 0 && args[i-1] == "--key-file" { // the reflector is in this process, whose folder is another
			args[i] = ts.MkAbs(a)
		}
	}
	r := startReflector(args[1:])
	ts.Defer(func() { r.end(ts) })
	address := r.address()
	if address == "" {
		ts.Fatalf("the reflector did not say where it listens:\n%s", r.out)
	}
	ts.Setenv(args[0], address)
	reflectors.Store(ts.Getenv("WORK"), r)
}

// reflectors are the newest of each script, by its folder: scripts run at the same time.
var reflectors sync.Map

func scripted(ts *testscript.TestScript) *reflector {
	r, ok := reflectors.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no reflector was started")
	}
	return r.(*reflector)
}

// cmdWeb is "web NAME": a web server whose URL is in $NAME. /gone is not found.
func cmdWeb(ts *testscript.TestScript, neg bool, args []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Server-Timing", "total;dur=0.001")
		_, _ = w.Write([]byte("hello"))
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// cmdClosed is "closed NAME": an address at which nothing listens is in $NAME.
func cmdClosed(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	ts.Check(l.Close())
}

// masks replace what differs from run to run.
var masks = []struct{ from, to string }{
	{`(?m)^(noise \(ms\)|DEGRADED| {10}\w|the hypervisor|the target's clock|\d+ samples were clocked).*\n`, ""},
	{`(127\.0\.0\.1|localhost):\d+`, "$1:PORT"},
	{`\d{4}-\d\d-\d\dT[\d:.]+Z`, "TIME"},
	{`("(?:\w+_us|\w*ratio|\w+_bps|\w+_segments|retransmits|pacing_violations|clock_\w+|unstamped_count|mss_bytes)": )(-?[\d.]+(e[-+]\d+)?|null)`, "${1}N"},
	{`("congestion_control": )"\w*"`, `${1}"NAME"`},
	{`(?s)("degraded": )\[.*?\]`, "${1}[]"},
	{`("(?:due|sent|rtt|server|client|forward|reverse)_ns":)\[[^\]]*\]`, "${1}[N]"},
	{`("(?:connect|first_byte)_ns":)\[[^\]]*\]`, "${1}[N]"},
	{`("(?:requests_per_s|moved_bytes)": )[\d.]+`, "${1}N"},
	{`[\d.]+( answered a second)`, "N$1"},
	{`(moved )[\d.]+ (?:bytes|kB|MB)`, "${1}N"},
	{`(?m)^ *<(\w+_us|\w*ratio|pacing_violations|clock_\w+|unstamped_count)>.*\n`, ""},
	{`(?m)^(kernel \(TCP_INFO\)).*`, "$1"},
	{`([ =])-?\d+\.\d{3}\b`, "${1}N"},
	{`(\S) +`, "$1 "},
}

// cmdMasked is "masked FILE": the file, stdout or stderr is written into FILE.masked without what differs from
// run to run.
func cmdMasked(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	for _, m := range masks {
		text = regexp.MustCompile(m.from).ReplaceAllString(text, m.to)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".masked"), []byte(text), 0o600))
}

// reflector is a prober reflect that runs in this process.
type reflector struct {
	out  *output
	stop context.CancelFunc
	code chan int
}

type fatal interface{ Fatalf(string, ...any) }

func startReflector(args []string) *reflector {
	ctx, stop := context.WithCancel(context.Background())
	r := &reflector{out: &output{}, stop: stop, code: make(chan int, 1)}
	go func() {
		r.code <- run(ctx, append([]string{"reflect", "--listen", "127.0.0.1:0"}, args...), func(string) string { return "" }, r.out, r.out)
		close(r.code)
	}()
	return r
}

var listening = regexp.MustCompile(`listening for (?:tcp|udp) at (\S+)\n`)

// address is where it listens, empty if it does not say so within some seconds.
func (r *reflector) address() string {
	for range 1000 {
		if m := listening.FindStringSubmatch(r.out.String()); m != nil {
			return m[1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

// end ends it as Ctrl-C does, and returns what it said.
func (r *reflector) end(t fatal) string {
	r.stop()
	select {
	case code := <-r.code: // 0 also once the channel is closed
		if code != exitOK {
			t.Fatalf("the reflector ended with code %d:\n%s", code, r.out)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the reflector did not end within 20 s")
	}
	return r.out.String()
}
