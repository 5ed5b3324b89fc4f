// Package isochrone holds the rules of the repository, as tests.
package isochrone

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "isochrone/"

// A rule says which packages of the project a package may import. The first rule whose folder
// matches holds; a folder ending in /... stands for all below it too.
type rule struct {
	folder string
	may    []string // folders, as above
	why    string
}

var order = []rule{
	{"prober/wire/summary", []string{"prober/wire", "prober/wire/oneway"}, "a run's figures are computed the same way on both sides"},
	{"prober/wire/...", nil, "both sides import it: whatever it imported, both would carry"},
	{"prober/socket", nil, "what the kernel says of a socket is no business of the project's"},
	{"prober/transfer", []string{"prober/wire/..."}, "payload is moved the same way at both ends, whatever they agreed on"},
	{"prober/probe", []string{"prober/socket", "prober/transfer", "prober/wire/..."}, "a probe measures; where its orders come from is not its business"},
	{"prober/reflect", []string{"prober/socket", "prober/transfer", "prober/wire/..."}, "a reflector answers; it must stay small enough to be trusted"},
	{"prober/report", []string{"prober/wire/..."}, "figures in, text out: what is printed is the same wherever it is printed"},
	{"prober/spool", []string{"prober/wire/..."}, "the spool keeps bytes, whoever made them"},
	{"prober/mailbox", []string{"prober/wire/..."}, "the mailbox moves documents, whatever measured them"},
	{"prober", []string{"prober/..."}, "a prober never imports the app: it must run when the app's code changes"},
	{"sweep/catalog", nil, "regions and distances are facts, not code"},
	{"sweep/trend", []string{"sweep/catalog"}, "statistics are pure functions"},
	{"sweep/ledger", nil, "the ledger's words are shared by those who write and those who store"},
	{"sweep/inbox", nil, "the words for what waits are shared by those who look at it and those who store it"},
	{"sweep/result", []string{"prober/wire/..."}, "a result is the shape between converters and stores"},
	{"sweep/rounds", nil, "laying out rounds is a pure function"},
	{"sweep/config", []string{"sweep/catalog", "sweep/rounds", "prober/wire/..."}, "a configuration is checked without storage"},
	{"sweep/plan", []string{"sweep/config", "prober/wire/..."}, "planning is a pure function"},
	{"sweep/convert/charset", []string{"sweep/convert/jsontext"}, "an encoding is bytes and characters, an envelope is JSON"},
	{"sweep/convert/jsontext", nil, "a text is read before anyone knows what it means"},
	{"sweep/convert/xmltext", nil, "a text is read before anyone knows what it means"},
	{"sweep/convert/xmljson", []string{"sweep/convert/xmltext"}, "the rules of a conversion know no measurement"},
	{"sweep/convert/foreign", []string{"sweep/convert/jsontext", "sweep/convert/xmltext", "prober/wire/..."}, "what a tool says knows nothing of probers and storage"},
	{"sweep/convert", []string{"sweep/convert/...", "sweep/result", "prober/wire/..."}, "hostile bytes are read far from storage"},
	{"sweep/tables", []string{"sweep/result", "sweep/ledger", "prober/wire/..."}, "keys and columns live here only"},
	{"sweep/archive", []string{"sweep/inbox", "sweep/result", "sweep/ledger", "prober/wire/..."}, "blob names live here only"},
	{"sweep/dispatch/storetest", []string{"sweep/inbox", "sweep/ledger", "sweep/result", "prober/wire/..."}, "the stores in memory, for the tests of dispatch and ingest"},
	{"sweep/dispatch", []string{"sweep/plan", "sweep/config", "sweep/inbox", "sweep/ledger", "sweep/result", "prober/wire/..."}, "it declares the small interfaces that the stores satisfy"},
	{"sweep/ingest", []string{"sweep/plan", "sweep/convert", "sweep/convert/foreign", "sweep/inbox", "sweep/ledger", "sweep/result", "prober/wire/..."}, "it declares the small interfaces that the stores satisfy"},
	{"sweep/replay", []string{"sweep/ingest", "sweep/convert", "sweep/plan", "sweep/inbox", "sweep/result", "prober/wire/..."}, "it declares the small interfaces that the stores satisfy, and converts by ingest alone"},
	{"sweep/simulate", []string{"sweep/ingest", "sweep/convert", "sweep/tables", "sweep/plan", "sweep/config", "sweep/catalog", "sweep/inbox", "sweep/ledger", "sweep/result", "prober/wire/..."}, "what is made up goes the way of what is measured: it declares the small interfaces that the stores satisfy"},
	{"sweep/rollup", []string{"sweep/tables", "sweep/archive", "sweep/trend", "sweep/catalog", "sweep/config", "sweep/plan", "prober/wire/..."}, "history is made from what is stored"},
	{"sweep/compact", []string{"sweep/tables", "sweep/archive", "sweep/ledger", "prober/wire/..."}, "the lake is made from what is stored"},
	{"sweep/answers", []string{"sweep/tables", "sweep/archive", "sweep/trend", "sweep/catalog", "sweep/config", "sweep/plan", "sweep/ledger", "prober/wire/..."}, "answers read what is stored, and write nothing"},
	{"sweep/alerts", []string{"sweep/answers", "sweep/tables", "sweep/trend", "sweep/catalog", "sweep/config", "sweep/ledger", "prober/wire/..."}, "what is worth telling is found in what is stored; it declares what it needs of the stores"},
	{"sweep/reply", []string{"sweep/answers", "sweep/trend", "sweep/catalog", "sweep/config", "sweep/tables", "prober/wire/..."}, "an answer is shaped without storage"},
	{"sweep/svg", nil, "a drawing knows no measurement"},
	{"sweep/doctor", []string{"sweep/answers", "sweep/tables", "sweep/archive", "sweep/inbox", "sweep/config", "sweep/ledger", "prober/wire/..."}, "it looks at what is stored, and writes nothing"},
	{"sweep", []string{"sweep/...", "prober/wire/..."}, "the command line never measures"},
	{"functions/ncrontab", nil, "a schedule is text and time"},
	{"functions/host", nil, "the host's protocol knows nothing of what is invoked"},
	{"functions/questions", []string{"functions/host", "sweep/answers", "sweep/reply", "sweep/tables", "sweep/archive", "sweep/trend", "sweep/catalog", "sweep/config", "sweep/ledger", "prober/wire/..."}, "a question reads what is stored; who may ask is the host's business"},
	{"functions/web", nil, "the page is files, and holds no data"},
	{"functions/tick", []string{"functions/host", "functions/ncrontab", "sweep/dispatch", "prober/wire"}, "which slot a tick serves is a function of times"},
	{"functions", []string{"functions/...", "sweep/...", "prober/wire/..."}, "the app never measures"},
	{"notebooks", []string{"sweep/...", "prober/wire/...", "infra/local/..."}, "notebooks are held to what the app's own code stores and answers"},
	{"infra/pack", nil, "packaging moves files"},
	{"infra/audit", nil, "licences are texts"},
	{"infra/local/...", []string{"..."}, "the local stack puts everything together"},
}

// outside names the libraries that only some folders may import.
var outside = []struct {
	library string
	folders []string
	why     string
}{
	{"github.com/Azure/azure-sdk-for-go/sdk/data/aztables", []string{"sweep/tables", "infra/local/..."}, "keys and columns live in sweep/tables only"},
	{"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob", []string{"sweep/archive", "prober/mailbox", "infra/local/..."}, "blob names live in sweep/archive, and the prober's few in prober/mailbox"},
	{"github.com/parquet-go/parquet-go", []string{"sweep/archive", "infra/local/..."}, "the lake's schema lives in sweep/archive only"},
}

// forTests is what the tests of any package may import beside that.
var forTests = []string{"infra/local/azurite/azuritetest", "prober/wire/..."}

func matches(folder, pattern string) bool {
	if pattern == "..." {
		return true
	}
	base, deep := strings.CutSuffix(pattern, "/...")
	return folder == base || deep && strings.HasPrefix(folder, base+"/")
}

func matchesAny(folder string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(folder, p) })
}

type source struct {
	name    string // slash-separated, from the root
	folder  string
	test    bool
	imports []string
	file    *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{name: filepath.ToSlash(name), test: strings.HasSuffix(name, "_test.go"), file: f}
		s.folder = path.Dir(s.name)
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("found only %d Go files: the walk is wrong", len(out))
	}
	return out
}

func TestImportsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		if s.folder == "." {
			continue
		}
		at := slices.IndexFunc(order, func(r rule) bool { return matches(s.folder, r.folder) })
		if at < 0 {
			t.Errorf("%s: no rule for folder %s: add one to the order of imports, with its reason", s.name, s.folder)
			continue
		}
		r := order[at]
		for _, p := range s.imports {
			if to, ok := strings.CutPrefix(p, module); ok && to != s.folder && !matchesAny(to, r.may) && !(s.test && matchesAny(to, append(forTests, testsMay[s.folder]...))) {
				t.Errorf("%s imports %s: %s may import %q (%s)", s.name, p, r.folder, r.may, r.why)
			}
			for _, o := range outside {
				if (p == o.library || strings.HasPrefix(p, o.library+"/")) && !matchesAny(s.folder, o.folders) {
					t.Errorf("%s imports %s: only %q may (%s)", s.name, p, o.folders, o.why)
				}
			}
		}
	}
}

// testsMay lists what the tests of one folder need beside its own imports: the real stores, to
// hold an interface to them, and the real other end.
var testsMay = map[string][]string{
	"functions/web":  {"sweep/reply"},
	"prober/probe":   {"prober/reflect"},
	"sweep/alerts":   {"sweep/dispatch/storetest", "sweep/archive", "sweep/rollup"},
	"sweep/answers":  {"sweep/result"},
	"sweep/dispatch": {"sweep/tables", "sweep/archive", "sweep/dispatch/storetest"},
	"sweep/replay":   {"sweep/tables", "sweep/archive", "sweep/dispatch"},
	"sweep/rollup":   {"sweep/result", "sweep/dispatch/storetest"},
	"sweep/simulate": {"sweep/archive", "sweep/rollup", "sweep/compact", "sweep/trend"},
	"sweep/compact":  {"sweep/result", "sweep/dispatch/storetest"},
	"sweep/ingest":   {"sweep/tables", "sweep/archive", "sweep/dispatch", "sweep/dispatch/storetest", "sweep/config"},
}

func TestEveryPackageHasAComment(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			documented[s.folder] = documented[s.folder] || s.file.Doc != nil
		} else if _, ok := documented[s.folder]; !ok && s.file.Doc != nil {
			documented[s.folder] = true
		}
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment", folder)
		}
	}
}

func TestNoCatchAllPackages(t *testing.T) {
	for _, s := range sources(t) {
		for _, word := range strings.Split(s.folder, "/") {
			if slices.Contains([]string{"util", "utils", "common", "model", "helper", "helpers", "types"}, word) {
				t.Errorf("%s: a package is called for what it is about, not %q", s.name, word)
			}
		}
	}
}

func TestOnlyMainReadsTheEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || path.Base(s.name) == "main.go" {
			continue
		}
		b, err := os.ReadFile(s.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"os.Getenv(", "os.LookupEnv(", "os.Environ("} {
			if strings.Contains(string(b), call) {
				t.Errorf("%s calls %s…): only a program's main.go reads the environment", s.name, call)
			}
		}
	}
}
