package main

import (
	"runtime"
	"strings"
	"testing"
)

// The line is as proc_stat(5) describes it: user nice system idle iowait irq softirq steal guest
// guest_nice.
func TestStealIsReadFromTheEighthNumber(t *testing.T) {
	const rest = "\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n"
	before, err := parseCPUTimes("cpu  100 1 50 800 5 1 3 40 7 2" + rest)
	if err != nil || before != (cpuTimes{all: 1000, steal: 40}) {
		t.Fatalf("%+v, %v; want 1000 ticks, 40 of them stolen", before, err)
	}
	after, err := parseCPUTimes("cpu  150 1 60 930 5 1 3 50 9 2" + rest)
	if err != nil {
		t.Fatal(err)
	}
	if got := stealSince(&before, &after); got == nil || *got != 0.05 { // 10 of 200
		t.Errorf("steal %v, want 0.05", got)
	}
	for name, got := range map[string]*float64{
		"nothing before": stealSince(nil, &after), "nothing after": stealSince(&before, nil), "no time passed": stealSince(&before, &before), "backwards": stealSince(&after, &before),
	} {
		if got != nil {
			t.Errorf("%s: %v, want null", name, *got)
		}
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "cpu 1 2 3 4 5 6 7 -8", strings.Repeat("x", 100)} {
		if got, err := parseCPUTimes(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func TestThisMachineSaysWhatItCan(t *testing.T) {
	times := readCPUTimes()
	if (times != nil) != (runtime.GOOS == "linux") {
		t.Errorf("processor times %+v on %s", times, runtime.GOOS)
	}
	if e := clockErrorNS(); e != nil && *e < 0 {
		t.Errorf("a clock error of %d ns", *e)
	}
}
