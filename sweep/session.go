package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// session is one invocation: what it was given and where it writes.
type session struct {
	env            environ
	stdout, stderr io.Writer

	environment string        // --environment
	timeout     time.Duration // --timeout

	account string // the storage account as messages name it; empty before it is opened
	slow    error  // why the first knock at the storage had no answer; nil when it had
}

// warn writes one message for people to standard error.
func (s *session) warn(format string, args ...any) {
	// Nothing is left to tell anyone when standard error cannot be written.
	_, _ = fmt.Fprintf(s.stderr, "sweep: "+format+"\n", args...)
}

// deadline bounds everything that a command asks of the storage.
func (s *session) deadline(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return context.WithTimeout(cmd.Context(), s.timeout)
}

// environmentName is the environment to talk about: the flag, or else the setting.
func (s *session) environmentName() (string, error) {
	name := s.environment
	if name == "" {
		name = s.env.get(account.EnvEnvironment)
	}
	if name == "" {
		return "", usage("set "+account.EnvEnvironment+" or give --environment", "no environment")
	}
	if err := wire.ValidateEnvironment(name); err != nil {
		return "", usage("see "+account.EnvEnvironment+" and --environment", "%w", err)
	}
	return name, nil
}

// stores are the environment's stores. Opening them does no input or output.
type stores struct {
	environment string
	archive     *archive.Store
	tables      *tables.Store
	endpoints   endpoints
}

func (s *session) open() (*stores, error) {
	environment, err := s.environmentName()
	if err != nil {
		return nil, err
	}
	acc, err := account.FromEnv(s.env.get)
	if err != nil {
		return nil, usage("the settings are the Functions app's, see: sweep --help", "%w", err)
	}
	out := &stores{environment: environment, endpoints: endpointsOf(acc)}
	s.account = out.endpoints.describe()
	if out.archive, err = archive.Open(acc, environment); err != nil {
		return nil, usage("see "+account.EnvConnectionString+" and "+account.EnvAccountName, "%w", err)
	}
	if out.tables, err = tables.Open(acc, environment); err != nil {
		return nil, usage("see "+account.EnvConnectionString+" and "+account.EnvAccountName, "%w", err)
	}
	return out, nil
}

// defaultFile is the configuration that commands read when none is named.
const defaultFile = "sweep.yaml"

// readFile reads a file that the operator named, or standard input for "-", up to limit bytes.
func (s *session) readFile(name string, limit int64) ([]byte, error) {
	in := s.env.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage("", "%w", err)
		}
		defer f.Close() // it is only read from
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, usage("", "reading %q: %w", titled(name), err)
	}
	if int64(len(body)) > limit {
		return nil, bad("", "%q is larger than %d MiB", titled(name), limit>>20)
	}
	return body, nil
}

// titled is how a file is called in messages.
func titled(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// readConfig reads and checks a configuration file. Its faults go to standard error, a line
// each, as an editor can jump to.
func (s *session) readConfig(args []string) (name string, body []byte, c *config.Config, err error) {
	name = defaultFile
	if len(args) > 0 {
		name = args[0]
	}
	if body, err = s.readFile(name, config.MaxBytes); err != nil {
		return "", nil, nil, err
	}
	name = titled(name)
	c, err = config.Parse(body)
	if err != nil {
		return "", nil, nil, s.faults(name, err)
	}
	return name, body, c, nil
}

// checkEnvironment compares a configuration's environment with what the command line and the
// setting say. The flag is a question about that environment, and another one's file no answer;
// the setting may be there for other commands.
func (s *session) checkEnvironment(name string, c *config.Config) error {
	if s.environment != "" {
		if _, err := s.environmentName(); err != nil {
			return err
		}
		if c.Environment != s.environment {
			return bad("give the file of that environment, or leave --environment out",
				"%q is for environment %q, and --environment says %q", name, c.Environment, s.environment)
		}
		return nil
	}
	if set := s.env.get(account.EnvEnvironment); set != "" && set != c.Environment {
		s.warn("%q is for environment %q, and %s says %q", name, c.Environment, account.EnvEnvironment, set)
	}
	return nil
}

// terminal says whether standard output is a terminal, and how wide it is: 0 when nobody knows.
func (s *session) terminal() (columns int, ok bool) {
	f, isFile := s.stdout.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
		return columns, true
	}
	return 0, true
}

// style is how the session's tables look.
func (s *session) style() style {
	columns, ok := s.terminal()
	return style{
		columns: columns,
		colour:  ok && s.env.get("NO_COLOR") == "" && s.env.get("TERM") != "dumb",
	}
}

// canAsk says whether somebody sits at standard input.
func (s *session) canAsk() bool {
	f, ok := s.env.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
