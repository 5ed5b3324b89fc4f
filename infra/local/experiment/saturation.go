package experiment

import (
	"context"
	"fmt"

	"isochrone/infra/local/wan/relay"
	"isochrone/prober/wire"
)

// saturation is machines of four sizes, each on a path of its class, that ask until they get no more.
func saturation() Experiment {
	return Experiment{
		Name:      "saturation",
		Phases:    [][]string{{"write-4096", "write-62780", "write-1460", "read-4096", "read-62780", "read-1460"}},
		Machines:  map[string]string{"small": "small", "medium": "medium", "large": "large", "huge": "huge", "reference": "reference"},
		Questions: [][]string{{"compare", "--by", "vm-size", "--probe", "write-62780", "--stat", "throughput"}},
		Tables:    saturationTables,
	}
}

func saturationTables(ctx context.Context, r *Results) ([]Table, error) {
	rates := Table{
		Title: "At the level with the most payload a second; the path's rate counts headers too:",
		Columns: []string{"machine", "path, Mbit/s:", "transfers", "Mbit/s:", "of the path:", "under way:", "p50, ms:", "p99, ms:", "p99 alone, ms:",
			"requests:"},
	}
	bands := Table{Title: "Requests of that level by response time, in ms:", Columns: []string{"machine", "transfers"}}
	for _, end := range wire.BandEndsMS() {
		bands.Columns = append(bands.Columns, fmt.Sprintf("< %d:", end))
	}
	bands.Columns = append(bands.Columns, "longer:")
	for _, machine := range []string{"small", "medium", "large", "huge"} {
		links, err := r.Stack.WAN.Reports().Links(ctx, relay.Query{From: machine, To: "reference"})
		if err != nil || len(links.Links) != 1 {
			return nil, fmt.Errorf("asking for the link of machine %q: %d links: %w", machine, len(links.Links), err)
		}
		shaped := float64(links.Links[0].Rate)
		for _, transfers := range []string{"write-4096", "write-62780", "write-1460", "read-4096", "read-62780", "read-1460"} {
			x, ok := r.find(transfers, machine, "public")
			if !ok || x.Bulk == nil || len(x.Bulk.Levels) == 0 {
				continue
			}
			best, alone := bestLevel(x.Bulk.Levels), x.Bulk.Levels[0]
			rates.Rows = append(rates.Rows, []string{
				x.machine, fmt.Sprintf("%.0f", shaped/1e6), transfers, fmt.Sprintf("%.1f", best.BPS/1e6), fmt.Sprintf("%.0f %%", best.BPS/shaped*100),
				fmt.Sprint(best.Outstanding), fmt.Sprintf("%.2f", ms(best.P50NS)), fmt.Sprintf("%.2f", ms(best.P99NS)), fmt.Sprintf("%.2f", ms(alone.P99NS)),
				fmt.Sprint(best.Requests),
			})
			row := []string{x.machine, transfers}
			for _, n := range best.Bands {
				row = append(row, fmt.Sprint(n))
			}
			bands.Rows = append(bands.Rows, row)
		}
	}
	return []Table{rates, bands}, nil
}

// bestLevel is the one that moved the most.
func bestLevel(all []wire.Level) wire.Level {
	best := all[0]
	for _, l := range all {
		if l.BPS > best.BPS {
			best = l
		}
	}
	return best
}
