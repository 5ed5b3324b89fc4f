package trend

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// labelled is a series in which people, or whoever made it, say where its level changes.
type labelled struct {
	name     string
	values   []float64 // at or below zero where nothing came back
	labels   []int
	measured bool // and not made
}

func readLabelled(t testing.TB) (out []labelled) {
	t.Helper()
	names, err := filepath.Glob("testdata/changepoints/*.csv.gz")
	if err != nil || len(names) != 15 {
		t.Fatalf("%d series, %v", len(names), err)
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		l := labelled{name: strings.TrimSuffix(filepath.Base(name), ".csv.gz"), measured: strings.Contains(name, "atlas")}
		for lines := bufio.NewScanner(packed); lines.Scan(); {
			fields := strings.Split(lines.Text(), ",")
			v, err := strconv.ParseFloat(fields[1], 64)
			if err != nil || len(fields) != 3 {
				t.Fatalf("%s: %q, %v", name, lines.Text(), err)
			}
			if fields[2] == "1" {
				l.labels = append(l.labels, len(l.values))
			}
			l.values = append(l.values, v)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// present are the values with those that did not come back as missing.
func (l labelled) present() []float64 {
	out := make([]float64, len(l.values))
	for i, v := range l.values {
		out[i] = v
		if v <= 0 {
			out[i] = missing
		}
	}
	return out
}

var missing = math.NaN()

// outcome counts the changes that were found, and those that were not. A found one and a labelled
// one are one when they lie at most five values apart; each is matched once, and as many as can be.
type outcome struct{ hits, spurious, missed int }

const tolerance = 5

// compare goes through both in order. Whatever it matches first leaves the others as much room as any
// matching can, so no matching has more pairs.
func compare(found []Change, labels []int) (o outcome) {
	i, k := 0, 0
	for i < len(found) && k < len(labels) {
		switch d := found[i].At - labels[k]; {
		case d < -tolerance:
			i++
		case d > tolerance:
			k++
		default:
			i, k, o.hits = i+1, k+1, o.hits+1
		}
	}
	o.spurious, o.missed = len(found)-o.hits, len(labels)-o.hits
	return o
}

func (o outcome) and(p outcome) outcome {
	return outcome{o.hits + p.hits, o.spurious + p.spurious, o.missed + p.missed}
}

// f1 is the harmonic mean of precision and recall.
func (o outcome) f1() float64 {
	return 2 * float64(o.hits) / float64(2*o.hits+o.spurious+o.missed)
}

// What people labelled, and what was made with known changes, is found by one set of defaults. The
// values are the same every time, and so are the counts; make bench prints them.
func TestChangesThatPeopleLabelled(t *testing.T) {
	var measured, made outcome
	for _, l := range readLabelled(t) {
		o := compare(Changes(l.present(), ChangeOptions{}), l.labels)
		t.Logf("%s: %+v", l.name, o)
		if l.measured {
			measured = measured.and(o)
		} else {
			made = made.and(o)
		}
	}
	t.Logf("measured %+v %.3f, made %+v %.3f", measured, measured.f1(), made, made.f1())
	if measured.f1() < 0.66 || made.f1() < 0.87 {
		t.Errorf("F1 %.3f on measured series, want 0.66; %.3f on made ones, want 0.87", measured.f1(), made.f1())
	}
}
