package questions

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// querySeeds are a question and a query each: with all of its parameters, with each one spoilt, and what nobody asks.
func querySeeds() (out [][2]string) {
	for _, q := range table() {
		all := url.Values{}
		for _, p := range q.parameters {
			if p.name != next.name {
				all.Set(p.name, p.example)
			}
		}
		out = append(out, [2]string{q.name, all.Encode()})
		for _, p := range q.parameters {
			out = append(out, [2]string{q.name, all.Encode() + "&" + p.name + "=%00"})
		}
	}
	return append(out, [2]string{"matrix", "code=x&CODE=y&clientId=z"}, [2]string{"matrix", "%zz"}, [2]string{"Matrix/../x", "a;b"}, [2]string{"\xff", "\xff=\xff"},
		[2]string{"changes", "next=eyJvZiI6IiIsImF0IjotMX0"}, [2]string{"recovery", "source=westeurope&target=eastus&change_rate=999999999999999TB/s&size=999999999999999PB&window=3660d&outage=3660d"})
}

func TestTheFuzzTargetHasItsSeeds(t *testing.T) {
	if n := len(querySeeds()); n < 60 {
		t.Errorf("%d seeds: want one a question, and one a parameter", n)
	}
}

// Whatever is asked: an answer that is JSON, or a refusal with a remedy; and never what storage or the program has to
// say, because nothing here fails but the question.
func FuzzQuestion(f *testing.F) {
	for _, s := range querySeeds() {
		f.Add(s[0], s[1])
	}
	s := serve(f, filled())
	f.Fuzz(func(t *testing.T, question, query string) {
		r := httptest.NewRequest(http.MethodGet, "/api/query/x", nil)
		r.URL.Path, r.URL.RawQuery = "/api/query/"+question, query
		w := httptest.NewRecorder()
		s.mux.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusMovedPermanently, http.StatusTemporaryRedirect: // the server's own clean-up of paths
			return
		case http.StatusOK:
			if !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%.300q", w.Body)
			}
		case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestURITooLong:
			var refused failure
			if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil || len(refused.Error.Faults) == 0 || strings.TrimSpace(refused.Error.Remedy) == "" || w.Body.Len() > 64<<10 {
				t.Fatalf("answered %d (%v): %.300q", w.Code, err, w.Body)
			}
		default:
			t.Fatalf("answered %d: %.300q", w.Code, w.Body)
		}
	})
}
