package foreign

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isochrone/prober/wire/summary"
)

// aggregate is a line of JMeter's Aggregate Report, computed from the samples one by one.
type aggregate struct {
	elapsed     []int64 // sorted, of failed samples too
	errors      int
	first, last int64
}

func (a *aggregate) add(at, elapsed int64, good bool) {
	if len(a.elapsed) == 0 || at < a.first {
		a.first = at
	}
	a.last = max(a.last, at+elapsed)
	a.elapsed = append(a.elapsed, elapsed)
	if !good {
		a.errors++
	}
}

// line is the percentile as StatCalculator.getPercentPoint gives it: of the rank n·p, rounded half
// up. Ours is of n·p rounded up (nearest rank), which is the same rank where n·p is whole or its
// fraction at least a half, and otherwise the next.
func (a *aggregate) line(p float64) (jmeter, ours int64) {
	n := float64(len(a.elapsed))
	at := func(rank float64) int64 { return a.elapsed[int(max(rank, 1))-1] }
	return at(math.Floor(n*p + 0.5)), at(math.Ceil(n*p - 1e-9))
}

func (a *aggregate) throughput() float64 {
	return float64(len(a.elapsed)) * 1000 / float64(a.last-a.first)
}

// aggregatesOf reads a file with nothing of ours.
func aggregatesOf(t *testing.T, name string, text []byte) map[string]*aggregate {
	t.Helper()
	out := map[string]*aggregate{}
	add := func(label, at, elapsed, success string) {
		ts, err1 := strconv.ParseInt(at, 10, 64)
		ms, err2 := strconv.ParseInt(elapsed, 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if out[label] == nil {
			out[label] = &aggregate{}
		}
		out[label].add(ts, ms, success == "true")
	}
	if strings.HasSuffix(name, ".csv") {
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := func(column string) int { return slices.Index(rows[0], column) }
		for _, r := range rows[1:] {
			add(r[at("label")], r[at("timeStamp")], r[at("elapsed")], r[at("success")])
		}
	} else {
		var file struct {
			Samples []struct {
				T       string `xml:"t,attr"`
				TS      string `xml:"ts,attr"`
				Label   string `xml:"lb,attr"`
				Success string `xml:"s,attr"`
			} `xml:",any"`
		}
		if err := xml.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for _, s := range file.Samples {
			add(s.Label, s.TS, s.T, s.Success)
		}
	}
	for _, a := range out {
		slices.Sort(a.elapsed)
	}
	return out
}

// manySamples is a file of four labels within an hour, one of which fails now and then.
func manySamples(n int) []byte {
	random := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString("timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes\n")
	for i := range n {
		label, code, good := []string{"login", "search", "pay", "leave"}[i%4], 200, true
		if i%4 == 2 && i%68 == 2 {
			code, good = 503, false
		}
		elapsed := 5 + int(random.ExpFloat64()*40)
		fmt.Fprintf(&b, "%d,%d,%s,%d,%s,tg 1-%d,text,%t,%d\n", 1796068800000+i*90, elapsed, label, code, "a reason", i%25, good, 1000+i%7)
	}
	return []byte(b.String())
}

// Figures of the Aggregate Report against those of our rows. Where no sample failed they are of the
// same samples; otherwise JMeter's times hold those of failed ones too, and ours do not: then only
// counts and errors are the same.
func TestJMeterSaysWhatItsAggregateReportSays(t *testing.T) {
	files := map[string][]byte{"many.csv": manySamples(20_000), "odd.csv": manySamples(4*333 - 1)}
	for _, name := range []string{"nested.jtl", "two-labels.jtl", "latency-over-elapsed.jtl", "header.csv", "plain.csv"} {
		files[name] = readSample(t, "testdata/jmeter/"+name)
	}
	percentiles, whole := 0, 0
	for name, text := range files {
		d := mustConvert(t, jmeter, text)
		reports := aggregatesOf(t, name, text)
		if len(d.Findings) != len(reports) {
			t.Errorf("%s: %d findings, %d labels", name, len(d.Findings), len(reports))
		}
		for label, report := range reports {
			f := labelled(t, d, label)
			if f.Run.Counts.Sent != len(report.elapsed) || f.Run.Counts.Lost != report.errors {
				t.Errorf("%s, %s: %+v, want %d samples, %d errors", name, label, f.Run.Counts, len(report.elapsed), report.errors)
			}
			if report.errors > 0 {
				continue
			}
			whole++
			compareReport(t, name+", "+label, f, report, &percentiles)
		}
	}
	if percentiles < 20 || whole < 15 {
		t.Errorf("only %d percentiles and %d labels were compared", percentiles, whole)
	}
}

func compareReport(t *testing.T, name string, f *Finding, report *aggregate, percentiles *int) {
	t.Helper()
	sum := f.Bins.Summary()
	total := int64(0)
	for _, v := range report.elapsed {
		total += v
	}
	for what, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"average": {sum.Mean, float64(total) / float64(len(report.elapsed)) * 1e6}, "min": {sum.Min, float64(report.elapsed[0]) * 1e6},
		"max": {sum.Max, float64(report.elapsed[len(report.elapsed)-1]) * 1e6}, "throughput": {f.Summary.Bulk.Load.RequestsPerS, report.throughput()},
	} {
		if c.got == nil || !within(*c.got, c.want, 1e-9) {
			t.Errorf("%s: %s is %v, want %g", name, what, c.got, c.want)
		}
	}
	for p, q := range map[float64]summary.Quantile{0.5: sum.P50, 0.9: sum.P90, 0.95: sum.P95, 0.99: sum.P99} {
		if q.Value == nil {
			if float64(len(report.elapsed))*(1-p) >= 10 {
				t.Errorf("%s: no percentile %g of %d", name, p, len(report.elapsed))
			}
			continue
		}
		*percentiles++
		theirs, ours := report.line(p)
		if n := float64(len(report.elapsed)) * p; n-math.Floor(n) == 0 || n-math.Floor(n) >= 0.5 {
			ours = theirs
		}
		if *q.Value != float64(ours)*1e6 {
			t.Errorf("%s: percentile %g is %g ms, want %d (JMeter: %d)", name, p, *q.Value/1e6, ours, theirs)
		}
	}
}
