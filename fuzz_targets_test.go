package isochrone

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// What reads the text of a foreign tool is fed hostile text by a fuzz target of its name, which make
// fuzz finds, and holds its samples to their golden files.
func TestEveryForeignFormatHasAFuzzTarget(t *testing.T) {
	names, err := filepath.Glob("sweep/convert/foreign/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var formats []string
	fuzzed, sampled := map[string]string{}, map[string]bool{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if n.Names[0].Name == "formats" && len(n.Values) == 1 {
					for _, f := range n.Values[0].(*ast.CompositeLit).Elts {
						formats = append(formats, f.(*ast.Ident).Name)
					}
				}
			case *ast.FuncDecl:
				for _, format := range passed(n, "fuzz") {
					fuzzed[format] = n.Name.Name
				}
				for _, format := range passed(n, "testSamples") {
					sampled[format] = true
				}
			}
			return true
		})
	}
	if len(formats) < 10 {
		t.Fatalf("found only %d formats: the search is wrong", len(formats))
	}
	for _, f := range formats {
		if want := "Fuzz" + f; !strings.EqualFold(fuzzed[f], want) {
			t.Errorf("format %s is fuzzed by %q: want a target %s that calls fuzz with it", f, fuzzed[f], want)
		}
		if !sampled[f] {
			t.Errorf("format %s: no test calls testSamples with it", f)
		}
	}
}

// passed are the names that a function passes as second argument to the one that is called so.
func passed(f *ast.FuncDecl, called string) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		name, ok := call.Fun.(*ast.Ident)
		argument, named := call.Args[1].(*ast.Ident)
		if ok && named && name.Name == called {
			out = append(out, argument.Name)
		}
		return true
	})
	return out
}
