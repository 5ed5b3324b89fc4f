package wire

import (
	"math"
	"strings"
	"testing"
	"time"
)

const second = time.Second

// bulkSpecs is a valid spec of each bulk kind, and how long a run of it takes at most.
var bulkSpecs = map[string]struct {
	spec Spec
	span time.Duration
}{
	"throughput": {Spec{Kind: KindThroughput, Timeout: 10 * second, RequestBytes: DefaultChunkBytes, Bulk: Bulk{MaxBytes: 1e9, Duration: 10 * second, Ramp: 2 * second, Direction: DirectionBoth, Streams: 4, RateBPS: 200e6, Congestion: "bbr"}},
		22 * second},
	// One, two, four … sixteen, and what is not a power of two.
	"saturate": {Spec{Kind: KindSaturate, Timeout: 10 * second, RequestBytes: 62780, Bulk: Bulk{MaxBytes: 1e9, Duration: 5 * second, ReadPercent: 30, Outstanding: 20}},
		6*5*second + 10*second},
	"stream": {Spec{Kind: KindStream, Timeout: 10 * second, RequestBytes: 1024, Bulk: Bulk{MaxBytes: 1e9, Messages: 50_000, MessageRate: 2000, Batch: 10, SinkRate: 1000}},
		50*5*second/4 + 10*second},
	"load": {Spec{Kind: KindLoad, Timeout: 10 * second, RequestBytes: 64, ResponseBytes: 4096, Bulk: Bulk{MaxBytes: 1e9, Users: 100, Ramp: second, Loops: 10}},
		101 * second},
	"load for a time": {Spec{Kind: KindLoad, Timeout: 10 * second, RequestBytes: 64, ResponseBytes: 4096, Bulk: Bulk{MaxBytes: 1e9, Users: 100, Ramp: second, Duration: 20 * second}},
		31 * second},
	"load of a URL": {Spec{Kind: KindLoad, Timeout: 10 * second, Method: "GET", Connection: ConnectionKeepAlive, Bulk: Bulk{MaxBytes: 1e9, Users: 100, Duration: 20 * second}},
		30 * second},
}

func TestBulkSpecsAreValidAndSayHowLongTheyTake(t *testing.T) {
	for name, c := range bulkSpecs {
		if err := c.spec.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.spec.Span(); got != c.span {
			t.Errorf("%s takes %s, want %s", name, got, c.span)
		}
		if url := name == "load of a URL"; c.spec.AsksURL() != url || c.spec.Authenticated() == url || c.spec.ClosedLoop() {
			t.Errorf("%s: asks for a URL %t, authenticated %t, closed loop %t", name, c.spec.AsksURL(), c.spec.Authenticated(), c.spec.ClosedLoop())
		}
	}
}

// The word that a fault begins with names its key in sweep.yaml.
func TestBulkOptionsAreHeldToTheirLimits(t *testing.T) {
	for _, c := range []struct {
		of, want string
		change   func(*Spec)
	}{
		{"throughput", "max_bytes 0: want 1 to", func(s *Spec) { s.Bulk.MaxBytes = 0 }},
		{"throughput", "max_bytes 1099511627777: want", func(s *Spec) { s.Bulk.MaxBytes = MaxBulkBytes + 1 }},
		{"throughput", "count, warmup and interval: kind", func(s *Spec) { s.Count = 1 }},
		{"throughput", "timeout 0s: want", func(s *Spec) { s.Timeout = 0 }},
		{"throughput", "timeout 1m1s: want", func(s *Spec) { s.Timeout = MaxTimeout + second }},
		{"throughput", "duration 1ms: want 100ms", func(s *Spec) { s.Bulk.Duration = time.Millisecond }},
		{"throughput", "ramp 10m1s: want", func(s *Spec) { s.Bulk.Ramp = MaxBulkDuration + second }},
		{"throughput", `direction "": want one of`, func(s *Spec) { s.Bulk.Direction = "" }},
		{"throughput", "streams -1: want", func(s *Spec) { s.Bulk.Streams = -1 }},
		{"throughput", "rate -1: want", func(s *Spec) { s.Bulk.RateBPS = -1 }},
		{"throughput", "response of 16 bytes: kind", func(s *Spec) { s.ResponseBytes = 16 }},
		{"throughput", "has no such option", func(s *Spec) { s.Bulk.Users = 3 }},
		{"throughput", `method "GET": kind`, func(s *Spec) { s.Method = "GET" }},
		{"saturate", "request 8: want 16", func(s *Spec) { s.RequestBytes = 8 }},
		{"saturate", "read 101: want", func(s *Spec) { s.Bulk.ReadPercent = 101 }},
		{"saturate", "outstanding 1025: want", func(s *Spec) { s.Bulk.Outstanding = MaxOutstanding + 1 }},
		{"stream", "messages 10000001: want", func(s *Spec) { s.Bulk.Messages = MaxMessages + 1 }},
		{"stream", "messages 50000: at the rate and the sink's they take 16m40s: want at most 10m0s", func(s *Spec) { s.Bulk.SinkRate = 50 }},
		{"stream", "rate 0: want", func(s *Spec) { s.Bulk.MessageRate = 0 }},
		{"stream", "batch 0: want", func(s *Spec) { s.Bulk.Batch = 0 }},
		{"stream", "sink_rate -1: want", func(s *Spec) { s.Bulk.SinkRate = -1 }},
		{"load", "users 0: want", func(s *Spec) { s.Bulk.Users = 0 }},
		{"load", "loops 10 and duration 1s: want one of the two", func(s *Spec) { s.Bulk.Duration = second }},
		{"load", "loops 1001: 100 users make 100100 requests: want at most 100000", func(s *Spec) { s.Bulk.Loops = 1001 }},
		{"load", "response 8: want 16", func(s *Spec) { s.ResponseBytes = 8 }},
		{"load of a URL", `method "POST": want GET or HEAD`, func(s *Spec) { s.Method = "POST" }},
		{"load of a URL", "request of 64 and response of 0 bytes: a load of a URL has none", func(s *Spec) { s.RequestBytes = 64 }},
	} {
		spec := bulkSpecs[c.of].spec
		c.change(&spec)
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.of, err, c.want)
		}
	}
	latency := Spec{Kind: KindConnect, Count: 1, Interval: second, Timeout: second, Bulk: Bulk{MaxBytes: 1}}
	if err := latency.Validate(); err == nil || !strings.Contains(err.Error(), "bulk: kind \"connect\" has no such options") {
		t.Errorf("connect with a byte budget: %v", err)
	}
}

// A reflector asks how long a run takes of whatever a peer sends it.
func TestTheSpanOfASpecThatIsNotValidIsFoundSoon(t *testing.T) {
	found := make(chan time.Duration, 1)
	go func() {
		found <- Spec{Kind: KindSaturate, Bulk: Bulk{Outstanding: math.MaxInt, Duration: second}}.Span()
	}()
	select {
	case got := <-found:
		if got != 11*second {
			t.Errorf("%s, want that of the most levels there can be", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("not found in 20 s")
	}
}

func TestTheBandsOfALevelAreCounts(t *testing.T) {
	bands := make([]int, len(BandEndsMS())+1)
	bands[0], bands[3] = 5, 7
	r := Run{Kind: KindSaturate, Bulk: &BulkResult{Levels: []Level{{Requests: 12, Bands: bands}}}}
	if err := r.validateBulk(); err != nil {
		t.Error(err)
	}
	bands[0], bands[3] = -5, 17
	if err := r.validateBulk(); err == nil {
		t.Error("a band of -5 requests is taken")
	}
}
