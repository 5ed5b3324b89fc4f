package main

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"time"

	"isochrone/sweep/answers"
)

// proberObject is a prober as csv holds it, and json within the status. Nil is absent: it never
// registered, or does not say.
type proberObject struct {
	Prober        string     `json:"prober"`
	State         string     `json:"state"`
	Heartbeat     *time.Time `json:"heartbeat"`
	AgeS          *float64   `json:"heartbeat_age_s"`
	IntervalS     *float64   `json:"heartbeat_interval_s"`
	Started       *time.Time `json:"started"`
	Region        *string    `json:"region"`
	Addresses     []string   `json:"addresses"`
	UDPAddresses  []string   `json:"udp_addresses"` // empty: its version has no UDP reflector
	ProberVersion *string    `json:"prober_version"`
	ClockErrorNS  *int64     `json:"clock_error_ns"`
}

func proberObjects(probers []answers.Prober) []proberObject {
	out := []proberObject{}
	for i := range probers {
		p := &probers[i]
		o := proberObject{Prober: p.ID, State: string(p.State), Addresses: []string{}, UDPAddresses: []string{}}
		if r := &p.Registration; p.State != answers.NeverRegistered {
			age, interval := p.Age.Seconds(), r.HeartbeatInterval.Seconds()
			o.Heartbeat, o.AgeS, o.IntervalS, o.Started = utc(r.Heartbeat), &age, &interval, utc(r.Started)
			o.Region, o.ProberVersion, o.ClockErrorNS = optional(r.Region), optional(r.Provenance.ProberVersion), r.Provenance.ClockErrorNS
			for _, a := range r.Addresses {
				o.Addresses = append(o.Addresses, a.Path+"="+net.JoinHostPort(a.Host, strconv.Itoa(a.TCPPort)))
				if a.UDPPort != 0 {
					o.UDPAddresses = append(o.UDPAddresses, a.Path+"="+net.JoinHostPort(a.Host, strconv.Itoa(a.UDPPort)))
				}
			}
		}
		out = append(out, o)
	}
	return out
}

// proberTable lists the probers for people.
func proberTable(w *bytes.Buffer, st style, probers []proberObject) {
	t := table{columns: []column{left("prober"), left("state"), number("heartbeat age s"), left("last heartbeat (UTC)"),
		left("addresses (TCP)"), left("UDP port"), left("version"), number("clock error ms")}}
	for _, p := range probers {
		state := cell{text: p.State}
		if p.State != string(answers.Fresh) {
			state.tone = alarm
		}
		last, clock := absent, absent
		if p.Heartbeat != nil {
			last = stamp(*p.Heartbeat)
		}
		if p.ClockErrorNS != nil {
			ns := float64(*p.ClockErrorNS)
			clock = decimal(&ns, 1e-6, 3)
		}
		t.rows = append(t.rows, []cell{{text: p.Prober}, state, {text: decimal(p.AgeS, 1, 0)}, {text: last},
			{text: orAbsent(strings.Join(p.Addresses, " "))}, {text: orAbsent(udpPorts(p.UDPAddresses))}, {text: orAbsent(orEmpty(p.ProberVersion))}, {text: clock}})
	}
	w.WriteString("\nprobers\n")
	t.render(w, st)
}

// udpPorts is the port of each path.
func udpPorts(addresses []string) string {
	var ports []string
	for _, a := range addresses {
		path, address, _ := strings.Cut(a, "=")
		_, port, _ := net.SplitHostPort(address)
		ports = append(ports, path+"="+port)
	}
	return strings.Join(ports, " ")
}

func orAbsent(s string) string {
	if s == "" {
		return absent
	}
	return s
}
