package notebooks

import (
	"regexp"
	"strings"
	"testing"
)

// averaging is every way in which pandas, numpy and SQL take a mean: by name, by what means unless told otherwise (pivot_table),
// beside others (describe), with weights (ewm), or by hand (a sum over a count).
var averaging = regexp.MustCompile(`(?i)\b(nan)?mean\b|\baverage\b|\bavg(if)?\b|\bpivot_table\b|\.describe\b|\bewm\b|\bfmean\b|sum\(([^()]|\([^()]*\))*\)\s*/\s*(len|count|n)\b`)

var fenced = regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$")

// averages finds lines of code in which a mean is taken. None is needed in a notebook: of the numbers that it reads most are quantiles,
// and a mean of quantiles is no quantile of anything.
func averages(code string) (found []string) {
	for _, line := range strings.Split(code, "\n") {
		statement, _, _ := strings.Cut(line, "  # ")
		if averaging.MatchString(strings.ReplaceAll(statement, "rtt_mean_us", "")) { // of samples, made when they were at hand
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestNoNotebookAveragesPercentiles(t *testing.T) {
	lines := 0
	for _, name := range names {
		_, n := read(t, name+".ipynb")
		for _, c := range n.Cells {
			codes := []string{string(c.Source)}
			if c.Type == "markdown" { // queries for engines that no test runs
				codes = nil
				for _, m := range fenced.FindAllStringSubmatch(string(c.Source), -1) {
					codes = append(codes, m[1])
				}
			}
			for _, code := range codes {
				lines += strings.Count(code, "\n") + 1
				for _, line := range averages(code) {
					t.Errorf("%s, cell %q takes a mean: %s\nmerge the histograms of the rows, or take the median and say of what", name, c.ID, line)
				}
			}
		}
	}
	if lines < 300 {
		t.Fatalf("only %d lines of code: the search is wrong", lines)
	}
}

func TestAnAverageOfPercentilesIsFound(t *testing.T) {
	for code, want := range map[string]bool{
		`hours["rtt_p99_us"].mean()`:                                                true,
		`hours.groupby(hours.index.hour).agg({"rtt_p99_us": "mean"})`:               true,
		`hours.groupby("target").agg(p99=("rtt_p99_us", "mean"))`:                   true,
		`hours.groupby("target")["rtt_p50_us"].apply(np.mean)`:                      true,
		`np.nanmean(every["rtt_p95_us"])`:                                           true,
		`np.average(p99, weights=n)`:                                                true,
		`p99.rolling(24).mean()`:                                                    true,
		`p99.resample("1D").mean().plot()`:                                          true,
		`runs.pivot_table(index="source", columns="target")`:                        true,
		`hours[["rtt_p50_us"]].describe()`:                                          true,
		`p99.ewm(span=24)`:                                                          true,
		`p99.sum() / len(p99)`:                                                      true,
		`sum(hours["rtt_p99_us"]) / count`:                                          true,
		"SELECT AVG(p99_us) FROM hours":                                             true,
		"SELECT target, avg(p50_ns) / 1000 AS p50_us":                               true,
		"| summarize avg(p99) by target":                                            true,
		"| summarize avgif(p99, n > 1000)":                                          true,
		`statistics.fmean(p99)`:                                                     true,
		`hours["rtt_p50_us"].median()`:                                              false,
		`quantile_us(whole, 0.99)`:                                                  false,
		`runs.pivot(index="source", columns="target", values="rtt_p50_us")`:         false,
		`lost = (rows["loss_ratio"] * rows["loss_sent_count"]).sum()`:               false,
		`"loss_ratio": lost / sent if sent else np.nan`:                             false,
		`columns = ["rtt_min_us", "rtt_mean_us"]`:                                   false,
		"SELECT quantile_disc(rtt_ns, 0.99) / 1000 AS p99_us":                       false,
		`n = 1  # what that may mean`:                                               false,
		`meaning = "the meaning of p99"`:                                            false,
		`strength = 1 - parts["rest"].var() / (parts["day"] + parts["rest"]).var()`: false,
	} {
		if found := averages(code); (len(found) > 0) != want {
			t.Errorf("%s: found %q, want one: %v", code, found, want)
		}
	}
}
