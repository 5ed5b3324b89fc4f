package summary

import "math"

func moments(v []int64) (mean float64, stddev *float64) {
	for i, x := range v { // running mean: no sum can overflow
		mean += (float64(x) - mean) / float64(i+1)
	}
	if len(v) < 2 {
		return mean, nil
	}
	var squares float64
	for _, x := range v {
		squares += (float64(x) - mean) * (float64(x) - mean)
	}
	s := math.Sqrt(squares / float64(len(v)-1))
	return mean, &s
}

func jitter(rtt []int64) *float64 {
	if len(rtt) < 2 {
		return nil
	}
	var j float64
	for i := 1; i < len(rtt); i++ {
		j += (math.Abs(float64(rtt[i]-rtt[i-1])) - j) / 16
	}
	return &j
}
