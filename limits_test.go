package isochrone

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// bounded are the fields without which a server or a client waits for ever for whoever stays
// silent, or reads whatever it is sent.
var bounded = map[string][]string{
	"Server": {"ReadHeaderTimeout", "IdleTimeout", "MaxHeaderBytes"},
	"Client": {"Timeout"},
}

// unbounded are the names of net/http that have no limits and cannot be given any.
var unbounded = []string{"DefaultClient", "DefaultTransport", "DefaultServeMux", "Get", "Head", "Post", "PostForm", "Handle", "HandleFunc",
	"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"}

// unlimited lists what may do without, by file and name, and why.
var unlimited = map[string]string{
	"infra/local/functionshost/invoke.go Client":  "an invocation has its own deadline, in the request's context",
	"infra/local/functionshost/handler.go Client": "the probe of a handler that starts ends with the context of the start",
	"infra/local/functionshost/host.go Client":    "it waits for as long as the caller of the host's Invoke does, by context",
	"infra/local/stack/prober.go DefaultClient":   "requests to a prober's own address on loopback, each with a context that ends",
	"infra/local/stack/prober.go Client":          "the same, inside an emulated network",
}

// lacking lists what a file makes of net/http without limits, as "Name: what is missing".
func lacking(file *ast.File) map[string][]string {
	out := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if name := ofHTTP(n.Type); bounded[name] != nil {
				has := map[string]bool{}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); ok {
							has[key.Name] = true
						}
					}
				}
				for _, field := range bounded[name] {
					if !has[field] {
						out[name] = append(out[name], field)
					}
				}
			}
		case *ast.CallExpr: // new(http.Server)
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 && bounded[ofHTTP(n.Args[0])] != nil {
				out[ofHTTP(n.Args[0])] = bounded[ofHTTP(n.Args[0])]
			}
		case *ast.ValueSpec: // var c http.Client
			if name := ofHTTP(n.Type); bounded[name] != nil && len(n.Values) == 0 {
				out[name] = bounded[name]
			}
		case *ast.Field: // a server or client that is part of a struct by value
			if name := ofHTTP(n.Type); bounded[name] != nil {
				out[name] = bounded[name]
			}
		case *ast.SelectorExpr:
			if name := ofHTTP(n); slices.Contains(unbounded, name) {
				out[name] = nil
			}
		}
		return true
	})
	return out
}

// ofHTTP is the name that an expression takes from net/http; empty when it takes none.
func ofHTTP(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if p, ok := s.X.(*ast.Ident); !ok || p.Name != "http" {
		return ""
	}
	return s.Sel.Name
}

func TestEveryServerAndClientHasLimits(t *testing.T) {
	used := map[string]bool{}
	seen := 0
	for _, s := range sources(t) {
		if s.test || !slices.Contains(s.imports, "net/http") {
			continue
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), s.name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, fields := range lacking(file) {
			where := s.name + " " + name
			if used[where] = true; unlimited[where] == "" {
				t.Errorf("%s: http.%s without %s: whoever stays silent, or sends without end, holds it for ever; set it, or add %q to the exceptions with the reason",
					s.name, name, strings.Join(fields, ", "), where)
			}
		}
	}
	if seen < 8 {
		t.Fatalf("only %d files import net/http: the search is wrong", seen)
	}
	for where := range unlimited {
		if !used[where] {
			t.Errorf("%s needs no exception any more", where)
		}
	}
}

func TestWhatHasNoLimitsIsFound(t *testing.T) {
	const head = "package p\nimport \"net/http\"\n"
	for text, want := range map[string]string{
		"var s = &http.Server{Handler: nil, ReadHeaderTimeout: 1, MaxHeaderBytes: 1}": "Server IdleTimeout",
		"var s = http.Server{}": "Server ReadHeaderTimeout,IdleTimeout,MaxHeaderBytes",
		"var s = &http.Server{ReadHeaderTimeout: 1, IdleTimeout: 1, MaxHeaderBytes: 1}": "",
		"var c = &http.Client{Transport: nil}":                                          "Client Timeout",
		"var c = http.Client{Timeout: 1}":                                               "",
		"var c http.Client":                                                             "Client Timeout",
		"var c = new(http.Client)":                                                      "Client Timeout",
		"type t struct { c http.Client }":                                               "Client Timeout",
		"type t struct { c *http.Client }":                                              "",
		"var c = http.DefaultClient":                                                    "DefaultClient ",
		"func f() { _, _ = http.Get(\"\") }":                                            "Get ",
		"func f() { _ = http.ListenAndServe(\"\", nil) }":                               "ListenAndServe ",
		"func f() { var h http.Header; _ = h.Get(\"name\") }":                           "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", head+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for name, fields := range lacking(file) {
			got += name + " " + strings.Join(fields, ",")
		}
		if got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}
