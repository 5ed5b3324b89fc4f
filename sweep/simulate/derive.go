package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// Derived is the configuration that a history is made of: what its sweeps are pinned to, so that whoever
// counts what was planned finds what was made.
type Derived struct {
	Text   []byte
	Config *config.Config
	// Left are the probes of the original that are left out.
	Left []NotSimulated
}

// Derive makes the configuration of a history from an environment's. Probes that the model has no figures
// for are left out, and where names are given all others; one whose schedule is due more often than every
// gets a schedule of that. Every divides an hour, or is whole hours that divide a day; zero keeps the schedules.
// A configuration in which nothing is to be changed stays as it is.
func Derive(text []byte, every time.Duration, names []string) (*Derived, error) {
	c, err := config.Parse(text)
	if err != nil {
		return nil, err
	}
	schedule, err := scheduleOf(every)
	if err != nil {
		return nil, err
	}
	out := &Derived{Text: text, Config: c, Left: []NotSimulated{}}
	thinned, targets := map[string]bool{}, map[string][]string{}
	kept := 0
	for i := range c.Probes {
		p := &c.Probes[i]
		to, why := simulated(c, p)
		if why == "" && len(names) > 0 && !slices.Contains(names, p.Name) {
			why = "it was not asked for"
		}
		if why != "" {
			out.Left = append(out.Left, NotSimulated{p.Name, why})
			continue
		}
		kept++
		targets[p.Name] = to
		thinned[p.Name] = every > 0 && !p.Rotate && oftener(p, every)
	}
	switch {
	case kept == 0:
		return nil, errors.New("none of its probes can be simulated: kinds connect, tcp, udp, icmp and throughput can be, between probers")
	case len(out.Left) == 0 && !slices.ContainsFunc(c.Probes, func(p config.Probe) bool { return thinned[p.Name] }) && len(c.Endpoints) == 0:
		return out, nil
	}
	if out.Text, err = rewritten(text, targets, thinned, schedule); err != nil {
		return nil, err
	}
	if out.Config, err = config.Parse(out.Text); err != nil {
		return nil, fmt.Errorf("with its schedules thinned to %q it has faults: %w", schedule, err)
	}
	return out, nil
}

// simulated are the targets of a probe that are probers, or why the model has no figures for it.
func simulated(c *config.Config, p *config.Probe) (to []string, why string) {
	if !slices.Contains([]wire.Kind{wire.KindConnect, wire.KindTCP, wire.KindUDP, wire.KindICMP, wire.KindThroughput}, p.Spec.Kind) {
		return nil, fmt.Sprintf("the model has no figures for kind %s", p.Spec.Kind)
	}
	to = slices.DeleteFunc(slices.Clone(p.To), func(name string) bool { _, ok := c.Endpoint(name); return ok })
	if len(p.To) > 0 && len(to) == 0 {
		return nil, "it measures endpoints alone, and nobody knows where these are"
	}
	return to, ""
}

// scheduleOf is a schedule that is due once in each such time.
func scheduleOf(every time.Duration) (string, error) {
	minutes := int(every / time.Minute)
	switch {
	case every == 0:
		return "", nil
	case every == 24*time.Hour:
		return "0 0 * * *", nil
	case every == time.Hour:
		return "0 * * * *", nil
	case every == time.Minute:
		return "* * * * *", nil
	case every%time.Minute == 0 && minutes > 0 && minutes < 60 && 60%minutes == 0:
		return fmt.Sprintf("*/%d * * * *", minutes), nil
	case every%time.Hour == 0 && every > 0 && (24*time.Hour)%every == 0:
		return fmt.Sprintf("0 */%d * * *", int(every/time.Hour)), nil
	}
	return "", fmt.Errorf("every %s: want a part of an hour, or hours that divide a day", every)
}

// oftener says whether a probe is ever due twice within such a time. A week shows it.
func oftener(p *config.Probe, every time.Duration) bool {
	begin := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	last := p.Next(begin)
	for !last.IsZero() && last.Before(begin.AddDate(0, 0, 7)) {
		next := p.Next(last)
		if !next.IsZero() && next.Sub(last) < every {
			return true
		}
		last = next
	}
	return false
}

// rewritten is a configuration with these probes alone, some with another schedule, and without endpoints.
func rewritten(text []byte, targets map[string][]string, thinned map[string]bool, schedule string) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	root := file.Content[0]
	bulk := false
	probes := valueOf(root, "probes")
	probes.Content = slices.DeleteFunc(probes.Content, func(n *yaml.Node) bool {
		_, kept := targets[valueOf(n, "name").Value]
		return !kept
	})
	for _, n := range probes.Content {
		name := valueOf(n, "name").Value
		if thinned[name] {
			*valueOf(n, "schedule") = yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: schedule}
		}
		if to := valueOf(n, "to"); to != nil && len(targets[name]) > 0 {
			to.Content = slices.DeleteFunc(to.Content, func(t *yaml.Node) bool { return !slices.Contains(targets[name], t.Value) })
		}
		bulk = bulk || wire.Kind(valueOf(n, "kind").Value).IsBulk()
	}
	drop(root, "endpoints")
	if !bulk {
		drop(root, "budget")
	}
	var out bytes.Buffer
	out.WriteString("# What a simulated history is made of: sweep simulate made it of the environment's configuration.\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&file); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// valueOf is the value of a key of a mapping; nil where there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func drop(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// Divides says whether Derive takes a time.
func Divides(every time.Duration) bool {
	_, err := scheduleOf(every)
	return err == nil
}
