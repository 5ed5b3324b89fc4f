package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"isochrone/functions/ncrontab"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// The settings' names in the handler's environment, beside those of package account.
const (
	envPort            = "FUNCTIONS_CUSTOMHANDLER_PORT" // set by the host
	envSweepSchedule   = "SWEEP_SCHEDULE"               // NCRONTAB; function.json refers to it too
	envIngestSchedule  = "INGEST_SCHEDULE"              // NCRONTAB; function.json refers to it too
	envRollupSchedule  = "ROLLUP_SCHEDULE"              // NCRONTAB; function.json refers to it too
	envCompactSchedule = "COMPACT_SCHEDULE"             // NCRONTAB; function.json refers to it too
	envTimeout         = "ISOCHRONE_FUNCTION_TIMEOUT"   // only where host.json's functionTimeout is overridden
)

const (
	// functionTimeout is host.json's; a test holds the two together. The host kills the process
	// when an invocation takes longer.
	functionTimeout = 5 * time.Minute
	// margin is how long before that an invocation ends by itself, so that what it was doing is
	// logged and no other invocation dies with it.
	margin = 30 * time.Second
	// httpTimeout bounds a proxied request: the load balancer in front of the host gives up
	// after 230 s, whatever functionTimeout says.
	httpTimeout = 200 * time.Second
)

// settings is everything that the program takes from its environment.
type settings struct {
	Environment string
	Account     account.Account
	Sweep       ncrontab.Schedule
	Address     string        // to listen on, loopback only
	Timeout     time.Duration // of an invocation, our own
}

// readSettings reports every fault at once.
func readSettings(getenv func(string) string) (settings, error) {
	s := settings{Environment: getenv(account.EnvEnvironment), Timeout: functionTimeout - margin}
	var faults []error
	if s.Environment == "" {
		faults = append(faults, fmt.Errorf("%s is not set: it names the environment that this app serves, such as dev", account.EnvEnvironment))
	} else if err := wire.ValidateEnvironment(s.Environment); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", account.EnvEnvironment, err))
	}
	var err error
	if s.Account, err = account.FromEnv(getenv); err != nil {
		faults = append(faults, err)
	}
	if s.Sweep, err = ncrontab.Parse(getenv(envSweepSchedule)); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", envSweepSchedule, err))
	}
	for _, name := range []string{envIngestSchedule, envRollupSchedule, envCompactSchedule} { // the host needs them; here they are only checked
		if _, err := ncrontab.Parse(getenv(name)); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	port, err := strconv.ParseUint(getenv(envPort), 10, 16)
	if err != nil {
		faults = append(faults, fmt.Errorf("%s %q: want a port; the Functions host sets it when it starts the handler", envPort, getenv(envPort)))
	}
	s.Address = net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10))
	if v := getenv(envTimeout); v != "" {
		timeout, err := parseTimeout(v)
		if err == nil && timeout <= margin {
			err = fmt.Errorf("want more than %s", margin)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %q: %w", envTimeout, v, err))
		}
		s.Timeout = timeout - margin
	}
	return s, errors.Join(faults...)
}

// parseTimeout reads a duration as host.json writes it, hh:mm:ss, or as Go does.
func parseTimeout(s string) (time.Duration, error) {
	if !strings.Contains(s, ":") {
		return time.ParseDuration(s)
	}
	t, err := time.Parse("15:04:05", s)
	if err != nil {
		return 0, errors.New("want hh:mm:ss, or a duration such as 5m")
	}
	return t.Sub(t.Truncate(24 * time.Hour)), nil
}
