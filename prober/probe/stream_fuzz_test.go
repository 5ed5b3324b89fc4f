package probe

import (
	"encoding/json"
	"net"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func dialTest(address string) (net.Conn, error) { return net.Dial("tcp", address) }

// accountSeeds are what a target may say in the end, or should not.
func accountSeeds() []string {
	return []string{
		`{"now_ns":5,"taken":3,"taking":{"first_ns":1,"last_ns":2,"delay_p50_ns":3,"delay_p99_ns":4,"delay_last_ns":-5,"max_backlog":3,"intervals":[1,0,2]}}`,
		`{"now_ns":5,"taken":0}`,
		`{"now_ns":5,"taken":3}`,
		`{"now_ns":5,"taken":4}`,
		`{"now_ns":-5,"taken":3}`,
		`{"now_ns":5,"taken":3,"taking":{"first_ns":0,"last_ns":2305843009213693951,"max_backlog":0,"intervals":[3]}}`,
		`{"now_ns":5,"taken":3,"taking":{"first_ns":2,"last_ns":1,"intervals":[3]}}`,
		`{"now_ns":5,"taken":3,"taking":{"first_ns":1,"last_ns":2,"intervals":[null,3]}}`,
		`{"now_ns":5,"taken":3,"taking":{"first_ns":1,"last_ns":2,"intervals":[4,-1]}}`,
		`{"now_ns":5,"taken":3,"taking":{"first_ns":1,"last_ns":2,"delay_p50_ns":-9223372036854775808,"intervals":[3]}}`,
		`{}`,
		`[]`,
	}
}

// fuzzedOutflow is a stream of three messages that were sent.
func fuzzedOutflow() *outflow {
	now := time.Now()
	req := Request{
		Target: "northeurope", Path: "public", Spec: streamSpec(100, 3, 1000, 1, 0), PlannedStart: now, First: now, Deadline: now.Add(time.Minute),
	}
	s := newOutflow(req, nil, nil)
	s.begin, s.first, s.last, s.lump = now, now, now.Add(2*time.Millisecond), 1
	s.queued.Store(3)
	s.sent.Store(3)
	s.counts[0] = 3
	return s
}

func FuzzStreamAccount(f *testing.F) {
	for _, s := range accountSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var a wire.StreamAnswer
		if json.Unmarshal(b, &a) != nil || a.Validate(3) != nil {
			return
		}
		s := fuzzedOutflow()
		bulk := &wire.BulkResult{Stream: s.streamResult(a, 1, 3), Bytes: int64(a.Taken) * 100}
		failure := wire.FailureTimeout // summed drops it where something was taken
		run := summed(s.req, s.begin, failure, "", wire.Counts{Sent: 3, Received: a.Taken, Lost: 3 - a.Taken}, bulk)
		valid(t, run)
		if r := bulk.Stream; r.PredictedLastNS < 0 || r.ReceiverRate < 0 || r.MaxBacklog < 0 || r.MaxBacklog > 3 {
			t.Errorf("%s makes %+v", b, r)
		}
	})
}

func TestTheStreamFuzzTargetHasItsSeeds(t *testing.T) {
	believed := 0
	for _, s := range accountSeeds() {
		var a wire.StreamAnswer
		if json.Unmarshal([]byte(s), &a) == nil && a.Validate(3) == nil {
			believed++
		}
	}
	if n := len(accountSeeds()); n != 12 || believed != 5 {
		t.Errorf("%d seeds, of which %d are believed; want 12 and 5", n, believed)
	}
}
