package relay

import (
	"encoding/json"
	"net/http"
	"time"
)

// handler answers GET /links, /flows and /packets in JSON. The parameters that each takes are
// those of Query.
func handler(e *engine, s []statistics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /links", answer(func(f filter) (any, error) {
		links, err := e.reportLinks(f)
		if err != nil {
			return nil, err
		}
		links.Overruns, err = overruns(s, f)
		return links, err
	}))
	mux.HandleFunc("GET /flows", answer(func(f filter) (any, error) { return e.reportFlows(f), nil }))
	mux.HandleFunc("GET /packets", answer(func(f filter) (any, error) { return e.reportPackets(f), nil }))
	return mux
}

func answer(ask func(filter) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := parseQuery(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := ask(f)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // whoever asked is gone
	}
}

func newServer(e *engine, s []statistics) *http.Server {
	return &http.Server{Handler: handler(e, s), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
}
