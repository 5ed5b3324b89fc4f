package functionshost

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"isochrone/functions/ncrontab"
)

// function is one function of the app. Exactly one of timer and http is set.
type function struct {
	name     string
	disabled bool
	timer    *timerTrigger
	http     *httpTrigger
}

type timerTrigger struct {
	binding      string
	schedule     ncrontab.Schedule
	useMonitor   bool
	runOnStartup bool
}

type httpTrigger struct {
	binding string
	level   authLevel
	methods []string // upper case; nil is every method
	route   route
	output  string // the http output's binding, "" if there is none
}

// proxyable says whether the request may be handed through: one trigger, one output, both HTTP.
func (h *httpTrigger) proxyable() bool { return h.output != "" }

func (h *httpTrigger) accepts(method string) bool {
	return h.methods == nil || slices.Contains(h.methods, method)
}

func (h *httpTrigger) sharesMethod(other *httpTrigger) bool {
	if h.methods == nil || other.methods == nil {
		return true
	}
	return slices.ContainsFunc(h.methods, other.accepts)
}

// authLevel is what a caller must show.
type authLevel int

const (
	levelAnonymous authLevel = iota
	levelFunction            // the function's key, or the master key
	levelAdmin               // the master key
)

type functionJSON struct {
	Bindings []bindingJSON   `json:"bindings"`
	Disabled json.RawMessage `json:"disabled"`
}

type bindingJSON struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Direction string `json:"direction"`

	Schedule     string `json:"schedule"`
	UseMonitor   *bool  `json:"useMonitor"`
	RunOnStartup bool   `json:"runOnStartup"`

	AuthLevel string    `json:"authLevel"`
	Methods   *[]string `json:"methods"`
	Route     *string   `json:"route"`
}

func (b *bindingJSON) isTrigger() bool { return strings.HasSuffix(strings.ToLower(b.Type), "trigger") }

var bindingName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]{0,127}|\$return)$`)

// loadFunction reads one function.json.
func loadFunction(name, path string, s settings) (*function, error) {
	if !functionName.MatchString(name) || strings.EqualFold(name, "host") {
		return nil, fmt.Errorf("'%s' is not a valid function name", name)
	}
	var file functionJSON
	if err := readJSON(path, &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", functionFile, err)
	}
	trigger, outputs, err := sortBindings(file.Bindings)
	if err != nil {
		return nil, err
	}
	f := &function{name: name}
	if f.disabled, err = disabled(name, file.Disabled, s); err != nil {
		return nil, err
	}
	switch strings.ToLower(trigger.Type) {
	case "timertrigger":
		if len(outputs) > 0 {
			return nil, errors.New("an http output needs an httpTrigger")
		}
		f.timer, err = newTimerTrigger(trigger, s)
	default:
		f.http, err = newHTTPTrigger(name, trigger, outputs, s)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// sortBindings finds the trigger and the http outputs, and refuses everything else.
func sortBindings(bindings []bindingJSON) (trigger *bindingJSON, outputs []string, err error) {
	if len(bindings) == 0 {
		return nil, nil, errors.New("at least one binding must be declared")
	}
	seen := map[string]bool{}
	for i := range bindings {
		b := &bindings[i]
		kind := strings.ToLower(b.Type)
		switch {
		case !bindingName.MatchString(b.Name):
			return nil, nil, fmt.Errorf("the binding name %s is invalid: please assign a valid name to the binding", b.Name)
		case seen[strings.ToLower(b.Name)]:
			return nil, nil, fmt.Errorf("multiple bindings with name '%s' discovered: binding names must be unique", b.Name)
		case kind != "timertrigger" && kind != "httptrigger" && kind != "http":
			return nil, nil, fmt.Errorf("the binding type(s) '%s' are not registered (this host knows timerTrigger, httpTrigger and http)", b.Type)
		case b.isTrigger() && trigger != nil:
			return nil, nil, errors.New("multiple trigger bindings defined: a function can only have a single trigger binding")
		case b.isTrigger() && b.Direction != "" && !strings.EqualFold(b.Direction, "in"):
			return nil, nil, fmt.Errorf("binding '%s': the direction of a trigger is in, not '%s'", b.Name, b.Direction)
		case kind == "http" && !strings.EqualFold(b.Direction, "out"):
			return nil, nil, fmt.Errorf("binding '%s': the direction of an http binding is out, not '%s'", b.Name, b.Direction)
		}
		seen[strings.ToLower(b.Name)] = true
		if b.isTrigger() {
			trigger = b
		} else {
			outputs = append(outputs, b.Name)
		}
	}
	if trigger == nil {
		return nil, nil, errors.New("no trigger binding specified: a function must have a trigger input binding")
	}
	return trigger, outputs, nil
}

func newTimerTrigger(b *bindingJSON, s settings) (*timerTrigger, error) {
	spec, err := s.expand(b.Schedule)
	if err != nil {
		return nil, fmt.Errorf("binding '%s', schedule: %w", b.Name, err)
	}
	schedule, err := ncrontab.Parse(spec)
	if err != nil {
		return nil, fmt.Errorf("binding '%s': the schedule expression was not recognized: %w", b.Name, err)
	}
	return &timerTrigger{
		binding: b.Name, schedule: schedule, runOnStartup: b.RunOnStartup,
		useMonitor: b.UseMonitor == nil || *b.UseMonitor,
	}, nil
}

func newHTTPTrigger(function string, b *bindingJSON, outputs []string, s settings) (*httpTrigger, error) {
	h := &httpTrigger{binding: b.Name}
	switch strings.ToLower(b.AuthLevel) {
	case "anonymous":
		h.level = levelAnonymous
	case "function", "":
		h.level = levelFunction
	case "admin":
		h.level = levelAdmin
	default:
		return nil, fmt.Errorf("binding '%s': authLevel '%s': want anonymous, function or admin", b.Name, b.AuthLevel)
	}
	if b.Methods != nil {
		h.methods = make([]string, 0, len(*b.Methods))
		for _, m := range *b.Methods {
			h.methods = append(h.methods, strings.ToUpper(m))
		}
	}
	if len(outputs) > 1 {
		return nil, errors.New("more than one http output")
	}
	if len(outputs) == 1 {
		h.output = outputs[0]
	}
	text := function
	if b.Route != nil && *b.Route != "" {
		expanded, err := s.expand(*b.Route)
		if err != nil {
			return nil, fmt.Errorf("binding '%s', route: %w", b.Name, err)
		}
		text = expanded
	}
	var err error
	if h.route, err = parseRoute(text); err != nil {
		return nil, fmt.Errorf("binding '%s', route '%s': %w", b.Name, text, err)
	}
	return h, nil
}

// disabled reads the three places that can disable a function.
func disabled(name string, raw json.RawMessage, s settings) (bool, error) {
	for _, key := range []string{"AzureWebJobs." + name + ".Disabled", "AzureWebJobs_" + name + "_Disabled"} {
		if v, ok := s.lookup(key); ok {
			return truth(v), nil
		}
	}
	switch text := string(raw); {
	case text == "" || text == "null" || text == "false":
		return false, nil
	case text == "true":
		return true, nil
	}
	var setting string
	if err := json.Unmarshal(raw, &setting); err != nil {
		return false, errors.New("disabled: want true, false or the name of a setting")
	}
	value, _ := s.lookup(strings.Trim(setting, "%"))
	return truth(value), nil
}
