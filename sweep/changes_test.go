package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// seriesSeeds are series, and what is nearly one.
func seriesSeeds(t testing.TB) [][]byte {
	t.Helper()
	plainText := "time,rtt\r\n1796032800,81.25,0\r\n\r\n1796032860.5,\r\n\"1796032920\" , \"-3\" ,1\r\n1796032920,nan\r\n1796032919,0\r\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(plainText)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return [][]byte{[]byte(plainText), packed.Bytes(), packed.Bytes()[:20], []byte("\ufeff1796032800,81.25"), []byte("1e9999,1\n"), []byte("0x1p4,1e-320\n"),
		[]byte("1,1e308\n"), []byte(strings.Repeat(",", 5000)), {}}
}

func TestReadSeries(t *testing.T) {
	for i, text := range seriesSeeds(t)[:2] {
		s, err := readSeries(bytes.NewReader(text))
		if err != nil {
			t.Fatal(i, err)
		}
		if len(s.times) != 5 || s.missing != 4 || s.backwards != 1 || s.values[0] != 81.25 || !math.IsNaN(s.values[4]) ||
			!s.times[1].Equal(time.Date(2026, 11, 30, 10, 1, 0, 500_000_000, time.UTC)) {
			t.Errorf("%d: %+v", i, s)
		}
	}
}

func TestSeriesSeedsAreThere(t *testing.T) {
	if n := len(seriesSeeds(t)); n != 9 {
		t.Errorf("%d seeds, want 9", n)
	}
}

// Whatever the text: it is a series whose values can be shown, or it is refused with what to do.
func FuzzSeries(f *testing.F) {
	for _, b := range seriesSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readSeries(bytes.NewReader(b))
		if err != nil {
			var refused *seriesRefusal
			if errors.As(err, &refused) && (refused.text == "" || refused.remedy == "") {
				t.Fatalf("refused with %+v", refused)
			}
			return
		}
		if len(s.times) == 0 || len(s.times) != len(s.values) {
			t.Fatalf("%d times, %d values", len(s.times), len(s.values))
		}
		missing := 0
		for i, v := range s.values {
			if math.IsNaN(v) {
				missing++
			} else if !(v > 0 && v <= maxSeriesMS) {
				t.Fatalf("value %v", v)
			}
			if _, err := s.times[i].MarshalJSON(); err != nil {
				t.Fatal(err)
			}
		}
		if missing != s.missing {
			t.Fatalf("%d missing, said to be %d", missing, s.missing)
		}
	})
}
