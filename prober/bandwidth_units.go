package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// byteCount is a flag that takes bytes with a unit: decimal (kB, MB, GB, TB) or binary (KiB, MiB,
// GiB, TiB).
type byteCount struct{ to *int64 }

func (b byteCount) Type() string { return "bytes" }

func (b byteCount) String() string {
	if b.to == nil || *b.to == 0 {
		return ""
	}
	return strconv.FormatInt(*b.to, 10)
}

func (b byteCount) Set(text string) error {
	n, ok := scaled(text, map[string]float64{
		"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	})
	if !ok || n < 1 {
		return errors.New("want bytes such as 500MB, 1GB or 2GiB")
	}
	*b.to = n
	return nil
}

// bitRate is a flag that takes bits/s with a decimal unit.
type bitRate struct{ to *int64 }

func (b bitRate) Type() string { return "bits/s" }

func (b bitRate) String() string {
	if b.to == nil || *b.to == 0 {
		return ""
	}
	return strconv.FormatInt(*b.to, 10)
}

func (b bitRate) Set(text string) error {
	text = strings.TrimSuffix(strings.ToLower(text), "/s")
	n, ok := scaled(text, map[string]float64{
		"": 1, "bit": 1, "k": 1e3, "kbit": 1e3, "m": 1e6, "mbit": 1e6, "g": 1e9, "gbit": 1e9,
	})
	if !ok || n < 1 {
		return errors.New("want bits a second such as 200Mbit, 1.5Gbit or 64k")
	}
	*b.to = n
	return nil
}

// scaled reads a number with one of the units, whose names are in small letters.
func scaled(text string, units map[string]float64) (int64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	factor, known := units[strings.TrimSpace(text[end:])]
	value, err := strconv.ParseFloat(text[:end], 64)
	if n := math.Round(value * factor); known && err == nil && n < math.MaxInt64/2 {
		return int64(n), true
	}
	return 0, false
}
