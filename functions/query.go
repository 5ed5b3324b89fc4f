package main

import (
	"context"
	"net/http"
	"time"

	"isochrone/functions/questions"
)

const (
	queryPath     = "/api/query"     // the host's default route prefix, and the route
	dashboardPath = "/api/dashboard" // the same
	// questionTimeout is how long one question may take: a page that waits longer is closed.
	questionTimeout = 60 * time.Second
)

// newQuestions makes the handler of Query on the app's storage.
func newQuestions(s settings, now func() time.Time, st *stores) http.Handler {
	return questions.New(s.Environment, questionTimeout, now, func(ctx context.Context) (questions.Rows, questions.Blobs, error) {
		blobs, rows, err := st.get(ctx)
		if err != nil {
			return nil, nil, err
		}
		return rows, blobs, nil
	})
}
