package tables

import (
	"slices"
	"testing"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// What a stream's source or target could not know is absent from the row, and never 0.
func TestAStreamLeavesOutWhatIsNotKnown(t *testing.T) {
	whole := wire.StreamResult{SourceRate: 2000, ReceiverRate: 591, Messages: 50_000, DelayP50NS: 1, DelayP99NS: 2, DelayLastNS: 3, DelayBoundNS: 4, PredictedLastNS: 5, MaxBacklog: 6}
	all := []string{"stream_source_per_s", "stream_receiver_per_s", "stream_message_count", "stream_delay_p50_us", "stream_delay_p99_us", "stream_delay_last_us",
		"stream_delay_bound_us", "stream_predicted_last_us", "stream_max_backlog_count"}
	for name, c := range map[string]struct {
		change func(*wire.StreamResult)
		absent []string
	}{
		"all is known":  {func(*wire.StreamResult) {}, nil},
		"zeros as well": {func(s *wire.StreamResult) { s.DelayP50NS, s.PredictedLastNS, s.MaxBacklog = 0, 0, 0 }, nil},
		"all at once":   {func(s *wire.StreamResult) { s.SourceRate, s.PredictedLastNS = 0, 0 }, []string{all[0], all[7]}},
		"one message":   {func(s *wire.StreamResult) { s.ReceiverRate, s.PredictedLastNS, s.Messages = 0, 0, 1 }, []string{all[1], all[7]}},
		"the session broke before the target's account": {func(s *wire.StreamResult) { *s = wire.StreamResult{SourceRate: 2000, Messages: 7} },
			slices.Concat(all[1:2], all[3:])},
		"nothing was taken": {func(s *wire.StreamResult) { *s = wire.StreamResult{} }, slices.Concat(all[:2], all[3:])},
	} {
		s := whole
		c.change(&s)
		row := Row{Bulk: bulkOf(&summary.Bulk{Stream: &s})}
		for _, f := range bulkFields {
			if !slices.Contains(all, f.Name) {
				continue
			}
			if v := f.get(&row); (v == nil) != slices.Contains(c.absent, f.Name) {
				t.Errorf("%s: %s is %v", name, f.Name, v)
			}
		}
	}
}
