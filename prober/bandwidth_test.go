package main

import (
	"testing"
	"time"

	"isochrone/prober/probe"
)

func TestBytesAndRatesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "500MB": 500e6, "1GB": 1e9, "1.5 GB": 15e8, "2GiB": 2 << 30, "64k": 64_000, "64KiB": 65_536, "10tb": 10e12, "3B": 3,
		"0": 0, "": 0, "MB": 0, "-1": 0, "1PB": 0, "1e9": 0, "1..5MB": 0, "9999999999TB": 0, "1Mbit": 0,
	} {
		var got int64
		if err := (byteCount{&got}).Set(text); (err == nil) != (want > 0) || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]int64{
		"200Mbit": 200e6, "200Mbit/s": 200e6, "1.5Gbit": 15e8, "64k": 64_000, "9600": 9600, "1G": 1e9, "1MB": 0, "0": 0, "fast": 0, "1Gibit": 0,
	} {
		var got int64
		if err := (bitRate{&got}).Set(text); (err == nil) != (want > 0) || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestARunShowsALineASecond(t *testing.T) {
	out := &output{}
	d := newBandwidthDisplay(out, false)
	for i := 1; i <= 25; i++ { // a megabit a tenth up, two down
		d.progress(probe.Progress{Elapsed: time.Duration(i) * 100 * time.Millisecond, Of: 3 * time.Second, UpBytes: int64(i) * 125_000, DownBytes: int64(i) * 250_000})
	}
	d.finish()
	want := "  1.0 s   up 10.00 Mbit/s, down 20.00 Mbit/s\n  2.0 s   up 10.00 Mbit/s, down 20.00 Mbit/s\n\n"
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out, want)
	}
}

func TestOnATerminalTheBarIsRewritten(t *testing.T) {
	out := &output{}
	d := newBandwidthDisplay(out, false)
	d.bar, d.every = true, barEvery
	d.progress(probe.Progress{Elapsed: time.Second, Of: 2 * time.Second, DownBytes: 1_000_000})
	d.progress(probe.Progress{Elapsed: 4 * time.Second, Of: 2 * time.Second, DownBytes: 1_000_000})
	d.finish()
	want := "\r[###############---------------] 1.0 of 2.0 s   down 8.00 Mbit/s" +
		"\r[##############################] 4.0 of 2.0 s   down 0.00 Mbit/s" +
		"\r                                                                \r\n"
	if out.String() != want {
		t.Errorf("shown:\n%q\nwant:\n%q", out.String(), want)
	}
}
