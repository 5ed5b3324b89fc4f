package experiment

import (
	"context"
	"fmt"
)

// paths is one pair over public IP, VPN and peering.
func paths() Experiment {
	return Experiment{
		Name:   "paths",
		Phases: [][]string{{"tcp-8k"}, {"tcp-1000k"}},
		Questions: [][]string{
			{"compare", "--paths", "public,peering", "--probe", "tcp-8k"},
			{"compare", "--paths", "vpn,peering", "--probe", "tcp-8k"},
		},
		Awake:  true, // public and peering are 0.1 ms apart
		Tables: pathTables,
	}
}

// pathFigures are those of the original: average, minimum and maximum in ms.
var pathFigures = []struct {
	probe, path           string
	average, least, worst string
}{
	{"tcp-8k", "public", "21.48", "21.15", "31.62"},
	{"tcp-8k", "vpn", "23.47", "21.93", "148.56"},
	{"tcp-8k", "peering", "21.29", "21.03", "27.68"},
	{"tcp-1000k", "public", "23.70", "23.15", "45.54"},
	{"tcp-1000k", "vpn", "38.31", "30.07", "80.20"},
	{"tcp-1000k", "peering", "23.55", "22.81", "45.40"},
}

func pathTables(_ context.Context, r *Results) ([]Table, error) {
	times := Table{
		Title:   "Round trips in ms, with the original's in brackets:",
		Columns: []string{"messages", "path", "average:", "median:", "minimum:", "maximum:", "lost:"},
	}
	for _, f := range pathFigures {
		x, ok := r.find(f.probe, "westeurope", f.path)
		if !ok {
			continue
		}
		average, least, most := extent(x.Samples)
		times.Rows = append(times.Rows, []string{
			fmt.Sprintf("%d, %s", x.Counts.Sent, f.probe), f.path,
			figure(average, f.average), fmt.Sprintf("%.2f", ms(middle(x.Samples.RTTNS))), figure(least, f.least), figure(most, f.worst), fmt.Sprint(x.Counts.Lost),
		})
	}
	apart := Table{
		Title:   "Between two paths, in ms: the median of the differences of medians, message by message, with its 95 % interval; in brackets the difference of the original's averages:",
		Columns: []string{"messages", "paths", "difference:", "interval:"},
	}
	for _, d := range []struct{ probe, a, b, original string }{
		{"tcp-8k", "public", "peering", "0.19"}, {"tcp-8k", "vpn", "peering", "2.18"}, {"tcp-8k", "vpn", "public", "1.99"},
		{"tcp-1000k", "public", "peering", "0.15"}, {"tcp-1000k", "vpn", "peering", "14.76"}, {"tcp-1000k", "vpn", "public", "14.61"},
	} {
		a, okA := r.find(d.probe, "westeurope", d.a)
		b, okB := r.find(d.probe, "westeurope", d.b)
		if !okA || !okB {
			continue
		}
		row := []string{d.probe, d.a + " − " + d.b, "–", "–"}
		if median, low, high, ok := difference(a.Samples, b.Samples); ok {
			row[2], row[3] = figure(median, d.original), fmt.Sprintf("%.2f to %.2f", low, high)
		}
		apart.Rows = append(apart.Rows, row)
	}
	return []Table{times, apart}, nil
}
