package trend

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// hamedRao is n/n* of Hamed and Rao 1998, formula 13: by how much autocorrelation inflates the variance of the
// statistic of Mann and Kendall. ofLag is that of the ranks of n values without their trend, 0 where it is
// not to count.
func hamedRao(n int, ofLag []float64) float64 {
	sum, all := 0.0, float64(n)
	for lag, r := range ofLag {
		if k := float64(lag); lag > 0 {
			sum += (all - k) * (all - k - 1) * (all - k - 2) * r
		}
	}
	return 1 + 2/(all*(all-1)*(all-2))*sum
}

// firstSignificant are the autocorrelations of the lags before the first that is not significantly positive
// at 95 %. What follows is mostly chance: summed up over all lags, as many do, what counts only when it is
// large by chance cancels most of the correction.
func firstSignificant(n int, ofLag []float64) []float64 {
	for lag, r := range ofLag {
		if r <= z/math.Sqrt(float64(n)) {
			return ofLag[:lag]
		}
	}
	return ofLag
}

// midranks are the ranks of values from 1, equal ones sharing the mean of theirs.
func midranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(values))
	for begin := 0; begin < len(order); {
		end := begin + 1
		for end < len(order) && values[order[end]] == values[order[begin]] {
			end++
		}
		for _, at := range order[begin:end] {
			ranks[at] = float64(begin+end+1) / 2
		}
		begin = end
	}
	return ranks
}

// autocorrelation is that of all lags from 0 to n − 1, by two transforms: the sum of products of each lag
// over that of lag 0 (Box, Jenkins and Reinsel, Time Series Analysis, section 2.1.5). It is 0 for values
// that are all the same.
func autocorrelation(values []float64) []float64 {
	n := len(values)
	size := 1
	for size < 2*n {
		size *= 2 // what is around the corner is zeros
	}
	padded, mean := make([]float64, size), 0.0
	for _, v := range values {
		mean += v / float64(n)
	}
	for i, v := range values {
		padded[i] = v - mean
	}
	transform := fourier.NewFFT(size)
	spectrum := transform.Coefficients(nil, padded)
	for k, c := range spectrum {
		spectrum[k] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
	}
	out := transform.Sequence(padded, spectrum)[:n]
	if least := 1e-12 * mean * mean * float64(n) * float64(size); out[0] <= least {
		clear(out)
		return out
	}
	first := out[0]
	for k := range out {
		out[k] /= first
	}
	return out
}
