package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheClocksErrorIsNullUnlessItIsSynchronised(t *testing.T) {
	if e := boundOf(unix.TIME_OK, unix.STA_PLL, 1500); e == nil || *e != 1_500_000 {
		t.Errorf("1,500 µs are %v ns", e)
	}
	for name, e := range map[string]*int64{
		"not synchronised": boundOf(unix.TIME_ERROR, unix.STA_PLL, 16_000_000),
		"flagged":          boundOf(unix.TIME_OK, unix.STA_PLL|unix.STA_UNSYNC, 1500),
	} {
		if e != nil {
			t.Errorf("%s: %d, want null", name, *e)
		}
	}
}
