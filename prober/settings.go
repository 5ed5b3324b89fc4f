package main

import (
	"errors"
	"fmt"
	"net"
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
	_, _, err = net.SplitHostPort(s.listen)
	fault(named("ISOCHRONE_LISTEN", err))
	_, _, err = net.SplitHostPort(s.health)
	fault(named("ISOCHRONE_HEALTH", err))
	s.poll, err = parseInterval(or("ISOCHRONE_POLL", "5s"), 100*time.Millisecond, time.Minute)
	fault(named("ISOCHRONE_POLL", err))
	// The bounds of wire.Registration.
	s.heartbeat, err = parseInterval(or("ISOCHRONE_HEARTBEAT", "30s"), time.Second, time.Hour)
	fault(named("ISOCHRONE_HEARTBEAT", err))
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
			faults = append(faults, fmt.Errorf("%q: want path=host", pair))
			continue
		}
		a := wire.PathAddress{Path: path, Host: host, TCPPort: 1} // the real port comes with the listener
		if err := a.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", pair, err))
		} else if seen[path] {
			faults = append(faults, fmt.Errorf("%q: path %q has an address already", pair, path))
		}
		seen[path] = true
		out = append(out, a)
	}
	if len(out) > wire.MaxAddresses {
		faults = append(faults, fmt.Errorf("%d addresses: want at most %d", len(out), wire.MaxAddresses))
	}
	return out, errors.Join(faults...)
}
