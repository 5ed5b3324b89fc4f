package trend

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// welch is the averaged power spectrum of segments of length values, each of which overlaps half of the
// next (Welch, The Use of Fast Fourier Transform for the Estimation of Power Spectra, 1967), in the square
// of the values' unit: a sine of amplitude A at one of the frequencies has the power A²/2 there. Element
// k is that of k periods a segment. There must be length values at least; an unfinished last segment is
// left out.
func welch(values []float64, length int) (power []float64, segments int) {
	window, sum := make([]float64, length), 0.0
	for i := range window {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(length)) // Hann's, periodic
		sum += window[i]
	}
	transform := fourier.NewFFT(length)
	power = make([]float64, length/2+1)
	buffer := make([]float64, length)
	var spectrum []complex128
	for begin := 0; begin+length <= len(values); begin += length - length/2 {
		copy(buffer, values[begin:])
		straighten(buffer)
		for i := range buffer {
			buffer[i] *= window[i]
		}
		spectrum = transform.Coefficients(spectrum, buffer)
		for k, c := range spectrum {
			both := 2.0 // a frequency and its mirror image
			if k == 0 || 2*k == length {
				both = 1
			}
			power[k] += both * (real(c)*real(c) + imag(c)*imag(c)) / (sum * sum)
		}
		segments++
	}
	for k := range power {
		power[k] /= float64(segments)
	}
	return power, segments
}

// straighten takes the straight line of least squares away.
func straighten(values []float64) {
	n := float64(len(values))
	mean, slope := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for i, v := range values {
		slope += (float64(i) - (n-1)/2) * (v - mean)
	}
	slope /= n * (n*n - 1) / 12
	for i := range values {
		values[i] -= mean + slope*(float64(i)-(n-1)/2)
	}
}
