// Package experiment repeats on the local stack what people measured by hand, and puts what they found
// beside what we find. An experiment is a configuration and an emulated network in docs/experiments/,
// and here what to make of the results.
package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"isochrone/infra/local/stack"
)

// Experiment is one of those that people did by hand.
type Experiment struct {
	// Name is that of its folder below docs/experiments.
	Name string
	// Phases are the probes that are due together, by name, in the order of their sweeps.
	Phases [][]string
	// Services and Machines are those of the stack.
	Services []stack.Service
	Machines map[string]string
	// Awake keeps the processors from sleeping (see wan.Options): for differences that are smaller
	// than what one that slept needs to wake.
	Awake bool
	// Questions are command lines of the program sweep, without its name, which are asked of the
	// results.
	Questions [][]string
	// Tables are what comes of it, before the stack is stopped.
	Tables func(context.Context, *Results) ([]Table, error)
}

// All lists the experiments.
func All() []Experiment { return []Experiment{paths(), saturation(), streaming(), loading()} }

// Find finds an experiment by its name.
func Find(name string) (Experiment, error) {
	var names []string
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Experiment{}, fmt.Errorf("experiment %q: there is none of that name; want one of %s", name, strings.Join(names, ", "))
}

// The files of an experiment.
const (
	configFile  = "sweep.yaml"
	networkFile = "wan.yaml"
	readmeFile  = "README.md"
)

// file is one of its files, relative to the repository's root.
func (e Experiment) file(name string) string {
	return filepath.Join("docs", "experiments", e.Name, name)
}
