package trend

import "time"

// KnownHours says of each hour that begins from since on and before until whether a point is in it: what is
// false is masked in every picture. since is an hour's beginning; of a window that ends within an hour that
// hour counts.
func KnownHours(points []Point, since, until time.Time) (mask []bool, known int) {
	if !until.After(since) {
		return nil, 0
	}
	mask = make([]bool, (until.Sub(since)+time.Hour-1)/time.Hour)
	for _, p := range finite(points) {
		if p.Time.Before(since) || !p.Time.Before(until) {
			continue
		}
		if h := p.Time.Sub(since) / time.Hour; !mask[h] {
			mask[h] = true
			known++
		}
	}
	return mask, known
}
