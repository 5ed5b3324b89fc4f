package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"isochrone/functions/web"
)

const theKey = "test-key"

// answer is what the fake Query function says to a question.
type answer struct {
	status int
	body   any // []byte as it is, anything else as JSON
}

// query is a server that has the page under /api/dashboard, as the Dashboard function serves it, and a
// Query function under /api/query that answers with fixtures.
type query struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]func(url.Values) answer
	asked   []string
}

func newQuery(t *testing.T) *query {
	t.Helper()
	q := &query{answers: map[string]func(url.Values) answer{}}
	q.Server = httptest.NewServer(http.HandlerFunc(q.serve))
	t.Cleanup(q.Close)
	q.standard(t)
	return q
}

// on sets the answer to a question.
func (q *query) on(question string, say func(url.Values) answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answers[question] = say
}

// says always answers the same.
func says(status int, body any) func(url.Values) answer {
	return func(url.Values) answer { return answer{status, body} }
}

func (q *query) questions() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string{}, q.asked...)
}

func (q *query) serve(w http.ResponseWriter, r *http.Request) {
	if question, ok := strings.CutPrefix(r.URL.Path, "/api/query/"); ok {
		q.reply(w, r, question)
		return
	}
	w.Header().Set("Content-Security-Policy", web.Policy)
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/dashboard"), "/")
	if name == "" {
		name = "index.html"
	}
	http.ServeFileFS(w, r, web.Files(), path.Clean(name))
}

func (q *query) reply(w http.ResponseWriter, r *http.Request, question string) {
	q.mu.Lock()
	q.asked = append(q.asked, question+"?"+r.URL.RawQuery)
	say := q.answers[question]
	q.mu.Unlock()
	if r.Header.Get("x-functions-key") != theKey || r.URL.Query().Has("code") {
		w.WriteHeader(http.StatusUnauthorized) // the host's own answer has no body
		return
	}
	a := answer{http.StatusNotFound, refused("there is no question "+question, "")}
	if say != nil {
		a = say(r.URL.Query())
	}
	body, ok := a.body.([]byte)
	if !ok {
		var err error
		if body, err = json.Marshal(a.body); err != nil {
			panic(err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}

func refused(message, remedy string) any {
	return map[string]any{"error": map[string]any{"message": message, "remedy": remedy}}
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// standard are the answers of an environment of ten regions in which all is well, nearly.
func (q *query) standard(t *testing.T) {
	public, peering := fixture(t, "matrix.json"), fixture(t, "matrix-peering.json")
	q.on("overview", says(200, fixture(t, "overview.json")))
	q.on("matrix", func(v url.Values) answer {
		switch v.Get("path") {
		case "public":
			return answer{200, public}
		case "peering":
			return answer{200, peering}
		}
		return answer{404, refused(fmt.Sprintf("there is no path %q", v.Get("path")), "choose one of public, peering")}
	})
	for question, of := range map[string]func(url.Values) object{"trend": trend, "heatmap": heatmap, "distribution": distribution, "compare": compared, "recovery": recovery,
		"coverage": coverage, "probers": probers, "changes": changes, "alerts": alerts} {
		q.on(question, func(v url.Values) answer { return answer{200, of(v)} })
	}
}

// simulated is the same answer with the mark of simulated rows.
func simulated(t *testing.T, a answer) answer {
	t.Helper()
	body, ok := a.body.([]byte)
	if !ok {
		var err error
		if body, err = json.Marshal(a.body); err != nil {
			t.Fatal(err)
		}
	}
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	o["simulated"] = true
	return answer{a.status, o}
}
