package questions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// describe writes the OpenAPI 3.1 description of the questions. It panics when an answer has no schema, which only a change of
// the code can bring about, and every test finds.
func describe(questions []question) []byte {
	schemas := map[string]any{"failure": schemaOf(failure{})}
	places := map[string]any{}
	for i := range questions {
		q := &questions[i]
		schemas[q.name] = schemaOf(q.answer)
		places["/query/"+q.name] = map[string]any{"get": q.operation()}
	}
	places["/query/"+description] = map[string]any{"get": map[string]any{
		"operationId": "openapi", "summary": "This description.", "security": security(),
		"responses": map[string]any{"200": content("The description.", map[string]any{"type": "object"})},
	}}
	b, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Isochrone Query", "version": "1",
			"description": "What was measured between regions. Units are in the names (_us microseconds, _bps bit/s, _ratio 0 to 1, _s seconds, _km kilometres); times are RFC 3339 in UTC; what is absent is null, never 0. " +
				"Answers have a weak entity tag: ask again with If-None-Match, and 304 says that nothing but the time has changed.",
		},
		"servers": []any{map[string]any{"url": "/api"}},
		"paths":   places,
		"components": map[string]any{
			"schemas": schemas,
			"securitySchemes": map[string]any{
				"header": map[string]any{"type": "apiKey", "in": "header", "name": "x-functions-key"},
				"query":  map[string]any{"type": "apiKey", "in": "query", "name": "code"},
			},
		},
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("describing the questions: %v", err))
	}
	return append(b, '\n')
}

// security says that the function's key is needed, in one of two places.
func security() []any {
	return []any{map[string]any{"header": []any{}}, map[string]any{"query": []any{}}}
}

func (q *question) operation() map[string]any {
	parameters := make([]any, 0, len(q.parameters))
	for i := range q.parameters {
		parameters = append(parameters, q.parameters[i].describe())
	}
	refused := map[string]any{"$ref": "#/components/schemas/failure"}
	return map[string]any{
		"operationId": q.name, "summary": q.summary, "parameters": parameters, "security": security(),
		"responses": map[string]any{
			"200": content("The answer.", map[string]any{"$ref": "#/components/schemas/" + q.name}),
			"304": map[string]any{"description": "Nothing has changed since the answer whose entity tag If-None-Match has."},
			"400": content("A parameter is wrong or not known; all faults at once.", refused),
			"401": map[string]any{"description": "There is no key, or a wrong one: the host's own answer, without a body."},
			"404": content("A name is not there; the remedy lists what is.", refused),
			"503": content("Storage could not be read, or not in time: ask again after Retry-After.", refused),
		},
	}
}

func content(text string, schema map[string]any) map[string]any {
	return map[string]any{"description": text, "content": map[string]any{"application/json": map[string]any{"schema": schema}}}
}

func (p *parameter) describe() map[string]any {
	schema := map[string]any{"type": "string", "minLength": 1, "maxLength": maxValue}
	if p.form.pattern != "" {
		schema["pattern"] = p.form.pattern
	}
	if len(p.form.choices) > 0 {
		schema = map[string]any{"type": "string", "enum": p.form.choices}
	}
	if p.fallback != "" {
		schema["default"] = p.fallback
	}
	return map[string]any{
		"name": p.name, "in": "query", "required": p.required, "schema": schema, "example": p.example,
		"description": strings.ToUpper(p.meaning[:1]) + p.meaning[1:] + ". Want " + p.form.want + ".",
	}
}

// schemaOf is the JSON Schema of a Go value, which is what encoding/json makes of it. Lists are not null, because the
// shapes of sweep/reply make them empty, unless their description begins with that word.
func schemaOf(v any) *jsonschema.Schema {
	times := &jsonschema.Schema{Type: "string", Format: "date-time"}
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[time.Time](): times}})
	if err != nil {
		panic(fmt.Sprintf("describing %T: %v", v, err))
	}
	return listsAreThere(s)
}

func listsAreThere(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] == "array" && !strings.HasPrefix(s.Description, "null ") {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		listsAreThere(p)
	}
	listsAreThere(s.Items)
	return s
}
