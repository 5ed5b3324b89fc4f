package trend

import "math"

// moments are a number of values, their mean, and the sum of the squares of what they differ from it.
type moments struct{ n, mean, squares float64 }

func momentsOf(values []float64) (m moments) {
	for _, v := range values { // Welford 1962
		m.n++
		d := v - m.mean
		m.mean += d / m.n
		m.squares += d * (v - m.mean)
	}
	return m
}

// and is the moments of both together (Chan, Golub and LeVeque 1983).
func (m moments) and(o moments) moments {
	n, d := m.n+o.n, o.mean-m.mean
	return moments{n, m.mean + d*o.n/n, m.squares + o.squares + d*d*m.n*o.n/n}
}

// tTest is Student's t-test of two samples with equal variances, of which the standard deviation is
// taken for floor at least.
type tTest struct{ floor float64 }

// p is that of the hypothesis that the means are equal, two-sided. It is 1 for fewer than three
// values.
func (t tTest) p(a, b moments) float64 {
	d := a.mean - b.mean
	freedom := a.n + b.n - 2
	if freedom < 1 || d == 0 {
		return 1
	}
	deviation := max(math.Sqrt((a.squares+b.squares)/freedom), t.floor)
	if deviation == 0 {
		return 0
	}
	return studentP(d/(deviation*math.Sqrt(1/a.n+1/b.n)), freedom)
}

// studentP is the probability that a variable of Student's t distribution is at least as far from
// zero as t, by the regularised incomplete beta function (DLMF 8.17.5 and 26.5.27 of Abramowitz and Stegun).
func studentP(t, freedom float64) float64 {
	s := t * t / freedom
	if math.IsInf(s, 1) {
		return 0
	}
	return incompleteBeta(freedom/2, 0.5, 1/(1+s), s/(1+s))
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b), with y = 1 − x given because
// the difference would be lost for an x near 1 (DLMF 8.17.22, by Lentz's method).
func incompleteBeta(a, b, x, y float64) float64 {
	if y == 0 {
		return 1
	}
	if x == 0 {
		return 0
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, y, x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := a*math.Log(x) + b*math.Log(y) + lab - la - lb
	return math.Exp(front-math.Log(a)) * betaFraction(a, b, x)
}

// betaFraction is the continued fraction of the incomplete beta function. It takes about the square
// root of the larger of a and b in steps.
func betaFraction(a, b, x float64) float64 {
	const tiny, enough, steps = 1e-300, 1e-15, 100_000
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < steps; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		h *= d * c
		if math.Abs(d*c-1) < enough {
			break
		}
	}
	return h
}
