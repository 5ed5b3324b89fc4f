package questions

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// described is the description as it is served, checked against OpenAPI 3.1 by a library of others.
func described(t *testing.T, s *server) *openapi3.T {
	t.Helper()
	w := s.get(description)
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Fatalf("it is of OpenAPI %s", doc.OpenAPI)
	}
	return doc
}

// valid holds a body against one of the description's schemas.
func valid(t *testing.T, what string, schema *openapi3.SchemaRef, body []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
		t.Errorf("%s does not keep to its schema: %v\n%.600s", what, err, body)
	}
}

// least is a query with the required parameters alone, as the description's examples have them.
func least(operation *openapi3.Operation) url.Values {
	q := url.Values{}
	for _, p := range operation.Parameters {
		if p.Value.Required {
			q.Set(p.Value.Name, p.Value.Example.(string))
		}
	}
	return q
}

func TestTheDescriptionAndTheHandlerAgree(t *testing.T) {
	s := serve(t, filled())
	doc := described(t, s)
	failure := doc.Components.Schemas["failure"]
	if len(doc.Paths.Map()) != len(table())+1 {
		t.Errorf("%d paths for %d questions", len(doc.Paths.Map()), len(table()))
	}
	for place, item := range doc.Paths.Map() {
		name := strings.TrimPrefix(place, "/query/")
		if name == description {
			continue
		}
		t.Run(name, func(t *testing.T) {
			schema := item.Get.Responses.Status(http.StatusOK).Value.Content.Get("application/json").Schema
			ask := func(q url.Values, want int) []byte {
				w := s.get(name + "?" + q.Encode())
				if w.Code != want {
					t.Fatalf("%q answered %d, want %d: %s", q.Encode(), w.Code, want, w.Body)
				}
				return w.Body.Bytes()
			}
			required := least(item.Get)
			valid(t, name, schema, ask(required, http.StatusOK))
			for _, p := range item.Get.Parameters {
				p := p.Value
				q := least(item.Get)
				if p.Name != next.name { // it comes from an answer: the test of pages has it
					q.Set(p.Name, p.Example.(string))
					valid(t, name+"?"+p.Name, schema, ask(q, http.StatusOK))
				}
				q.Set(p.Name, "!")
				body := ask(q, http.StatusBadRequest)
				valid(t, name+"?"+p.Name+"=!", failure, body)
				if !strings.Contains(string(body), `"parameter":"`+p.Name+`"`) {
					t.Errorf("%s=! is refused without its name: %s", p.Name, body)
				}
				q.Del(p.Name)
				if p.Required {
					valid(t, name+" without "+p.Name, failure, ask(q, http.StatusBadRequest))
				}
			}
			required.Set("nonsense", "1")
			body := ask(required, http.StatusBadRequest)
			valid(t, name+"?nonsense", failure, body)
			if !strings.Contains(string(body), `"parameter":"nonsense"`) {
				t.Errorf("what is not known is refused without its name: %s", body)
			}
		})
	}
}

// A schema that accepts everything would hold nothing to account.
func TestTheSchemasRefuseWhatIsNoAnswer(t *testing.T) {
	s := serve(t, filled())
	doc := described(t, s)
	schema := doc.Components.Schemas["matrix"].Value
	good := s.get("matrix").Body.Bytes()
	for name, change := range map[string]func(m map[string]any){
		"a member is missing":  func(m map[string]any) { delete(m, "cells") },
		"one is too many":      func(m map[string]any) { m["extra"] = 1 },
		"null for a list":      func(m map[string]any) { m["probers"] = nil },
		"text for a number":    func(m map[string]any) { m["cells"].([]any)[0].(map[string]any)["p50_us"] = "80" },
		"a cell lacks its key": func(m map[string]any) { delete(m["cells"].([]any)[0].(map[string]any), "slot") },
	} {
		var m map[string]any
		if err := json.Unmarshal(good, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		if schema.VisitJSON(m, openapi3.EnableJSONSchema2020()) == nil {
			t.Errorf("accepted although %s", name)
		}
	}
}

func TestEveryParameterIsReadInOneWay(t *testing.T) {
	seen := map[string]string{}
	for _, q := range table() {
		var names []string
		for _, p := range q.parameters {
			if slices.Contains(names, p.name) {
				t.Errorf("%s has %s twice", q.name, p.name)
			}
			names = append(names, p.name)
			if was, ok := seen[p.name]; ok && was != p.form.want {
				t.Errorf("%s is %q here and %q there", p.name, p.form.want, was)
			}
			seen[p.name] = p.form.want
			if p.example == "" || !p.form.accepts(p.example) {
				t.Errorf("%s: the example %q of %s is refused", q.name, p.example, p.name)
			}
			if p.fallback != "" && !p.form.accepts(p.fallback) {
				t.Errorf("%s: what stands for %s is refused: %q", q.name, p.name, p.fallback)
			}
		}
		if slices.Contains(names, "since") != (q.most > 0) || slices.Contains(names, "limit") != slices.Contains(names, "next") {
			t.Errorf("%s: since needs a bound, and limit its next: %v", q.name, names)
		}
	}
}
