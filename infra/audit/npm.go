package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// npmPackage is a package of a lock file.
type npmPackage struct {
	name    string
	Version string
	License string
	Dev     bool // it is needed to build, and is in nothing that is built
}

// excepted are npm packages whose licence has no name of its own, and why they suit.
var excepted = map[string]string{"http://geraintluff.github.io/tv4/LICENSE.txt": "public domain, or MIT at choice; in the storage emulator alone, which nothing of ours ships"}

// read lists the packages of a lock file, by name.
func read(lock string) ([]npmPackage, error) {
	body, err := os.ReadFile(lock)
	if err != nil {
		return nil, fmt.Errorf("reading the npm packages: %w", err)
	}
	list, err := parse(body)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", lock, err)
	}
	return list, nil
}

func parse(lock []byte) ([]npmPackage, error) {
	var l struct{ Packages map[string]npmPackage }
	if err := json.Unmarshal(lock, &l); err != nil {
		return nil, err
	}
	var list []npmPackage
	for folder, p := range l.Packages {
		if folder == "" { // the folder of the lock file itself
			continue
		}
		p.name = folder[strings.LastIndex(folder, "node_modules/")+len("node_modules/"):]
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b npmPackage) int {
		return strings.Compare(a.name+" "+a.Version, b.name+" "+b.Version)
	})
	return list, nil
}

// split tells what is part of what is built from what builds it.
func split(list []npmPackage) (shipped, tools []npmPackage) {
	for _, p := range list {
		if p.Dev {
			tools = append(tools, p)
		} else {
			shipped = append(shipped, p)
		}
	}
	return shipped, tools
}

// unsuited says of which packages the licence does not suit.
func unsuited(list []npmPackage) (faults []string) {
	for _, p := range list {
		if !suits[p.License] && excepted[p.License] == "" {
			faults = append(faults, fmt.Sprintf("npm package %s: licence %q does not suit, or is not known", p.name, p.License))
		}
	}
	return faults
}

func countLicences(b *bytes.Buffer, list []npmPackage) {
	count := map[string]int{}
	var names []string
	for _, p := range list {
		if count[p.License]++; count[p.License] == 1 {
			names = append(names, p.License)
		}
	}
	slices.Sort(names)
	b.WriteString("\n| licence | packages | |\n|---|---|---|\n")
	for _, n := range names {
		fmt.Fprintf(b, "| %s | %d | %s |\n", n, count[n], excepted[n])
	}
}
