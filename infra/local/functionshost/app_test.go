package functionshost

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHostJSON(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{"", "reading host.json: there is none"},
		{"{", "reading host.json: unable to parse the file: unexpected end of JSON input"},
		{"{}", `reading host.json: the required 'version' property is missing (want "2.0")`},
		{`{"version":"4.0"}`, `reading host.json: '4.0' is an invalid value for the 'version' property (want "2.0", which is not the runtime's version)`},
		{`{"version":"2.0"}`, "reading host.json: there is no customHandler section, and this host runs nothing else"},
		{`{"version":"2.0","customHandler":{}}`, "reading host.json: missing worker description: customHandler.description"},
		{`{"version":"2.0","customHandler":{"description":{}}}`, "reading host.json: customHandler.description.defaultExecutablePath cannot be empty"},
		{`{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"x","workingDirectory":"y"}}}`,
			"reading host.json: customHandler has defaultWorkerPath, workingDirectory, port or http, which this host does not imitate"},
		{strings.Replace(plainHost, `"version"`, `"functionTimeout":"5m","version"`, 1), `reading host.json: functionTimeout: "5m" is not a time span: want [d.]hh:mm:ss`},
		{strings.Replace(plainHost, `"version"`, `"functionTimeout":"00:00:00.5","version"`, 1), `reading host.json: functionTimeout "00:00:00.5": want at least 00:00:01`},
		{plainHost, "no job functions found: each function.json must lie one folder below host.json"},
	} {
		f := files{"deeper/Down/function.json": timerJSON(never)} // too deep to be found
		if c.json != "" {
			f["host.json"] = c.json
		}
		if _, err := loadApp(f.write(t), nil); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.json, err, c.want)
		}
	}
}

func TestHostJSONSettings(t *testing.T) {
	f := timers("Least")
	f["host.json"] = "\ufeff" + `{"version":"2.0","functionTimeout":"1.02:03:04","logging":{"x":1},"unknown":[],"extensions":{"http":{"routePrefix":"/v1/"},"queues":{}},
		"customHandler":{"description":{"defaultExecutablePath":"handler","arguments":["--a b","\"c d\"","e"]},"enableForwardingHttpRequest":true,"enableProxyingHttpRequest":true}}`
	a, err := loadApp(f.write(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.timeout != 26*time.Hour+3*time.Minute+4*time.Second || a.prefix != "v1" || !a.forwarding || !a.proxying || a.executable != "handler" {
		t.Errorf("read %+v", a)
	}
	if diff := cmp.Diff([]string{"--a", "b", "c d", "e"}, a.arguments); diff != "" { // joined by spaces, without quoting
		t.Error(diff)
	}
	for json, want := range map[string]time.Duration{`"-1"`: 0, `-1`: 0, `null`: 30 * time.Minute, `"00:10:00"`: 10 * time.Minute} {
		f["host.json"] = strings.Replace(plainHost, `"version"`, `"functionTimeout":`+json+`,"version"`, 1)
		if a, err := loadApp(f.write(t), nil); err != nil || a.timeout != want {
			t.Errorf("functionTimeout %s: %v, %v; want %s", json, a.timeout, err, want)
		}
	}
	f["host.json"] = plainHost
	if a, err := loadApp(f.write(t), nil); err != nil || a.prefix != "api" || a.timeout != 30*time.Minute || a.forwarding || a.proxying || a.arguments != nil {
		t.Errorf("the defaults are %+v, %v", a, err)
	}
}

func TestArgumentsAreTakenApart(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, "  a  b\tc ": {"a", "b", "c"}, `"a b"c d`: {"a bc", "d"}, `"" x`: {"", "x"}, `\"a b\"`: {`"a`, `b"`}, `a\b`: {`a\b`},
	} {
		if diff := cmp.Diff(want, splitArguments(line)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestAFunctionInErrorIsNamedWithItsReason(t *testing.T) {
	const name = "Sweep"
	for _, c := range []struct{ what, folder, json, want string }{
		{"name", "1st", timerJSON(never), "'1st' is not a valid function name"},
		{"name", "host", timerJSON(never), "'host' is not a valid function name"},
		{"name", "A" + strings.Repeat("b", 128), timerJSON(never), "is not a valid function name"},
		{"parse", name, `{`, "reading function.json: unable to parse the file: unexpected end of JSON input"},
		{"empty", name, `{}`, "at least one binding must be declared"},
		{"no trigger", name, `{"bindings":[{"name":"res","type":"http","direction":"out"}]}`, "no trigger binding specified: a function must have a trigger input binding"},
		{"two triggers", name, `{"bindings":[{"name":"a","type":"timerTrigger"},{"name":"b","type":"httpTrigger"}]}`, "multiple trigger bindings defined"},
		{"unknown", name, `{"bindings":[{"name":"a","type":"blobTrigger"}]}`, "the binding type(s) 'blobTrigger' are not registered"},
		{"binding's name", name, `{"bindings":[{"name":"a-b","type":"timerTrigger"}]}`, "the binding name a-b is invalid: please assign a valid name to the binding"},
		{"same name", name, `{"bindings":[{"name":"a","type":"httpTrigger"},{"name":"A","type":"http","direction":"out"}]}`, "multiple bindings with name 'A' discovered: binding names must be unique"},
		{"direction", name, `{"bindings":[{"name":"a","type":"httpTrigger"},{"name":"b","type":"http"}]}`, "binding 'b': the direction of an http binding is out, not ''"},
		{"direction", name, `{"bindings":[{"name":"a","type":"httpTrigger","direction":"out"}]}`, "binding 'a': the direction of a trigger is in, not 'out'"},
		{"schedule", name, timerJSON("*/5 * * * *"), `binding 'timer': the schedule expression was not recognized: parsing schedule "*/5 * * * *": want 6 fields`},
		{"setting", name, timerJSON("%SWEEP_SCHEDULE%"), `binding 'timer', schedule: "%SWEEP_SCHEDULE%" does not resolve to a value: set SWEEP_SCHEDULE`},
		{"percent", name, timerJSON("0 %X"), `binding 'timer', schedule: the % at position 2 of "0 %X" has no closing %`},
		{"level", name, httpJSON(`,"authLevel":"user"`), "binding 'req': authLevel 'user': want anonymous, function or admin"},
		{"route", name, httpJSON(`,"route":"administration"`), "binding 'req', route 'administration': the specified route conflicts with one or more built in routes"},
		{"route", name, httpJSON(`,"route":"a/{b:int}"`), "binding 'req', route 'a/{b:int}': '{b:int}': this host knows {name}, {name?} and {*name} only"},
		{"route", name, httpJSON(`,"route":"{*all}/x"`), "'{*all}' must be the last segment"},
		{"route", name, httpJSON(`,"route":"{a}/{A}"`), "the parameter 'A' appears twice"},
		{"route", name, httpJSON(`,"route":"a//b"`), "two slashes in a row"},
		{"route", name, httpJSON(`,"route":"{}"`), "'{}': the parameter has no proper name"},
		{"taken route", name, httpJSON(`,"route":"TAKEN","methods":["get","post"]`), "the route specified conflicts with the route defined by function 'Other'"},
		{"disabled", name, strings.Replace(timerJSON(never), `{"b`, `{"disabled":1,"b`, 1), "disabled: want true, false or the name of a setting"},
		{"timer with output", name, strings.Replace(httpJSON(``), "httpTrigger", "timerTrigger", 1), "an http output needs an httpTrigger"},
	} {
		f := files{"host.json": plainHost, c.folder + "/function.json": c.json, "Other/function.json": httpJSON(`,"route":"taken","methods":["post"]`)}
		_, err := loadApp(f.write(t), nil)
		if want := "the '" + c.folder + "' function is in error: "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s%s", c.what, err, want, c.want)
		}
	}
	// All faults are reported at once.
	_, err := loadApp(files{"host.json": plainHost, "A/function.json": `{}`, "B/function.json": `{}`}.write(t), nil)
	if err == nil || strings.Count(err.Error(), "is in error") != 2 {
		t.Errorf("two faults: %v", err)
	}
}

func TestSettingsAreExpandedOnce(t *testing.T) {
	s := settings{"SWEEP_SCHEDULE": "0 */10 * * * *", "A__B": "x", "Nested": "%A__B%"}
	for text, want := range map[string]string{
		"%SWEEP_SCHEDULE%": "0 */10 * * * *", "%sweep_schedule%": "0 */10 * * * *", "%A:B%/%A__B%": "x/x", "%Nested%": "%A__B%", "plain": "plain",
	} {
		if got, err := s.expand(text); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	a, err := loadApp(files{"host.json": plainHost, "Sweep/function.json": timerJSON("%SWEEP_SCHEDULE%")}.write(t), s)
	if err != nil || a.functions[0].timer.schedule.String() != "0 */10 * * * *" || !a.functions[0].timer.useMonitor {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestFunctionsAreDisabledInThreePlaces(t *testing.T) {
	for _, c := range []struct {
		json string
		s    settings
		want bool
	}{
		{``, nil, false},
		{`"disabled":true,`, nil, true},
		{`"disabled":false,`, nil, false},
		{`"disabled":"SWITCH",`, settings{"SWITCH": "True"}, true},
		{`"disabled":"%SWITCH%",`, settings{"SWITCH": "1"}, true},
		{`"disabled":"SWITCH",`, settings{"SWITCH": "no"}, false},
		{`"disabled":"SWITCH",`, nil, false},
		{``, settings{"AzureWebJobs.Sweep.Disabled": "true"}, true},
		{``, settings{"AzureWebJobs_Sweep_Disabled": "1"}, true},
		{`"disabled":true,`, settings{"AzureWebJobs.Sweep.Disabled": "false"}, false}, // the setting wins
	} {
		f := files{"host.json": plainHost, "Sweep/function.json": strings.Replace(timerJSON(never), `{"b`, `{`+c.json+`"b`, 1)}
		a, err := loadApp(f.write(t), c.s)
		if err != nil || a.functions[0].disabled != c.want {
			t.Errorf("%s %v: %v, want %v", c.json, c.s, err, c.want)
		}
	}
}

func TestTimeSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:05:00": 5 * time.Minute, "23:59:59.25": 24*time.Hour - 750*time.Millisecond, "7.00:00:00": 7 * 24 * time.Hour,
	} {
		if got, err := timeSpan(text); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "24:00:00", "00:60:00", "00:00:60", "-00:01:00", "00:00:NaN", "1:2", "1:2:3:4", ".1:00:00"} {
		if got, err := timeSpan(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

func TestMoreLiteralRoutesComeFirst(t *testing.T) {
	order := []string{"a/b/c", "a/b/{c}", "a/b", "a/{b}", "{a}/b", "{a?}", "{*a}"}
	for i := range order {
		for j := range order {
			x, err := parseRoute(order[i])
			if err != nil {
				t.Fatal(err)
			}
			y, err := parseRoute(order[j])
			if err != nil {
				t.Fatal(err)
			}
			if got := x.before(y); got != (i < j) {
				t.Errorf("%s before %s: %v", order[i], order[j], got)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good, _ := options(t, timers("Least"))
	for want, change := range map[string]func(*Options){
		"no log":                func(o *Options) { o.Log = nil },
		`host id "Isochrone"`:   func(o *Options) { o.HostID = "Isochrone" },
		`host id "a--b"`:        func(o *Options) { o.HostID = "a--b" },
		`host id "-a"`:          func(o *Options) { o.HostID = "-a" },
		"lock period 1s":        func(o *Options) { o.LockPeriod = time.Second },
		"opening the host's st": func(o *Options) { o.Account.ConnectionString = "nonsense" },
		"listen tcp":            func(o *Options) { o.Addr = "192.0.2.1:1" },
	} {
		o := good
		change(&o)
		if _, err := Start(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "starting the functions host: "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzRoutesAndPathsAreTotal(f *testing.F) {
	for _, seed := range [][2]string{{"results", "results"}, {"a/{b}/{c?}", "a/b"}, {"{*all}", "a/b%2Fc"}, {"x/{y}", "x/%zz"}, {"", ""}, {"{a?}", "//"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, template, path string) {
		r, err := parseRoute(template)
		if err != nil {
			return
		}
		params, ok := r.match(path)
		if !ok {
			return
		}
		for _, s := range r.segments {
			if _, there := params[s.text]; s.kind != literal && !there {
				t.Errorf("%q matches %q without a value for %s", template, path, s.text)
			}
		}
	})
}
