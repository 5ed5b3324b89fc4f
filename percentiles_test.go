package isochrone

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A percentile of several is none of theirs, nor their mean: percentiles come from merged histograms or from all values.

// percentile is a name of one: P99, P95US, rtt_p99_us, p999, "p50_ms". Between tells it from other words, such as p2p.
const percentile = `(?:\b|_|[a-z])(?:P|p)(?:50|75|90|95|99|999)(?:\b|_\w*|US|NS|MS|Value|s\b)`

// averages are the ways to add percentiles up, or to take their mean.
var averages = []*regexp.Regexp{
	// total += *x.P99US, and sum = sum + h.P99US
	regexp.MustCompile(`[+]=[^;]*` + percentile),
	regexp.MustCompile(percentile + `[^;,(){}"|]* [+] [^;,(){}"|]*` + percentile),
	regexp.MustCompile(`\b(\w+) :?= (?:float64\()?[*]?\b\w*(?i:sum|total)\w*\b\)? [+] [^;]*` + percentile),
	// Mean(p95s), stats.Average(x.P95US), avg(rtt_p99_us), SUM(p50)
	regexp.MustCompile(`\b\w*(?:[Mm]ean|MEAN|[Aa]verage|AVERAGE|[Aa]vg|AVG|[Ss]um|SUM)(?:Of)?\((?:[^()]|\([^()]*\)|\()*` + percentile),
	// df["rtt_p99_us"].mean(), rtt_p99_us.avg()
	regexp.MustCompile(percentile + `["'\])]*\.(?:mean|sum|avg|average)\(`),
	// P99US / float64(n) is the mean of what was added up before.
	regexp.MustCompile(percentile + `\)? / float64\((?:n|len\()`),
}

// averaged says whether a line adds percentiles up or takes their mean. What stands in a Go comment is no code.
func averaged(line string, isGo bool) bool {
	if code, _, is := strings.Cut(line, "//"); is && isGo && !strings.HasSuffix(code, ":") {
		line = code
	}
	for _, r := range averages {
		if r.MatchString(line) {
			return true
		}
	}
	return false
}

func TestPercentilesAreNeverAveraged(t *testing.T) {
	lines := 0
	look := func(name string) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if lines++; averaged(line, strings.HasSuffix(name, ".go")) {
				t.Errorf("%s:%d: percentiles are added up or averaged; merge histograms, or take the values: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
	for _, s := range sources(t) {
		if !s.test && (strings.HasPrefix(s.name, "sweep/") || strings.HasPrefix(s.name, "functions/")) {
			look(s.name)
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages, %v", err)
	}
	for _, name := range pages {
		look(name)
	}
	if lines < 10_000 {
		t.Errorf("only %d lines were looked at", lines)
	}
}

func TestAveragesOfPercentilesAreFound(t *testing.T) {
	for _, line := range []string{
		"\ttotal += *x.P99US",
		"\tsum.P95 += h.RTT.P95US / 24",
		"\tmean += (*h.P50US)",
		"\ttotal = total + *h.RTT.P99US",
		"\tsum := float64(sum) + *h.P50US",
		"\treturn (*a.P90US + *b.P90US) / 2",
		"\tm := Mean(hour.P95US, other.P95US)",
		"\tm := stats.Average(p99s)",
		"\tm := meanOf(column(hours, \"rtt_p50_us\"))",
		"\tp99 / float64(len(hours))",
		"\tout.P99US = sumP99 / float64(n)",
		"select avg(rtt_p99_us) from hours",
		"SELECT day, AVG(h.rtt_p999_us) AS p FROM h",
		"mean(p99)",
		"`sum(p50_us) / count(*)`",
		`df["rtt_p99_us"].mean()`,
		"| summarize avg(todouble(rtt_p95_us)) by bin(hour, 1d)",
	} {
		if !averaged(line, true) {
			t.Errorf("not found: %s", line)
		}
	}
	for _, line := range []string{
		"\tout.N, out.P50, out.P99 = int(sum.Total()), boundedQuantile(&sum, 0.5), boundedQuantile(&sum, 0.99)",
		"\tMinUS: us(sum.Min), MeanUS: us(sum.Mean), P50US: us(sum.P50.Value), P90US: us(sum.P90.Value)",
		"\twidth, from = (sum.AtRank(sum.Total()-sum.Total()/1000)-b.Low)/binsToP999, b.Low",
		"\tcount += len(rows) // with their P99US",
		"\tif *now.P99US-*before.P99US > 1000 {",
		"\tv := *sum.Quantile(0.99) / 1000",
		"\ttext += \"p2p\"",
		"\treturn []Statistic{P50, Min, Mean, P99, Throughput}",
		"| `rtt_mean_us`, `rtt_p50_us`, `rtt_p99_us` | mean and percentiles |",
		"select quantile_cont(rtt_ns, 0.99) as p99, avg(rtt_ns) as mean from lake",
		"Percentiles are never averaged: p99 comes from all round trips",
		"select max(rtt_p99_us), min(rtt_p50_us), sum(received) from hours",
	} {
		if averaged(line, true) {
			t.Errorf("found, though it averages no percentiles: %s", line)
		}
	}
}
