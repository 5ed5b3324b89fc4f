package functionshost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	hostFile     = "host.json"
	functionFile = "function.json"

	defaultPrefix  = "api"
	defaultTimeout = 30 * time.Minute // the Flex Consumption plan's
)

// app is what the app's folder says.
type app struct {
	dir        string
	executable string // as host.json has it
	arguments  []string
	forwarding bool          // enableForwardingHttpRequest
	proxying   bool          // enableProxyingHttpRequest
	timeout    time.Duration // of a function; 0 is none
	prefix     string        // of HTTP routes, without slashes around it
	functions  []*function   // in the order of their names
}

// function finds a function by its name, in any case.
func (a *app) function(name string) *function {
	for _, f := range a.functions {
		if strings.EqualFold(f.name, name) {
			return f
		}
	}
	return nil
}

// hostJSON is the part of host.json that is read. The host ignores what it does not know.
type hostJSON struct {
	Version         *string         `json:"version"`
	FunctionTimeout json.RawMessage `json:"functionTimeout"`
	CustomHandler   *struct {
		Description *struct {
			DefaultExecutablePath string   `json:"defaultExecutablePath"`
			DefaultWorkerPath     string   `json:"defaultWorkerPath"`
			WorkingDirectory      string   `json:"workingDirectory"`
			Arguments             []string `json:"arguments"`
		} `json:"description"`
		EnableForwardingHTTPRequest bool `json:"enableForwardingHttpRequest"`
		EnableProxyingHTTPRequest   bool `json:"enableProxyingHttpRequest"`
		Port                        any  `json:"port"`
		HTTP                        any  `json:"http"`
	} `json:"customHandler"`
	Extensions struct {
		HTTP struct {
			RoutePrefix *string `json:"routePrefix"`
		} `json:"http"`
	} `json:"extensions"`
}

// loadApp reads a function app. Its error holds every fault that was found.
func loadApp(dir string, s settings) (*app, error) {
	var file hostJSON
	if err := readJSON(filepath.Join(dir, hostFile), &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", hostFile, err)
	}
	a := &app{dir: dir, timeout: defaultTimeout, prefix: defaultPrefix}
	if err := a.configure(&file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", hostFile, err)
	}
	if err := a.loadFunctions(s); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *app) configure(file *hostJSON) error {
	switch {
	case file.Version == nil:
		return errors.New("the required 'version' property is missing (want \"2.0\")")
	case *file.Version != "2.0":
		return fmt.Errorf("'%s' is an invalid value for the 'version' property (want \"2.0\", which is not the runtime's version)", *file.Version)
	case file.CustomHandler == nil:
		return errors.New("there is no customHandler section, and this host runs nothing else")
	case file.CustomHandler.Description == nil:
		return errors.New("missing worker description: customHandler.description")
	case file.CustomHandler.Description.DefaultExecutablePath == "":
		return errors.New("customHandler.description.defaultExecutablePath cannot be empty")
	case file.CustomHandler.Description.DefaultWorkerPath != "", file.CustomHandler.Description.WorkingDirectory != "",
		file.CustomHandler.Port != nil, file.CustomHandler.HTTP != nil:
		return errors.New("customHandler has defaultWorkerPath, workingDirectory, port or http, which this host does not imitate")
	}
	a.executable = file.CustomHandler.Description.DefaultExecutablePath
	a.arguments = splitArguments(strings.Join(file.CustomHandler.Description.Arguments, " "))
	a.forwarding = file.CustomHandler.EnableForwardingHTTPRequest
	a.proxying = file.CustomHandler.EnableProxyingHTTPRequest
	if p := file.Extensions.HTTP.RoutePrefix; p != nil {
		a.prefix = strings.Trim(*p, "/")
	}
	return a.configureTimeout(file.FunctionTimeout)
}

func (a *app) configureTimeout(raw json.RawMessage) error {
	text := strings.Trim(string(raw), `"`)
	switch text {
	case "", "null":
		return nil
	case "-1":
		a.timeout = 0
		return nil
	}
	d, err := timeSpan(text)
	if err != nil {
		return fmt.Errorf("functionTimeout: %w", err)
	}
	if d < time.Second {
		return fmt.Errorf("functionTimeout %q: want at least 00:00:01", text)
	}
	a.timeout = d
	return nil
}

// splitArguments takes a command line apart as .NET does: arguments that held spaces in host.json
// have lost their borders by then, unless they were quoted.
func splitArguments(line string) (args []string) {
	var current strings.Builder
	quoted, open := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '"':
			current.WriteByte('"')
			open = true
			i++
		case c == '"':
			quoted, open = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if open {
				args = append(args, current.String())
				current.Reset()
			}
			open = false
		default:
			current.WriteByte(c)
			open = true
		}
	}
	if open {
		args = append(args, current.String())
	}
	return args
}

var functionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`)

// loadFunctions reads the function.json of every folder directly below the app's.
func (a *app) loadFunctions(s settings) error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return fmt.Errorf("listing the functions: %w", err)
	}
	var faults []error
	for _, e := range entries {
		path := filepath.Join(a.dir, e.Name(), functionFile)
		if _, err := os.Stat(path); err != nil {
			continue // not a function's folder
		}
		f, err := loadFunction(e.Name(), path, s)
		if err == nil {
			err = a.conflict(f)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("the '%s' function is in error: %w", e.Name(), err))
			continue
		}
		a.functions = append(a.functions, f)
	}
	if len(faults) == 0 && len(a.functions) == 0 {
		return errors.New("no job functions found: each function.json must lie one folder below host.json")
	}
	return errors.Join(faults...)
}

// conflict refuses a function whose name or route another one has.
func (a *app) conflict(f *function) error {
	for _, other := range a.functions {
		if strings.EqualFold(other.name, f.name) {
			return fmt.Errorf("the function name conflicts with '%s': names differ by more than case", other.name)
		}
		if f.http != nil && other.http != nil && strings.EqualFold(f.http.route.text, other.http.route.text) && f.http.sharesMethod(other.http) {
			return fmt.Errorf("the route specified conflicts with the route defined by function '%s'", other.name)
		}
	}
	return nil
}

// readJSON reads a file of the app, as much of it as into has fields for.
func readJSON(path string, into any) error {
	body, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("there is none")
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), into); err != nil {
		return fmt.Errorf("unable to parse the file: %w", err)
	}
	return nil
}
