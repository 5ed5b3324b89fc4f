package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// quantityForm is a number and its unit. A fraction is fine as long as it comes out whole.
var quantityForm = regexp.MustCompile(`^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z/]*)$`)

// units is what a unit stands for.
type units struct {
	factors map[string]float64
	want    string // for people
}

var (
	// byteUnits are decimal (SI) and binary (IEC 80000-13).
	byteUnits = units{map[string]float64{
		"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}, "bytes with their unit, such as 128KiB, 500MB or 2GiB"}
	bitRateUnits = units{map[string]float64{
		"bit": 1, "kbit": 1e3, "Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "bit/s": 1, "kbit/s": 1e3, "Kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
	}, "bits a second with their unit, such as 200Mbit or 1.5Gbit"}
)

func (u units) parse(text string) (int64, bool) {
	m := quantityForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	factor, known := u.factors[m[2]]
	n, err := strconv.ParseFloat(m[1], 64)
	// Below 2^53 a product that is whole is exact.
	if v := n * factor; known && err == nil && v == math.Trunc(v) && v < 1<<53 {
		return int64(v), true
	}
	return 0, false
}

// quantity is like number, for a number with one of the units.
func (s section) quantity(key string, u units, to *int64) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!str" || n.ShortTag() == "!!int") {
		if v, ok := u.parse(n.Value); ok {
			*to = v
			return true
		}
	}
	s.r.wrong(s.place(key), n, u.want)
	return false
}

// size is quantity for bytes that an int holds.
func (s section) size(key string, to *int) bool {
	wide := int64(*to)
	ok := s.quantity(key, byteUnits, &wide)
	*to = int(min(wide, math.MaxInt32)) // more is beyond every limit
	return ok
}

// FormatBytes writes bytes as a person would, with three digits at most where that is not exact.
func FormatBytes(n int64) string {
	for _, unit := range []struct {
		name   string
		factor int64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n < unit.factor {
			continue
		}
		v := float64(n) / float64(unit.factor)
		text := strconv.FormatFloat(v, 'f', 2, 64)
		switch {
		case v >= 100:
			text = strconv.FormatFloat(v, 'f', 0, 64)
		case v >= 10:
			text = strconv.FormatFloat(v, 'f', 1, 64)
		}
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text + unit.name
	}
	return fmt.Sprintf("%dB", n)
}
