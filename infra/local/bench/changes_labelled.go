package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"isochrone/sweep/trend"
)

// changesTolerance is how many values a found change may be away from a labelled one.
const changesTolerance = 5

// labelled is a series in which people, or whoever made it, say where its level changes.
type labelled struct {
	name     string
	values   []float64 // ms; NaN where nothing came back
	labels   []int
	measured bool // and not made
}

func readLabelled(root string) (out []labelled, err error) {
	names, err := filepath.Glob(filepath.Join(root, "sweep/trend/testdata/changepoints/*.csv.gz"))
	if err != nil || len(names) == 0 {
		return nil, errors.Join(err, errors.New("no labelled series in sweep/trend/testdata/changepoints"))
	}
	for _, name := range names {
		l, err := readLabelledFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		out = append(out, l)
	}
	return out, nil
}

func readLabelledFile(name string) (l labelled, err error) {
	file, err := os.Open(name)
	if err != nil {
		return l, err
	}
	defer func() { _ = file.Close() }() // it is only read from
	packed, err := gzip.NewReader(file)
	if err != nil {
		return l, err
	}
	l.name = strings.TrimSuffix(filepath.Base(name), ".csv.gz")
	l.measured = strings.HasPrefix(l.name, "atlas-")
	lines := bufio.NewScanner(packed)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != 3 {
			return l, fmt.Errorf("line %q: want three columns", lines.Text())
		}
		v, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return l, err
		}
		if v <= 0 {
			v = math.NaN()
		}
		if fields[2] == "1" {
			l.labels = append(l.labels, len(l.values))
		}
		l.values = append(l.values, v)
	}
	return l, lines.Err()
}

// outcome counts the labelled changes that were found and those that were not, and what was found
// where nothing is labelled.
type outcome struct{ hits, missed, spurious int }

// judge finds a series' changes. Going through both in order and matching what is first leaves the
// others as much room as any matching can: none has more pairs.
func (l labelled) judge(options trend.ChangeOptions) (o outcome) {
	found := trend.Changes(l.values, options)
	i, k := 0, 0
	for i < len(found) && k < len(l.labels) {
		switch d := found[i].At - l.labels[k]; {
		case d < -changesTolerance:
			i++
		case d > changesTolerance:
			k++
		default:
			i, k, o.hits = i+1, k+1, o.hits+1
		}
	}
	o.missed, o.spurious = len(l.labels)-o.hits, len(found)-o.hits
	return o
}

func (o outcome) and(p outcome) outcome {
	return outcome{o.hits + p.hits, o.missed + p.missed, o.spurious + p.spurious}
}

func (o outcome) precision() float64 { return float64(o.hits) / float64(o.hits+o.spurious) }
func (o outcome) recall() float64    { return float64(o.hits) / float64(o.hits+o.missed) }
func (o outcome) f1() float64 {
	return 2 * float64(o.hits) / float64(2*o.hits+o.missed+o.spurious)
}
