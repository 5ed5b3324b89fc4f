package trend

import "time"

// ByHour is the spread of the points of each hour of the day in a place. A point belongs to the hour that
// a clock there shows at its time: of a day of 23 hours one hour has no point, of a day of 25 one has two.
// Where clocks differ from UTC by half an hour, an hour of UTC begins in the middle of one there, and
// belongs to it. Without points of an hour of the day its N is 0.
func ByHour(points []Point, in *time.Location) (hours [24]Spread) {
	var of [24][]float64
	for _, p := range points {
		h := p.Time.In(in).Hour()
		of[h] = append(of[h], p.Value)
	}
	for h := range of {
		hours[h], _ = SpreadOf(of[h])
	}
	return hours
}

// ByWeekHour is as ByHour for each hour of the week, Monday first. It is meant for detrended values (see
// Detrend): of values as they are, a lasting step in the middle of a week paints one weekday hot.
func ByWeekHour(points []Point, in *time.Location) (week [7][24]Spread) {
	var of [7][24][]float64
	for _, p := range points {
		d, h := weekHour(p.Time.In(in))
		of[d][h] = append(of[d][h], p.Value)
	}
	for d := range of {
		for h := range of[d] {
			week[d][h], _ = SpreadOf(of[d][h])
		}
	}
	return week
}

// weekHour is the day of the week, 0 for Monday, and the hour.
func weekHour(t time.Time) (day, hour int) { return (int(t.Weekday()) + 6) % 7, t.Hour() }

// Swing is between which hours of a day the medians lie furthest apart, and how far. ok is false when
// fewer than two hours have data.
func Swing(hours [24]Spread) (quietest, busiest int, spread float64, ok bool) {
	known := 0
	for h, s := range hours {
		if s.N == 0 {
			continue
		}
		if known++; known == 1 {
			quietest, busiest = h, h
		}
		if s.Median < hours[quietest].Median {
			quietest = h
		}
		if s.Median > hours[busiest].Median {
			busiest = h
		}
	}
	if known < 2 {
		return 0, 0, 0, false
	}
	return quietest, busiest, hours[busiest].Median - hours[quietest].Median, true
}
