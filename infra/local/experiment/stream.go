package experiment

import (
	"context"
	"fmt"

	"isochrone/prober/wire"
)

// streaming is messages that come faster than they are taken.
func streaming() Experiment {
	return Experiment{
		Name:   "stream",
		Phases: [][]string{streamProbes()},
		Questions: [][]string{
			{"runs", "--probe", "messages-50000", "--since", "1h"},
		},
		Tables: streamTables,
	}
}

func streamProbes() []string {
	return []string{"messages-50000", "size-1k", "size-2k", "size-4k", "size-8k", "size-16k", "size-32k", "batch-10", "batch-100"}
}

func streamTables(_ context.Context, r *Results) ([]Table, error) {
	rates := Table{
		Title: "Rates in messages a second, delays in s. The original offered 2,000 a second to a sink that took 591, which makes the last of its 50,000 messages " +
			"50,000/591 − 50,000/2,000 = 59.6 s late:",
		Columns: []string{"messages", "taken:", "A, source:", "B, receiver:", "p50:", "last:", "N/B − N/A:", "last less that:", "most waiting:"},
	}
	var out []Table
	for _, probe := range streamProbes() {
		x, ok := r.find(probe, "westeurope", "public")
		if !ok || x.Bulk == nil || x.Bulk.Stream == nil {
			continue
		}
		s := x.Bulk.Stream
		off := "–"
		if s.PredictedLastNS > 0 {
			off = fmt.Sprintf("%+.1f %%", (float64(s.DelayLastNS)/float64(s.PredictedLastNS)-1)*100)
		}
		rates.Rows = append(rates.Rows, []string{
			probe, fmt.Sprint(s.Messages), fmt.Sprintf("%.1f", s.SourceRate), fmt.Sprintf("%.1f", s.ReceiverRate),
			seconds(s.DelayP50NS), seconds(s.DelayLastNS), seconds(s.PredictedLastNS), off, fmt.Sprint(s.MaxBacklog),
		})
		if probe == "messages-50000" {
			out = append(out, backlog(s.Intervals))
		}
	}
	return append([]Table{rates}, out...), nil
}

func seconds(ns int64) string { return fmt.Sprintf("%.2f", float64(ns)/1e9) }

// backlog is what waited over time, at some moments of a run.
func backlog(v wire.Intervals) Table {
	const moments = 12
	t := Table{Title: "What waited of the 50,000 messages over time:", Columns: []string{"s:", "sent:", "taken:", "waiting:"}}
	n := len(v.AtNS)
	if len(v.Sent) != n || len(v.Received) != n || len(v.Backlog) != n {
		return t
	}
	sent, received := int64(0), int64(0)
	next := 0
	for i := range n {
		sent, received = sent+max(v.Sent[i], 0), received+max(v.Received[i], 0)
		if i == next*(n-1)/(moments-1) {
			t.Rows = append(t.Rows, []string{
				fmt.Sprintf("%.1f", float64(v.AtNS[i]+v.ForNS[i])/1e9), fmt.Sprint(sent), fmt.Sprint(received), fmt.Sprint(v.Backlog[i]),
			})
			for next++; next < moments && next*(n-1)/(moments-1) == i; next++ {
			}
		}
	}
	return t
}
