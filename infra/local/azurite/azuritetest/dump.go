package azuritetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/prober/wire/account"
)

// Dump is all that an environment's containers and tables hold: the hash of each blob, and each entity
// as JSON, by name. Time stamps and ETags are left out, so that two dumps are equal exactly when
// nothing but these differs.
func Dump(t testing.TB, a account.Account, environment string) map[string]string {
	t.Helper()
	out := map[string]string{}
	dumpBlobs(t, a, environment, out)
	dumpTables(t, a, environment, out)
	return out
}

func dumpBlobs(t testing.TB, a account.Account, environment string, out map[string]string) {
	t.Helper()
	client, err := azblob.NewClientFromConnectionString(a.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	for containers := client.NewListContainersPager(nil); containers.More(); {
		page, err := containers.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.ContainerItems {
			if !strings.HasSuffix(*c.Name, "-"+environment) {
				continue
			}
			for blobs := client.NewListBlobsFlatPager(*c.Name, nil); blobs.More(); {
				page, err := blobs.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range page.Segment.BlobItems {
					got, err := client.DownloadStream(t.Context(), *c.Name, *b.Name, nil)
					if err != nil {
						t.Fatal(err)
					}
					h := sha256.New()
					_, err = io.Copy(h, got.Body)
					_ = got.Body.Close() // read to its end
					if err != nil {
						t.Fatal(err)
					}
					out["blob "+*c.Name+"/"+*b.Name] = fmt.Sprintf("%x %s", h.Sum(nil), *got.ContentType)
				}
			}
		}
	}
}

func dumpTables(t testing.TB, a account.Account, environment string, out map[string]string) {
	t.Helper()
	service, err := aztables.NewServiceClientFromConnectionString(a.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	for tables := service.NewListTablesPager(nil); tables.More(); {
		page, err := tables.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range page.Tables {
			if !strings.Contains(*table.Name, environment) {
				continue
			}
			for rows := service.NewClient(*table.Name).NewListEntitiesPager(nil); rows.More(); {
				page, err := rows.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, body := range page.Entities {
					name, text := entity(t, body)
					out["row "+*table.Name+" "+name] = text
				}
			}
		}
	}
}

// entity is a row's keys, and its properties with their types.
func entity(t testing.TB, body []byte) (name, text string) {
	t.Helper()
	var properties map[string]any
	if err := json.Unmarshal(body, &properties); err != nil {
		t.Fatal(err)
	}
	for key := range properties {
		if strings.HasPrefix(key, "Timestamp") || strings.HasPrefix(key, "odata.") {
			delete(properties, key)
		}
	}
	sorted, err := json.Marshal(properties)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(properties["PartitionKey"], " ", properties["RowKey"]), string(sorted)
}

// Change changes properties of a stored row, or adds some, behind the back of the packages that keep it.
func Change(t testing.TB, a account.Account, table, partition, row string, properties map[string]any) {
	t.Helper()
	if err := ChangeRow(t.Context(), a, table, partition, row, properties); err != nil {
		t.Fatal(err)
	}
}

// ChangeRow is Change where there is no testing.TB.
func ChangeRow(ctx context.Context, a account.Account, table, partition, row string, properties map[string]any) error {
	service, err := aztables.NewServiceClientFromConnectionString(a.ConnectionString, nil)
	if err != nil {
		return err
	}
	entity := map[string]any{"PartitionKey": partition, "RowKey": row}
	maps.Copy(entity, properties)
	body, err := json.Marshal(entity)
	if err != nil {
		return err
	}
	if _, err := service.NewClient(table).UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge}); err != nil {
		return fmt.Errorf("changing row %q %q of table %q: %w", partition, row, table, err)
	}
	return nil
}

// Delete deletes a row of a table, likewise.
func Delete(t testing.TB, a account.Account, table, partition, row string) {
	t.Helper()
	service, err := aztables.NewServiceClientFromConnectionString(a.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.NewClient(table).DeleteEntity(t.Context(), partition, row, nil); err != nil {
		t.Fatalf("deleting row %q %q of table %q: %v", partition, row, table, err)
	}
}
