package functionshost

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheHandlerGetsTheSettingsAndTheHostsVariablesAndNothingElse(t *testing.T) {
	t.Setenv("TEST_OF_THE_HOST", "its own")
	var o Options
	h := run(t, timers("Least"), func(opts *Options) {
		opts.Settings["SWEEP_SCHEDULE"] = "0 * * * * *"
		opts.Environ = []string{"HOME=/nowhere"}
		o = *opts
	})
	var env []string
	h.ask("/-/env", &env)
	var workerID string
	env = slices.DeleteFunc(env, func(kv string) bool {
		id, found := strings.CutPrefix(kv, "FUNCTIONS_CUSTOMHANDLER_WORKER_ID=")
		if found {
			workerID += id
		}
		return found
	})
	slices.Sort(env)
	want := []string{
		"FUNCTIONS_APP_ROOT_PATH=" + o.AppDir, fmt.Sprintf("FUNCTIONS_CUSTOMHANDLER_PORT=%d", h.handler.port),
		"HOME=/nowhere", "SWEEP_SCHEDULE=0 * * * * *", "TEST_ROLE=handler",
	}
	if !slices.Equal(env, want) {
		t.Errorf("the environment is %q, want %q", env, want)
	}
	if len(workerID) != 36 {
		t.Errorf("the worker's id is %q", workerID)
	}
}

func TestTheHostWaitsUntilTheHandlerListens(t *testing.T) {
	start := time.Now()
	h := run(t, timers("Least"), func(o *Options) { o.Settings["TEST_LISTEN_AFTER"] = "400ms" })
	if took := time.Since(start); took < 400*time.Millisecond {
		t.Errorf("started after %s, before the handler listened", took)
	}
	if rec := h.fire("Least"); rec.level != slog.LevelInfo {
		t.Errorf("%v", rec)
	}
}

func TestAHandlerThatAcceptsAndStaysSilentStallsTheStart(t *testing.T) {
	o, _ := options(t, timers("Least"))
	o.Settings["TEST_STALL"] = "1"
	o.StartTimeout = 500 * time.Millisecond
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "exceeded http worker restart retry count (3 errors)") ||
		!strings.Contains(err.Error(), "initializing HttpWorker timed out") {
		t.Errorf("got %v", err)
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	o, _ := options(t, timers("Least"))
	o.Settings["TEST_STALL"] = "1"
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Start(ctx, o); err == nil || !strings.Contains(err.Error(), "waiting for the handler: context deadline exceeded") {
		t.Errorf("got %v", err)
	}
}

func TestThreeErrorsOfTheHandlerStopTheHost(t *testing.T) {
	o, log := options(t, timers("Least"))
	o.Settings["TEST_EXIT_AT_START"] = "3"
	_, err := Start(t.Context(), o)
	if want := "starting the functions host: the host is stopping: exceeded http worker restart retry count (3 errors), shutting down the host: handler exited with code 3 (0x3): dying of 3"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	n := 0
	log.has(func(r record) bool {
		if r.text == "dying of 3" {
			n++
		}
		return false
	})
	if n != 3 {
		t.Errorf("the handler was started %d times, want 3", n)
	}
}

func TestAHandlerThatCannotBeStartedIsAnError(t *testing.T) {
	o, _ := options(t, files{"host.json": strings.Replace(plainHost, `"handler"`, `"absent"`, 1), "Least/function.json": timerJSON(never)})
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), `starting "absent": `) {
		t.Errorf("got %v", err)
	}
}

// A handler that dies is started again on the same port; the third non-zero exit (or kill) within
// half an hour ends the host. Exits with 0 and 200 do not count.
func TestExitCodesCountAsTheHostCountsThem(t *testing.T) {
	h := run(t, timers("Exit-0", "Exit-200", "Exit-7", "Least"), nil)
	port := h.handler.port
	for _, function := range []string{"Exit-0", "Exit-200", "Exit-7", "Exit-0", "Exit-200", "Exit-7", "Exit-0"} {
		pid := h.HandlerPID()
		if rec := h.fire(function); rec.level != slog.LevelError {
			t.Errorf("%s: a function whose handler died has succeeded", function)
		}
		h.restarted(pid)
	}
	if rec := h.fire("Least"); rec.level != slog.LevelInfo {
		t.Fatalf("after two errors: %v", rec)
	}
	if h.handler.port != port {
		t.Errorf("the port went from %d to %d", port, h.handler.port)
	}
	if h.Err() != nil {
		t.Errorf("the host has an error while it runs: %v", h.Err())
	}
	if err := h.Fire(t.Context(), "Exit-7"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("the third error did not stop the host")
	}
	if err := h.Err(); err == nil || !strings.Contains(err.Error(), "exited with code 7 (0x7): exiting on purpose") {
		t.Errorf("the host ended with %v", err)
	}
	if h.HandlerPID() != 0 {
		t.Errorf("a handler runs: %d", h.HandlerPID())
	}
	if err := h.Fire(t.Context(), "Least"); err == nil {
		t.Error("a host that has ended takes work")
	}
}

func TestAKilledHandlerIsStartedAgain(t *testing.T) {
	h := run(t, timers("Least"), nil)
	pid := h.HandlerPID()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	h.restarted(pid)
	rec := h.log.wait(0, "the failure", func(r record) bool { return r.text == "Language Worker Process failed." })
	if want := "handler exited with code 137 (0x89)"; rec.attr["error"] != want {
		t.Errorf("the failure is %q, want %q", rec.attr["error"], want)
	}
	// A function that is called while there is no handler waits for the next one.
	if rec := h.fire("Least"); rec.level != slog.LevelInfo {
		t.Errorf("%v", rec)
	}
}

func TestOutputIsLoggedByStreamAndLine(t *testing.T) {
	h := run(t, timers("Speak"), nil)
	h.fire("Speak")
	for _, c := range []struct {
		level slog.Level
		text  string
	}{
		{slog.LevelInfo, `{"msg":"to stdout"}`},
		{slog.LevelError, "a warning to stderr"},
		{slog.LevelInfo, strings.Repeat("x", maxLine)}, // a line without end comes in pieces
		{slog.LevelInfo, strings.Repeat("x", 10)},
	} {
		rec := h.log.wait(0, c.text[:min(20, len(c.text))], func(r record) bool { return r.text == c.text })
		if rec.level != c.level || rec.attr["category"] != "Host.Function.Console" || rec.attr["handler_pid"] != fmt.Sprint(h.HandlerPID()) {
			t.Errorf("%.40s: %s %v", c.text, rec.level, rec.attr)
		}
	}
}

// child is the process that the handler has started.
func (r *running) child() (pid int) {
	r.t.Helper()
	r.log.wait(0, "the child", func(rec record) bool {
		_, err := fmt.Sscanf(rec.text, "child %d", &pid)
		return err == nil
	})
	return pid
}

func TestStopLeavesNoProcess(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"a handler that listens to SIGTERM":               {},
		"a handler that ignores SIGTERM":                  {"TEST_IGNORE_SIGTERM": "1"},
		"a handler whose child ignores SIGTERM":           {"TEST_START_CHILD": "1"},
		"a handler that, like its child, ignores SIGTERM": {"TEST_START_CHILD": "1", "TEST_IGNORE_SIGTERM": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := run(t, timers("Forever"), func(o *Options) {
				for k, v := range settings {
					o.Settings[k] = v
				}
			})
			pids := []int{h.HandlerPID()}
			if settings["TEST_START_CHILD"] != "" {
				pids = append(pids, h.child())
			}
			if err := h.Fire(t.Context(), "Forever"); err != nil { // what runs does not keep it
				t.Fatal(err)
			}
			if err := h.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			for i, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d of %d lives on", i+1, len(pids))
				}
			}
			if h.Err() != nil || h.HandlerPID() != 0 {
				t.Errorf("stopped, but Err is %v and the handler %d", h.Err(), h.HandlerPID())
			}
			select {
			case <-h.Exited():
			default:
				t.Error("Exited is open")
			}
			if err := h.Stop(t.Context()); err != nil {
				t.Errorf("a second Stop: %v", err)
			}
		})
	}
}

func TestARestartTakesWhatTheHandlerHasStartedAlong(t *testing.T) {
	h := run(t, timers("Exit-200"), func(o *Options) { o.Settings["TEST_START_CHILD"] = "1" })
	pid, child := h.HandlerPID(), h.child()
	h.fire("Exit-200")
	h.restarted(pid)
	if alive(child) {
		t.Errorf("the first handler's child %d lives on", child)
	}
}

func TestStopLetsWhatRunsFinish(t *testing.T) {
	h := run(t, timers("Slow"), func(o *Options) { o.DrainTimeout = 15 * time.Second })
	if err := h.Fire(t.Context(), "Slow"); err != nil {
		t.Fatal(err)
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !h.log.has(func(r record) bool { return r.text == "Executed 'Functions.Slow' (Succeeded)" }) {
		t.Error("the function was cut short")
	}
}

// The host itself is killed, and can clean nothing up: the kernel ends the handler.
func TestAKilledHostTakesItsHandlerAlong(t *testing.T) {
	o, _ := options(t, timers("Least"))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(exe)
	host.Env = []string{"TEST_ROLE=host", "TEST_APP=" + o.AppDir, "TEST_ACCOUNT=" + o.Account.ConnectionString, "PATH=" + filepath.Dir(exe)}
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Wait() }()
	defer func() { _ = host.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	var pid int
	if _, scan := fmt.Sscanf(line, "handler %d", &pid); err != nil || scan != nil {
		t.Fatalf("the host said %q: %v", line, err)
	}
	if !alive(pid) {
		t.Fatal("there is no handler")
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the handler's end", func() bool { return !alive(pid) })
}
