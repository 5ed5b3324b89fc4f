package config

import (
	"strings"
	"testing"
)

func TestRatesAreReadInBytesAndBits(t *testing.T) {
	for text, want := range map[string]float64{
		"20MB/s": 160e6, "20 MB/s": 160e6, "20MiB/s": 20 * 8 << 20, "1GB/s": 8e9, "1.5GiB/s": 12 << 30, "8B/s": 64, "64kB/s": 512e3, "64KB/s": 512e3, "64KiB/s": 8 << 16,
		"1Gbps": 1e9, "200Mbps": 200e6, "1.5Gbit/s": 1.5e9, "200Mbit": 200e6, "64kbps": 64e3, "1Tbps": 1e12, "9600bit/s": 9600, "1TB/s": 8e12,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%q: %g, %v; want %g bit/s", text, got, err, want)
		}
	}
	// Mb/s is bits to some and bytes to others.
	for _, text := range []string{"", "20", "20Mb/s", "20mb/s", "20MBps", "20MB", "0MB/s", "-1MB/s", "1e3MB/s", "20MB/m", "MB/s", "1,5GB/s", "NaNMB/s", "20MB/s ", strings.Repeat("9", 20) + "B/s"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q was read as %g", text, got)
		} else if !strings.Contains(err.Error(), "20MB/s") || !strings.Contains(err.Error(), "1Gbps") {
			t.Errorf("%q: the error does not say what is accepted: %v", text, err)
		}
	}
}

func TestSizesAreDecimalOrBinary(t *testing.T) {
	for text, want := range map[string]float64{"2TB": 2e12, "2TiB": 2 << 40, "500GB": 500e9, "1.5PB": 1.5e15, "3MiB": 3 << 20, "512kB": 512e3, "7B": 7} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %g, %v; want %g bytes", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2", "0TB", "2Tb", "2Tbit", "2TB/s", "-2TB", "TB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q was read as %g", text, got)
		} else if !strings.Contains(err.Error(), "2TiB") {
			t.Errorf("%q: the error does not say what is accepted: %v", text, err)
		}
	}
}
