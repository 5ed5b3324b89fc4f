package dispatch

import (
	"context"
	"fmt"
	"slices"

	"isochrone/sweep/config"
	"isochrone/sweep/plan"
)

// endpoints lists the endpoints whose address the probes need. A run that asks for a URL needs none: its
// source resolves the name, and the look-up is part of what it measures.
func endpoints(c *config.Config, due []config.Probe) (out []config.Endpoint) {
	for _, e := range c.Endpoints {
		if slices.ContainsFunc(due, func(p config.Probe) bool { return !p.Spec.AsksURL() && slices.Contains(p.To, e.Name) }) {
			out = append(out, e)
		}
	}
	return out
}

// endpoint is where an endpoint is reached. Its name stands in sweep.yaml, and whoever answers for
// the name decides on the address: so what it resolves to is held to the same rules as what the
// file says.
func (d *Dispatcher) endpoint(ctx context.Context, c *config.Config, e config.Endpoint) plan.Target {
	found, err := d.lookup(ctx, e.Host)
	if err == nil {
		for _, ip := range found {
			if e.Permits(ip, c.Loopback) {
				return plan.Target{Addresses: map[string]plan.Address{e.Path: {IP: ip, TCPPort: e.Port}}}
			}
		}
		err = fmt.Errorf("%v is never measured, or needs loopback: true", found)
	}
	d.Log.Warn("an endpoint cannot be measured", "endpoint", e.Name, "host", e.Host, "reason", err.Error(),
		"remedy", "correct its address or url under endpoints in sweep.yaml, or its name's entry in DNS")
	return plan.Target{Refused: map[string]string{e.Path: oneLine(fmt.Sprintf("the endpoint's host %q is not usable: %s", e.Host, err))}}
}
