package archive

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
)

// What an engine that is not ours counts, sums and finds at the 99th percentile in the lake is what it finds in the
// raw files; the probe comes from the path.
func TestDuckDBReadsTheSameFromTheLakeAsFromTheRawFiles(t *testing.T) {
	root, err := azuritetest.Root()
	must(t, err)
	dir := t.TempDir()
	files := dayFiles(t, 16, 1500)
	for id, body := range files {
		must(t, os.WriteFile(filepath.Join(dir, id+".parquet"), body, 0o600))
	}
	lake := filepath.Join(dir, "lake", "src=westeurope", "date=2026-11-30", "probe=tcp-64")
	must(t, os.MkdirAll(lake, 0o700))
	must(t, os.WriteFile(filepath.Join(lake, lakeFile), mergeAll(t, files, idsOf(files)), 0o600))
	cmd := exec.CommandContext(background(t), "node", "testdata/duckdb_lake.js", filepath.Join(root, "infra/local/node_modules"),
		filepath.Join(dir, "*.parquet"), filepath.Join(dir, "lake/*/*/*/*.parquet"), "order")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("asking DuckDB: %v\n%s", err, stderr.String())
	}
	var got struct {
		Raw, Lake []map[string]any
		Order     struct{ Wrong string }
	}
	must(t, json.Unmarshal(out, &got))
	if d := cmp.Diff(got.Raw, got.Lake); d != "" || len(got.Raw) != 1 || got.Raw[0]["rtt_p99"] == nil || got.Order.Wrong != "0" {
		t.Errorf("-raw +lake:\n%s\n%s", d, out)
	}
	want := 0
	for _, body := range files {
		rows, err := DecodeSamples(body)
		must(t, err)
		want += len(rows)
	}
	if n := openLake(t, mergeAll(t, files, idsOf(files))).Rows; int(n) != want || want < 90_000 {
		t.Errorf("%d rows, want %d", n, want)
	}
}
