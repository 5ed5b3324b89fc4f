package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/convert"
	"isochrone/sweep/tables"
)

var update = flag.Bool("update", false, "write the generated parts of docs/formats.md")

// generated returns the parts of docs/formats.md that are held against the code, by name.
func generated(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"columns": columnsTable(tables.Columns()), "hours": columnsTable(tables.HourColumns()), "profiles": columnsTable(tables.ProfileColumns()), "alerts": columnsTable(tables.AlertColumns()),
		"parquet": parquetColumns(t), "intervals": intervalColumns(t), "lake": lakeColumns(t)}
}

func columnsTable(columns []tables.Column) string {
	var out strings.Builder
	out.WriteString("| column | type | unit | meaning |\n|---|---|---|---|\n")
	for _, c := range columns {
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", c.Name, strings.TrimPrefix(string(c.Type), "Edm."), c.Unit, strings.ReplaceAll(c.Meaning, "|", `\|`))
	}
	return out.String()
}

// docsFile reads a file of the docs folder.
func docsFile(t *testing.T, file string) (name, text string) {
	t.Helper()
	root, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(root, "docs", file)
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, string(raw)
}

func exampleDocument(t *testing.T) *wire.Document {
	t.Helper()
	_, body := docsFile(t, "example-document.json")
	d, err := convert.Document([]byte(body))
	if err != nil {
		t.Fatalf("docs/example-document.json: %v", err)
	}
	return d
}

func parquetColumns(t *testing.T) string {
	t.Helper()
	d := exampleDocument(t)
	rs, err := convert.Results(d, convert.Identity{Environment: d.Environment, Source: d.Source, Probe: d.Probe, Slot: d.Slot, Assignment: d.Assignment, Attempt: d.Attempt})
	if err != nil {
		t.Fatal(err)
	}
	file, _, err := archive.EncodeSamples(rs)
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, file)
}

func intervalColumns(t *testing.T) string {
	t.Helper()
	file, _, err := archive.EncodeIntervals(nil)
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, file)
}

func lakeColumns(t *testing.T) string {
	t.Helper()
	body, err := archive.LakeSchema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Partitions, Columns []struct {
			Name, Type, Description string
			Nullable                bool
			Unit                    *string
		}
	}
	if err := json.Unmarshal(body, &schema); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("| column | type | null | unit | meaning |\n|---|---|---|---|---|\n")
	for i, c := range append(schema.Partitions, schema.Columns...) {
		null, unit, where := "never", "", ""
		if c.Nullable {
			null = "where absent"
		}
		if c.Unit != nil {
			unit = *c.Unit
		}
		if i < len(schema.Partitions) {
			where = " (in the path alone)"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s%s |\n", c.Name, c.Type, null, unit, c.Description, where)
	}
	return out.String()
}

// schemaOf is the table of a Parquet file's columns.
func schemaOf(t *testing.T, file []byte) string {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("| column | type | null |\n|---|---|---|\n")
	for _, field := range f.Schema().Fields() {
		null := "never"
		if field.Optional() {
			null = "where absent"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", field.Name(), field.Type(), null)
	}
	return out.String()
}

func TestFormatsPageIsWhatTheCodeWrites(t *testing.T) {
	name, page := docsFile(t, "formats.md")
	for part, want := range generated(t) {
		between := regexp.MustCompile(`(?s)(<!-- ` + part + `: held against the code by a test -->\n)(.*?)(<!-- end of ` + part + ` -->)`)
		m := between.FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("docs/formats.md has no part %q", part)
		}
		if m[2] == want {
			continue
		}
		if !*update {
			t.Errorf("docs/formats.md, %s: go test ./infra/local -run FormatsPage -update writes\n%s", part, want)
		}
		page = between.ReplaceAllLiteralString(page, m[1]+want+m[3])
	}
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFormatsPageListsEveryFailureCode(t *testing.T) {
	_, page := docsFile(t, "formats.md")
	var listed []string
	_, rest, _ := strings.Cut(page, "### Failure codes")
	section, _, _ := strings.Cut(rest, "###")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	var want []string
	for _, f := range wire.Failures() {
		want = append(want, string(f))
	}
	if strings.Join(listed, " ") != strings.Join(want, " ") {
		t.Errorf("docs/formats.md lists the codes %q, the code has %q", listed, want)
	}
}

// The page gives the values of the example; a reader may check a program of their own with it.
func TestExampleDocumentIsValid(t *testing.T) {
	d := exampleDocument(t)
	if want := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC); !d.Slot.Equal(want) || d.Assignment != wire.AssignmentID(d.Environment, d.Slot, d.Source, d.Probe, d.Part) {
		t.Errorf("the example is of slot %s and assignment %s: its id does not follow from its names", d.Slot, d.Assignment)
	}
}
