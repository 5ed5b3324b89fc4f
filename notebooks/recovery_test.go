package notebooks

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

// recovery is what both the notebook and "sweep recovery --format json" say.
type recovery struct {
	Simulated  bool   `json:"simulated"`
	Origin     string `json:"origin"`
	Throughput struct {
		P5     *float64 `json:"p5_bps"`
		P5Low  *float64 `json:"p5_low_bps"`
		P5High *float64 `json:"p5_high_bps"`
		P50    *float64 `json:"p50_bps"`
		N      int      `json:"n"`
	} `json:"throughput"`
	RPO       *float64 `json:"rpo_s"`
	Sustained *bool    `json:"sustained"`
	Commit    struct {
		N   int      `json:"n"`
		P50 *float64 `json:"p50_us"`
		P99 *float64 `json:"p99_us"`
	} `json:"commit_cost"`
	CatchUp     *float64 `json:"catch_up_s"`
	CatchUpLow  *float64 `json:"catch_up_low_s"`
	CatchUpHigh *float64 `json:"catch_up_high_s"`
	Seed        []struct {
		StartHour int      `json:"start_hour"`
		N         int      `json:"n"`
		Seconds   *float64 `json:"seconds"`
	} `json:"seed"`
	WindowLimited *float64 `json:"window_limited_bps"`
}

// The notebook's numbers are those of the command, whose definitions they have; both are far within the model's line, and
// a change rate over it is not sustained.
func TestRecoveryPlanning(t *testing.T) {
	h := simulated(t)
	step, pair := h.step(t)
	for _, c := range []struct {
		rate, size  string // as the command takes them
		bps, bytes  float64
		isSustained bool
	}{
		{"20MB/s", "2TB", 160e6, 2e12, true},
		{"5Gbps", "100GB", 5e9, 1e11, false},
	} {
		var want, got recovery
		text := h.sweep(t, "recovery", step.Source, step.Target, "--change-rate", c.rate, "--size", c.size, "--path", "public", "--probe", "udp",
			"--since", since.Format("2006-01-02"), "--until", until.Format("2006-01-02"), "--format", "json")
		must(t, json.Unmarshal(text, &want))
		e := execute(t, "04-recovery-planning", h.settings(), fmt.Sprintf("SOURCE, TARGET, DAYS, CHANGE_BPS, SIZE_BYTES = %q, %q, 21, %g, %g", step.Source, step.Target, c.bps, c.bytes))
		e.sound(t, "SIMULATED, nobody measured this: ")
		e.summary(t, &got)

		if !want.Simulated || got.Throughput.N != want.Throughput.N || got.Commit.N != want.Commit.N || got.Sustained == nil || *got.Sustained != c.isSustained || *want.Sustained != c.isSustained {
			t.Errorf("%s: %+v, and sweep recovery has\n%s", c.rate, got, text)
		}
		for name, both := range map[string][2]*float64{
			"p5":                {got.Throughput.P5, want.Throughput.P5},
			"p5 low":            {got.Throughput.P5Low, want.Throughput.P5Low},
			"p5 high":           {got.Throughput.P5High, want.Throughput.P5High},
			"p50":               {got.Throughput.P50, want.Throughput.P50},
			"RPO":               {got.RPO, want.RPO},
			"commit p50":        {got.Commit.P50, want.Commit.P50},
			"commit p99":        {got.Commit.P99, want.Commit.P99},
			"catch-up":          {got.CatchUp, want.CatchUp},
			"catch-up at best":  {got.CatchUpLow, want.CatchUpLow},
			"catch-up at worst": {got.CatchUpHigh, want.CatchUpHigh},
			"one connection":    {got.WindowLimited, want.WindowLimited},
		} {
			same(t, c.rate+", "+name, both[0], both[1])
		}
		known := 0
		for hour, s := range want.Seed {
			if got.Seed[hour].N != s.N || got.Seed[hour].StartHour != hour {
				t.Errorf("hour %d: %+v, want %+v", hour, got.Seed[hour], s)
			}
			same(t, fmt.Sprintf("%s, seed from %d", c.rate, hour), got.Seed[hour].Seconds, s.Seconds)
			if s.Seconds != nil {
				known++
			}
		}
		if known == 0 || known == 24 { // three weeks of nights do not meet every hour
			t.Errorf("a copy is reckoned from %d hours of the day", known)
		}
		if p5 := *got.Throughput.P5; p5 < 0.1*pair.CapacityBPS || p5 > pair.CapacityBPS {
			t.Errorf("the 5 %% quantile is %v bit/s, and the model's line carries %v", p5, pair.CapacityBPS)
		}
	}
}

// same holds two numbers to each other, as far as the command's roundings let it.
func same(t *testing.T, what string, got, want *float64) {
	t.Helper()
	switch {
	case (got == nil) != (want == nil):
		t.Errorf("%s: %v, want %v", what, text(got), text(want))
	case got != nil && math.Abs(*got-*want) > max(0.5, 1e-6**want):
		t.Errorf("%s: %v, want %v", what, *got, *want)
	case got != nil && *want < 10 && math.Abs(*got-*want) > 0.001:
		t.Errorf("%s: %v, want %v", what, *got, *want)
	}
}

func text(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}
