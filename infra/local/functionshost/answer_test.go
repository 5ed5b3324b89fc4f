package functionshost

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnInvocationIsWhatTheHostSends(t *testing.T) {
	h := run(t, timers("Least"), nil)
	if rec := h.fire("Least"); rec.level != slog.LevelInfo {
		t.Fatalf("the invocation failed: %v", rec)
	}
	got := h.last()
	if got.Method != http.MethodPost || got.Path != "/Least" || got.Query != "" {
		t.Errorf("asked %s %s?%s, want POST /Least", got.Method, got.Path, got.Query)
	}
	if !slices.Equal(got.TransferEncoding, []string{"chunked"}) || got.ContentLength != -1 {
		t.Errorf("transfer encoding %v, length %d: want chunked, without a length", got.TransferEncoding, got.ContentLength)
	}
	for name, form := range map[string]string{
		"Content-Type":                   `^application/json; charset=utf-8$`,
		"X-Azure-Functions-Invocationid": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"X-Azure-Functions-Hostversion":  `^4\.`,
		"Traceparent":                    `^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`,
		"User-Agent":                     `^Azure-Functions-Host/`,
	} {
		if v := got.Header.Get(name); !regexp.MustCompile(form).MatchString(v) {
			t.Errorf("%s is %q, want %s", name, v, form)
		}
	}
	var body struct {
		Data     map[string]map[string]json.RawMessage
		Metadata map[string]map[string]string
	}
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
		t.Fatalf("%s: %v", got.Body, err)
	}
	timer := body.Data["timer"]
	if len(body.Data) != 1 || len(timer) != 3 || string(timer["IsPastDue"]) != "false" || string(timer["Schedule"]) != `{"AdjustForDST":true}` {
		t.Errorf("Data is %s", got.Body)
	}
	year := time.Now().UTC().Year() + 1
	status := regexp.MustCompile(`^\{"Last":"0001-01-01T00:00:00","Next":"(\d{4})-01-01T00:00:00\+00:00","LastUpdated":"20[^"]+\+00:00"\}$`)
	if m := status.FindStringSubmatch(string(timer["ScheduleStatus"])); m == nil || m[1] != time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006") {
		t.Errorf("fired by hand: ScheduleStatus is %s, want the stored one with Next in the future", timer["ScheduleStatus"])
	}
	sys := body.Metadata["sys"]
	if len(body.Metadata) != 1 || sys["MethodName"] != "Least" || sys["RandGuid"] == "" {
		t.Errorf("Metadata is %v", body.Metadata)
	}
	if _, err := parseDotNetTime(sys["UtcNow"]); err != nil {
		t.Error(err)
	}
}

// The table of answers: what succeeds, and what fails with which words.
func TestAnswersCountAsTheFactsPageSays(t *testing.T) {
	cases := []struct{ function, want string }{ // "" is success
		{"Least", ""},
		{"Charset", ""},
		{"Trailing", ""},
		{"Status-201", ""},
		{"Status-307", ""}, // followed, by POST, to /Least
		{"Status-303", ""}, // followed, by GET
		{"Status-500", "response status code does not indicate success: 500 Internal Server Error"},
		{"Status-404", "response status code does not indicate success: 404 Not Found"},
		{"Sniffed", `invalid HttpResponseMessage: Content-Type "text/plain; charset=utf-8" is not JSON`},
		{"Xml", `invalid HttpResponseMessage: Content-Type "application/xml" is not JSON`},
		{"Problem", `invalid HttpResponseMessage: Content-Type "application/problem+json" is not JSON`},
		{"Malformed", "invalid HttpResponseMessage: unexpected EOF"},
		{"Array", "invalid HttpResponseMessage: json: cannot unmarshal array"},
		{"Broken", "reading the handler's answer: unexpected EOF"},
	}
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.function
	}
	h := run(t, timers(names...), nil)
	pid := h.HandlerPID()
	for _, c := range cases {
		rec := h.fire(c.function)
		if failed := rec.level == slog.LevelError; failed != (c.want != "") || !strings.HasPrefix(rec.attr["error"], c.want) {
			t.Errorf("%s: %s %q, error %q; want error %q", c.function, rec.level, rec.text, rec.attr["error"], c.want)
		}
	}
	if h.log.has(func(r record) bool { return r.text == "thrown away" }) {
		t.Error("the Logs of an answer that is no success were kept")
	}
	if h.HandlerPID() != pid {
		t.Error("a wrong answer ended the handler")
	}
}

func TestLogsOfAnAnswerAreTheFunctionsOwn(t *testing.T) {
	h := run(t, timers("Logs"), nil)
	rec := h.fire("Logs")
	for _, text := range []string{"one", "two"} {
		line := h.log.wait(0, text, func(r record) bool { return r.text == text })
		if line.level != slog.LevelInfo || line.attr["category"] != "Function.Logs.User" || line.attr["invocation_id"] != rec.attr["invocation_id"] {
			t.Errorf("%q: %s %v", text, line.level, line.attr)
		}
	}
}

// An answer that says nothing hangs the function until its time is over, and then the handler is
// killed and started again, on the same port, uncounted: it happens more often than three times.
func TestSilentAnswersHangUntilTheTimeoutKillsTheHandler(t *testing.T) {
	h := run(t, timers("Empty", "Null", "Status-204", "Forever", "Least"), func(o *Options) { o.FunctionTimeout = 700 * time.Millisecond })
	port := h.handler.port
	for _, function := range []string{"Empty", "Null", "Status-204", "Forever"} {
		pid := h.HandlerPID()
		start := time.Now()
		rec := h.fire(function)
		if took := time.Since(start); took < 700*time.Millisecond {
			t.Errorf("%s ended after %s, before its time was over", function, took)
		}
		if !strings.Contains(rec.attr["error"], "exceeded by function 'Functions."+function+"'") {
			t.Errorf("%s: error %q", function, rec.attr["error"])
		}
		h.restarted(pid)
		if alive(pid) {
			t.Errorf("%s: handler %d lives on", function, pid)
		}
		if rec := h.fire("Least"); rec.level != slog.LevelInfo {
			t.Errorf("after %s the next function failed: %v", function, rec)
		}
	}
	if h.handler.port != port {
		t.Errorf("the port went from %d to %d", port, h.handler.port)
	}
}

func TestATimeoutTakesDownEverythingTheHandlerWasDoing(t *testing.T) {
	h := run(t, timers("Forever", "Slow"), func(o *Options) { o.FunctionTimeout = 500 * time.Millisecond })
	n := h.log.count()
	if err := h.Fire(t.Context(), "Forever"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	rec := h.fire("Slow") // needs 700 ms, of which the other one leaves it 300
	if rec.level != slog.LevelError || strings.Contains(rec.attr["error"], "exceeded") {
		t.Errorf("Slow: %s %v; want it to fail with its handler, before its own time", rec.text, rec.attr)
	}
	h.log.wait(n, "Forever's end", func(r record) bool { return strings.HasPrefix(r.text, "Executed 'Functions.Forever' (Failed)") })
}
