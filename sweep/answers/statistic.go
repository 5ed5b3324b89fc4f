package answers

import (
	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// Statistic names a figure of a run.
type Statistic string

// The statistics. Percentiles are by nearest rank; times are microseconds.
const (
	P50  Statistic = "p50" // of the round trip
	P90  Statistic = "p90"
	P99  Statistic = "p99"
	Min  Statistic = "min"
	Mean Statistic = "mean"
	// Loss is the part of the sent samples that was lost, 0 to 1.
	Loss Statistic = "loss"
	// Throughput is payload in bit/s, the ramp left out: from source to target where that was
	// measured, or back. Of saturate it is that of the best level.
	Throughput Statistic = "throughput"
	// Rate is how many a second the target took or answered: messages of stream, requests of load.
	Rate Statistic = "rate"
	// Network is the median of round trip − the server's own time, of load and http.
	Network Statistic = "network"
)

// Statistics lists those of a matrix, in the order of the documentation.
func Statistics() []Statistic { return []Statistic{P50, P90, P99, Loss, Throughput, Rate} }

// Compared lists those that runs are compared by.
func Compared() []Statistic { return []Statistic{P50, Min, Mean, P99, Throughput, Rate, Network} }

// StatisticsOf are what a matrix of a kind shows where nothing is asked for.
func StatisticsOf(k wire.Kind) []Statistic {
	switch k {
	case wire.KindThroughput, wire.KindSaturate:
		return []Statistic{Throughput}
	case wire.KindStream:
		return []Statistic{Rate}
	}
	return []Statistic{P50, Loss}
}

// ComparedOf is what runs of a kind are compared by where nothing is asked for.
func ComparedOf(k wire.Kind) Statistic { return StatisticsOf(k)[0] }

// Has says whether runs of the kind can have the statistic.
func (s Statistic) Has(k wire.Kind) bool {
	switch s {
	case Throughput:
		return k == wire.KindThroughput || k == wire.KindSaturate
	case Rate:
		return k == wire.KindStream || k == wire.KindLoad
	case Network:
		return k == wire.KindLoad || k == wire.KindHTTP
	}
	return k.HasSamples()
}

// of is the statistic of a row, nil when it is absent.
func (s Statistic) of(r *tables.Row) *float64 {
	switch s {
	case P50:
		return r.P50US
	case P90:
		return r.P90US
	case P99:
		return r.P99US
	case Min:
		return r.MinUS
	case Mean:
		return r.MeanUS
	case Loss:
		return r.LossRatio
	case Throughput:
		return first(r.Bulk.Throughput.UpBPS, r.Bulk.Throughput.DownBPS, r.Bulk.Saturation.BestBPS)
	case Rate:
		return first(r.Bulk.Stream.ReceiverRate, r.Bulk.Load.RequestsPerS)
	case Network:
		return first(r.Bulk.Load.NetworkP50US, r.HTTP.NetworkP50US)
	}
	return nil
}

func first(values ...*float64) *float64 {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}
