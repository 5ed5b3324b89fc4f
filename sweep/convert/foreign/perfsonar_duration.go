package foreign

import "regexp"

// perfsonarISODuration is a duration as ISO 8601-1:2019, section 5.5.2.4, writes it, without years and months,
// which have no length.
var perfsonarISODuration = regexp.MustCompile(`^P(?:(\d{1,4})W|(?:(\d{1,4})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:[.,]\d{1,12})?)S)?)?)$`)

// perfsonarDuration is a duration in ns; nil when it is not there.
func perfsonarDuration(q Quantity) (*float64, error) {
	if !q.there() {
		return nil, nil
	}
	m := perfsonarISODuration.FindStringSubmatch(q.Text)
	if m == nil || len(q.Text) < len("P0D") {
		return nil, q.fault("%.60q is no duration of the form PT0.0123S", q.Text)
	}
	var total float64
	for i, seconds := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		text := []byte(m[i+1])
		if len(text) == 0 {
			continue
		}
		for j := range text {
			if text[j] == ',' {
				text[j] = '.'
			}
		}
		v, err := Quantity{Text: string(text), Unit: "s", Where: q.Where}.nanoseconds()
		if err != nil {
			return nil, err
		}
		if total += *v * seconds; total > maxDurationNS {
			return nil, q.fault("%.60s is not to be believed as a time", q.Text)
		}
	}
	return &total, nil
}
