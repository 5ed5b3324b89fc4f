package experiment

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
)

// loading is many users of one server over two paths.
func loading() Experiment {
	return Experiment{
		Name:     "load",
		Phases:   [][]string{{"load-100"}},
		Services: []stack.Service{{Name: "web", Paths: []string{"public", "peering"}, Port: 8080, Handler: &worker{}}},
		Questions: [][]string{
			{"runs", "--probe", "load-100", "--since", "1h"},
		},
		Tables: loadTables,
	}
}

// worker answers as a server that works for 1 to 50 ms, evenly, and says how long it took.
type worker struct{ served atomic.Uint64 }

// ServeHTTP is of http.Handler. The clock starts after the body has arrived: what is on its way is
// the network's time.
func (w *worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	began := time.Now()
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, w.served.Add(1)) // never fails
	time.Sleep(time.Millisecond + time.Duration(h.Sum32()%49_000)*time.Microsecond)
	rw.Header().Set("Server-Timing", fmt.Sprintf("total;dur=%.6f", float64(time.Since(began))/1e6))
	_, _ = io.WriteString(rw, "done\n")
}

func loadTables(ctx context.Context, r *Results) ([]Table, error) {
	t := Table{
		Title: "Times in ms: medians, and in brackets the averages. Network time is the whole less what the server says; applied is what the network delayed packets there and back, which the " +
			"original could not know. It found 13.1 and 4.4 ms:",
		Columns: []string{"path", "requests:", "a second:", "whole:", "server:", "network:", "applied:", "network less applied:", "original:"},
	}
	var networks [2][]int64
	for i, p := range []struct{ path, original string }{{"public", "13.1"}, {"peering", "4.4"}} {
		x, ok := r.find("load-100", "westeurope", p.path)
		if !ok {
			continue
		}
		applied, err := r.applied(ctx, "westeurope", "web", p.path)
		if err != nil {
			return nil, err
		}
		whole, server, network := split(x.Samples)
		networks[i] = network
		perSecond := "–"
		if x.Bulk != nil && x.Bulk.Load != nil {
			perSecond = fmt.Sprintf("%.0f", x.Bulk.Load.RequestsPerS)
		}
		t.Rows = append(t.Rows, []string{
			p.path, fmt.Sprint(len(whole)), perSecond, both(whole), both(server), both(network), fmt.Sprintf("%.2f", applied),
			fmt.Sprintf("%+.2f", ms(middle(network))-applied), p.original,
		})
	}
	if len(networks[0]) > 0 && len(networks[1]) > 0 {
		a, b := networks[0], networks[1]
		t.Notes = append(t.Notes, fmt.Sprintf("The paths differ by %.2f ms (medians of the network time); the original's by 8.7 ms.", ms(middle(a))-ms(middle(b))))
	}
	return []Table{t}, nil
}

// split takes the requests apart for which the server said what it took, ns.
func split(s wire.Samples) (whole, server, network []int64) {
	for i, rtt := range s.RTTNS {
		if rtt == wire.Null || i >= len(s.ServerNS) || s.ServerNS[i] == wire.Null {
			continue
		}
		whole, server, network = append(whole, rtt), append(server, s.ServerNS[i]), append(network, rtt-s.ServerNS[i])
	}
	return whole, server, network
}

// both is the median with the average.
func both(ns []int64) string {
	if len(ns) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(ns))
	sum := 0.0
	for _, v := range sorted {
		sum += ms(v)
	}
	return fmt.Sprintf("%.2f (%.2f)", ms(middle(sorted)), sum/float64(len(sorted)))
}
