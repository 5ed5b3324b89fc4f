package report

import (
	"encoding/xml"
	"math"
	"slices"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// LoadFormat names the document of a load run.
const LoadFormat = "isochrone_load"

// Load holds the figures of one load run, durations in microseconds. Absent is null in JSON and no
// element in XML.
type Load struct {
	XMLName xml.Name `json:"-" xml:"isochrone_load"`
	Outcome
	Spec     LoadSpec       `json:"spec" xml:"spec"`
	Counts   wire.Counts    `json:"counts" xml:"counts"` // of requests
	Failures []FailureCount `json:"failures" xml:"failures>failure"`
	Loss     Loss           `json:"loss" xml:"loss"`
	// RequestsPerS is answered requests over the time from the first that left to the last answer.
	RequestsPerS *float64 `json:"requests_per_s" xml:"requests_per_s,omitempty"`
	// OpenedCount is how many requests had to open a connection; null where that is no part of one.
	OpenedCount *int `json:"opened_count" xml:"opened_count,omitempty"`
	// Total is from when a request left to its answer's last byte. Server is the server's own time, and
	// Network the one less the other; both are null where no answer says what the server took.
	Total   LoadTimes  `json:"total" xml:"total"`
	Server  *LoadTimes `json:"server" xml:"server,omitempty"`
	Network *LoadTimes `json:"network" xml:"network,omitempty"`
	// BelowRTTCount is how many network times came out below the path's round trip, which cannot be.
	BelowRTTCount *int `json:"below_rtt_count" xml:"below_rtt_count,omitempty"`
	// Client is how long answers had come before this program read their ends, which is in the network's
	// time: it grows where the users are more than this machine can serve.
	ClientP50US *Microseconds    `json:"client_p50_us" xml:"client_p50_us,omitempty"`
	ClientP99US *Microseconds    `json:"client_p99_us" xml:"client_p99_us,omitempty"`
	TCPInfo     *wire.TCPInfo    `json:"tcp_info" xml:"tcp_info,omitempty"` // of the connection with the smallest round trip
	Degraded    []summary.Reason `json:"degraded" xml:"degraded>reason"`
	Samples     *wire.Samples    `json:"samples,omitempty" xml:"samples,omitempty"`
}

// LoadSpec is how the load was made: by loops, or for a time.
type LoadSpec struct {
	Users         int           `json:"users" xml:"users"`
	RampUS        Microseconds  `json:"ramp_us" xml:"ramp_us"`
	Loops         *int          `json:"loops" xml:"loops,omitempty"` // of each user
	DurationUS    *Microseconds `json:"duration_us" xml:"duration_us,omitempty"`
	TimeoutUS     Microseconds  `json:"timeout_us" xml:"timeout_us"`
	RequestBytes  *int          `json:"request_bytes" xml:"request_bytes,omitempty"`
	ResponseBytes *int          `json:"response_bytes" xml:"response_bytes,omitempty"`
	Method        string        `json:"method,omitempty" xml:"method,omitempty"`
}

// LoadTimes are the figures of one part of the answered requests' times.
type LoadTimes struct {
	MinUS       *Microseconds `json:"min_us" xml:"min_us,omitempty"`
	MeanUS      *Microseconds `json:"mean_us" xml:"mean_us,omitempty"`
	MaxUS       *Microseconds `json:"max_us" xml:"max_us,omitempty"`
	Percentiles []Percentile  `json:"percentiles" xml:"percentiles>percentile"`
}

// LoadOf makes the document of a load run.
func LoadOf(in Input) Load {
	run, s := in.Run, summary.Of(&in.Run, &in.Provenance)
	d := Load{
		Outcome: outcomeOf(in, LoadFormat), Spec: loadSpecOf(in.Spec), Counts: run.Counts, Failures: failuresOf(s),
		Loss:  Loss{Ratio: s.LossRatio, LowRatio: s.LossLow, HighRatio: s.LossHigh},
		Total: timesOf(run.Samples.RTTNS.Values()), TCPInfo: run.TCPInfo,
		ClientP50US: us(s.Noise.ClientP50), ClientP99US: us(s.Noise.ClientP99), Degraded: slices.Clone(s.Noise.Degraded),
	}
	if d.Degraded == nil {
		d.Degraded = []summary.Reason{} // known to be none
	}
	if b := run.Bulk; b != nil && b.Load != nil && run.Counts.Received > 0 {
		d.RequestsPerS = &b.Load.RequestsPerS
	}
	if s.Bulk != nil {
		d.BelowRTTCount = s.Bulk.Load.BelowRTT
	}
	if len(run.Samples.ConnectNS) > 0 {
		opened := len(run.Samples.ConnectNS.Values())
		d.OpenedCount = &opened
	}
	var server, network []int64
	for i, rtt := range run.Samples.RTTNS {
		if i < len(run.Samples.ServerNS) && rtt != wire.Null && run.Samples.ServerNS[i] != wire.Null {
			server, network = append(server, run.Samples.ServerNS[i]), append(network, rtt-run.Samples.ServerNS[i])
		}
	}
	if len(server) > 0 {
		of, less := timesOf(server), timesOf(network)
		d.Server, d.Network = &of, &less
	}
	if in.Samples {
		d.Samples = &run.Samples
	}
	return d
}

func loadSpecOf(s wire.Spec) LoadSpec {
	b := s.Bulk
	out := LoadSpec{Users: b.Users, RampUS: usNS(int64(b.Ramp)), TimeoutUS: usNS(int64(s.Timeout)), Method: s.Method}
	if b.Loops > 0 {
		out.Loops = &b.Loops
	}
	if b.Duration > 0 {
		duration := usNS(int64(b.Duration))
		out.DurationUS = &duration
	}
	if s.RequestBytes > 0 {
		out.RequestBytes, out.ResponseBytes = &s.RequestBytes, &s.ResponseBytes
	}
	return out
}

// timesOf are the figures of some times in nanoseconds, which it sorts.
func timesOf(ns []int64) LoadTimes {
	slices.Sort(ns)
	out := LoadTimes{}
	for _, q := range []struct {
		name  string
		part  float64
		needs int // n(1 − p) = 10
	}{{"p50", 0.5, 20}, {"p90", 0.9, 100}, {"p99", 0.99, 1000}} {
		p := Percentile{Name: q.name, NeedsCount: q.needs}
		if len(ns) > 0 {
			of := summary.QuantileOf(ns, q.part)
			p.ValueUS, p.LowUS, p.HighUS = us(of.Value), us(of.Low), us(of.High)
		}
		out.Percentiles = append(out.Percentiles, p)
	}
	if len(ns) == 0 {
		return out
	}
	sum := 0.0
	for _, v := range ns {
		sum += float64(v)
	}
	least, mean, most := usNS(ns[0]), usNS(int64(math.Round(sum/float64(len(ns))))), usNS(ns[len(ns)-1])
	out.MinUS, out.MeanUS, out.MaxUS = &least, &mean, &most
	return out
}

// JSON is the document as JSON, a column of samples on one line each.
func (d Load) JSON() ([]byte, error) {
	samples := d.Samples
	if d.Samples = nil; samples == nil {
		return encodeJSON(d, "", nil)
	}
	return encodeJSON(d, "samples", samples)
}

// XML is the document as XML.
func (d Load) XML() ([]byte, error) { return encodeXML(d) }
