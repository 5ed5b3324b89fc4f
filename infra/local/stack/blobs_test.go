package stack_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"isochrone/infra/local/stack"
)

// blobs returns the names and bodies of a container's blobs under a prefix, read past the
// project's own code.
func blobs(t *testing.T, s *stack.Stack, container, prefix string) map[string][]byte {
	t.Helper()
	client, err := azblob.NewClientFromConnectionString(s.Account().ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	pages := client.NewListBlobsFlatPager(container, &azblob.ListBlobsFlatOptions{Prefix: &prefix})
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Segment.BlobItems {
			got, err := client.DownloadStream(t.Context(), container, *b.Name, nil)
			if bloberror.HasCode(err, bloberror.BlobNotFound) {
				continue // gone since it was listed
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			_ = got.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			out[*b.Name] = body
		}
	}
	return out
}

func upload(ctx context.Context, s *stack.Stack, container, name string, body []byte) error {
	client, err := azblob.NewClientFromConnectionString(s.Account().ConnectionString, nil)
	if err != nil {
		return err
	}
	_, err = client.UploadBuffer(ctx, container, name, body, nil)
	return err
}

// duck is what DuckDB finds in a folder of Parquet files.
type duck struct {
	Rows     int64 `json:"rows"`
	Received int64 `json:"received"`
	SumNS    int64 `json:"sum_ns"`
	Targets  int64 `json:"targets"`
}

func readWithDuckDB(t *testing.T, files map[string][]byte) duck {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "duckdb.js"), filepath.Join(built.root, "infra", "local", "node_modules"), dir)
	cmd.Stderr = testLog{t}
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("reading the Parquet files with DuckDB: %v", err)
	}
	var d duck
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatalf("DuckDB printed %q: %v", raw, err)
	}
	return d
}
