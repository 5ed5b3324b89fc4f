package azuritetest

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/prober/wire/account"
)

// Upload writes a blob as a prober would, for tests of packages that may not import azblob.
func Upload(t testing.TB, a account.Account, container, name string, body []byte) {
	t.Helper()
	client, err := azblob.NewClientFromConnectionString(a.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.UploadBuffer(t.Context(), container, name, body, nil); err != nil {
		t.Fatalf("uploading %q to %q: %v", name, container, err)
	}
}
