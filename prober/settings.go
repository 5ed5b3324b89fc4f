package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// settings are what the environment says.
type settings struct {
	environment string
	account     account.Account
	prober      string
	region      string
	listen      string
	health      string
	addresses   []wire.PathAddress // without ports: the listener has the port
	poll        time.Duration
	heartbeat   time.Duration
	vmSize      string
	imageDigest string
	spool       spoolSettings
}

// readSettings reads and checks all settings, and reports every fault at once.
func readSettings(getenv func(string) string) (settings, error) {
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	or := func(name, byDefault string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return byDefault
	}
	s := settings{
		environment: getenv(account.EnvEnvironment),
		prober:      getenv("ISOCHRONE_PROBER"),
		listen:      or("ISOCHRONE_LISTEN", ":7700"),
		health:      or("ISOCHRONE_HEALTH", "127.0.0.1:7701"),
		vmSize:      getenv("ISOCHRONE_VM_SIZE"),
		imageDigest: getenv("ISOCHRONE_IMAGE_DIGEST"),
	}
	s.region = or("ISOCHRONE_REGION", s.prober)
	fault(named(account.EnvEnvironment, wire.ValidateEnvironment(s.environment)))
	fault(named("ISOCHRONE_PROBER", wire.ValidateName("prober", s.prober)))
	if s.region != s.prober {
		fault(named("ISOCHRONE_REGION", wire.ValidateName("region", s.region)))
	}
	var err error
	s.account, err = account.FromEnv(getenv)
	fault(err)
	s.addresses, err = parseAddresses(getenv("ISOCHRONE_ADDRESSES"))
	fault(named("ISOCHRONE_ADDRESSES", err))
	fault(named("ISOCHRONE_LISTEN", checkListen(s.listen, ":7700")))
	fault(named("ISOCHRONE_HEALTH", checkListen(s.health, "127.0.0.1:7701")))
	s.poll, err = parseInterval(or("ISOCHRONE_POLL", "5s"), 100*time.Millisecond, time.Minute)
	fault(named("ISOCHRONE_POLL", err))
	// The bounds of wire.Registration.
	s.heartbeat, err = parseInterval(or("ISOCHRONE_HEARTBEAT", "30s"), time.Second, time.Hour)
	fault(named("ISOCHRONE_HEARTBEAT", err))
	s.spool, err = readSpoolSettings(or)
	fault(err)
	for _, free := range []struct{ name, value string }{{"ISOCHRONE_VM_SIZE", s.vmSize}, {"ISOCHRONE_IMAGE_DIGEST", s.imageDigest}} {
		if len(free.value) > 128 {
			fault(fmt.Errorf("%s: %d characters: want at most 128", free.name, len(free.value)))
		}
	}
	return s, errors.Join(faults...)
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func parseInterval(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("%q: want a duration from %s to %s, such as 5s", text, least, most)
	}
	return d, nil
}

// checkListen returns an error unless text is host:port to listen at. No host is all addresses;
// port 0 is any that is free.
func checkListen(text, example string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q: want host:port, such as %s", text, example)
	}
	var faults []error
	if host != "" {
		if err := wire.ValidateHost(host); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", text, err))
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		faults = append(faults, fmt.Errorf("%q: port %q: want a number from 0 to 65535, such as in %s", text, port, example))
	}
	return errors.Join(faults...)
}

// paths are those that sweep.yaml knows. An address on another would never be measured.
var paths = []string{"public", "peering", "vpn", "expressroute"}

// parseAddresses reads path=host pairs. Hosts are checked as a registration's are.
func parseAddresses(text string) ([]wire.PathAddress, error) {
	if text == "" {
		return nil, errors.New("not set: without an address on any path no prober can measure to this one; want public=20.50.1.2")
	}
	var out []wire.PathAddress
	var faults []error
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		path, host, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			faults = append(faults, fmt.Errorf("%q: want path=host, such as public=20.50.1.2", pair))
			continue
		}
		if !slices.Contains(paths, path) {
			faults = append(faults, fmt.Errorf("%q: path %q: want one of %s", pair, path, strings.Join(paths, ", ")))
		} else if seen[path] {
			faults = append(faults, fmt.Errorf("%q: path %q has an address already: keep one", pair, path))
		}
		a := wire.PathAddress{Path: path, Host: host, TCPPort: 1} // the real port comes with the listener
		checked := a
		checked.Path = paths[0] // so that a bad path hides no bad host
		if err := checked.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", pair, err))
		}
		seen[path] = true
		out = append(out, a)
	}
	if len(out) > wire.MaxAddresses {
		faults = append(faults, fmt.Errorf("%d addresses: want at most %d", len(out), wire.MaxAddresses))
	}
	return out, errors.Join(faults...)
}
