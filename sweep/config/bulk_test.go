package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func TestBulkKindsMeanWhatTheySay(t *testing.T) {
	c, err := Parse(read(t, "bulk.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Budget{Sweep: 200e9, Month: 5e12}); c.Budget != want {
		t.Errorf("budget %+v, want %+v", c.Budget, want)
	}
	const second = time.Second
	want := []wire.Spec{
		{Kind: wire.KindThroughput, Timeout: 10 * second, RequestBytes: 128 << 10, Bulk: wire.Bulk{MaxBytes: 2 << 30, Duration: 10 * second, Ramp: 2 * second, Direction: "up"}},
		{Kind: wire.KindThroughput, Timeout: 5 * second, RequestBytes: 64 << 10, Bulk: wire.Bulk{MaxBytes: 1.5e9, Duration: 30 * second, Ramp: 3 * second,
			Direction: "both", Streams: 8, RateBPS: 200e6, Congestion: "bbr"}},
		{Kind: wire.KindSaturate, Timeout: 10 * second, RequestBytes: 62780, Bulk: wire.Bulk{MaxBytes: 500e6, Duration: 5 * second, Outstanding: 32}},
		{Kind: wire.KindSaturate, Timeout: 10 * second, RequestBytes: 4096, Bulk: wire.Bulk{MaxBytes: 500e6, Duration: 3 * second, Outstanding: 8, ReadPercent: 70}},
		{Kind: wire.KindStream, Timeout: 10 * second, RequestBytes: 1024, Bulk: wire.Bulk{MaxBytes: 100e6, Messages: 50000, MessageRate: 2000, Batch: 1}},
		{Kind: wire.KindStream, Timeout: 10 * second, RequestBytes: 1000, Bulk: wire.Bulk{MaxBytes: 100e6, Messages: 50000, MessageRate: 2000, Batch: 50, SinkRate: 591}},
		{Kind: wire.KindLoad, Timeout: 10 * second, RequestBytes: 2000, ResponseBytes: 32000, Bulk: wire.Bulk{MaxBytes: 1e9, Ramp: second, Users: 100, Duration: 20 * second}},
		{Kind: wire.KindLoad, Timeout: 10 * second, Method: "HEAD", Connection: "keep-alive", Bulk: wire.Bulk{MaxBytes: 1e9, Ramp: 2 * second, Users: 100, Loops: 10}},
	}
	for i, p := range c.Probes[1:] {
		if d := cmp.Diff(want[i], p.Spec); d != "" {
			t.Errorf("%s: -want +got\n%s", p.Name, d)
		}
		if p.Rotate != (p.Name == "rate") {
			t.Errorf("%s: rotate %t", p.Name, p.Rotate)
		}
	}
	if got := c.Pairs(&c.Probes[8]); !slices.Equal(got, []Pair{{"eastus", "api", "public"}, {"northeurope", "api", "public"}, {"westeurope", "api", "public"}}) {
		t.Errorf("users-api: %v", got)
	}
}

func TestSizesAndRatesAreReadInTheirUnits(t *testing.T) {
	for _, c := range []struct {
		units units
		text  string
		want  int64 // -1: refused
	}{
		{byteUnits, "1", 1}, {byteUnits, "0", 0}, {byteUnits, "64B", 64}, {byteUnits, "8kB", 8000}, {byteUnits, "8 KB", 8000}, {byteUnits, "8KiB", 8192},
		{byteUnits, "500MB", 500e6}, {byteUnits, "2GiB", 2 << 30}, {byteUnits, "1.5GB", 1.5e9}, {byteUnits, "0.5MiB", 1 << 19}, {byteUnits, "5TB", 5e12}, {byteUnits, "1TiB", 1 << 40},
		{byteUnits, "1.5", -1}, {byteUnits, "0.0001kB", -1}, {byteUnits, "-1", -1}, {byteUnits, "1e9", -1}, {byteUnits, "1_000", -1}, {byteUnits, "0x10", -1}, {byteUnits, "2gb", -1},
		{byteUnits, "2G", -1}, {byteUnits, "GB", -1}, {byteUnits, "200Mbit", -1}, {byteUnits, "999999999999999TB", -1}, {byteUnits, "", -1}, {byteUnits, "1  MB", -1},
		{bitRateUnits, "200Mbit", 200e6}, {bitRateUnits, "1.5Gbit/s", 1.5e9}, {bitRateUnits, "64kbit", 64000}, {bitRateUnits, "200", -1}, {bitRateUnits, "200MB", -1}, {bitRateUnits, "200Mb", -1},
	} {
		got, ok := c.units.parse(c.text)
		if !ok {
			got = -1
		}
		if got != c.want {
			t.Errorf("%q: %d, want %d", c.text, got, c.want)
		}
	}
}

func TestBytesAreWrittenAsAPersonWould(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 999: "999B", 1000: "1kB", 1536: "1.54kB", 200e9: "200GB", 5e12: "5TB", 12_345_678: "12.3MB", 2 << 30: "2.15GB", 999_999_999: "1000MB", 120e6: "120MB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// What Parse accepts has a time for every round, however often it is due, and keeps to the budget of a
// sweep.
func TestEveryRoundOfAnAcceptedFileHasItsTime(t *testing.T) {
	c, err := Parse(read(t, "bulk.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	slot, rounds := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), 0
	for range 40 {
		slot = c.nextBulk(slot)
		for _, r := range c.Timetable(slot, slot) {
			rounds++
			if r.Start.IsZero() {
				t.Errorf("slot %s: a round of %s has no time", slot, r.Probe.Name)
			}
		}
	}
	if rounds < 100 {
		t.Errorf("%d rounds in 40 slots", rounds)
	}
}

// bulkLines stand in a bulk probe of bulk.yaml in place of its max_bytes.
func bulkLines() []string {
	return []string{"max_bytes: 2GiB", "rate: 200Mbit", "users: 3\n    loops: 2", "direction: sideways", "duration: 1000h", "max_bytes: 1GB\n    rotate: true", "max_bytes: 1TiB\n    ramp: 10m"}
}

// A shorter notice than a file's worth: every rule on one line of a probe in bulk.yaml.
func FuzzBulkProbe(f *testing.F) {
	for _, line := range bulkLines() {
		f.Add(line)
	}
	body := string(read(f, "bulk.yaml"))
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse([]byte(strings.Replace(body, "max_bytes: 1.5GB", line, 1)))
		if err != nil {
			return
		}
		for i := range c.Probes {
			p := &c.Probes[i]
			if err := p.Spec.Validate(); err != nil {
				t.Fatal(err)
			}
			if p.Spec.Kind.IsBulk() && p.Spec.Bulk.MaxBytes > c.Budget.Sweep {
				t.Fatalf("%s may send %d bytes, beyond the budget", p.Name, p.Spec.Bulk.MaxBytes)
			}
		}
	})
}
