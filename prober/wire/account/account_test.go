package account

import (
	"strings"
	"testing"
)

func TestSettingsOfAnAccount(t *testing.T) {
	for _, c := range []struct {
		name, connection, account string
		want                      string // of the error; empty: accepted
	}{
		{"a connection string", "AccountName=x", "", ""},
		{"a name", "", "isochrone1", ""},
		{"neither", "", "", "no storage account: set ISOCHRONE_STORAGE_CONNECTION_STRING"},
		{"both", "AccountName=x", "isochrone1", "keep one"},
		{"the shortcut", "UseDevelopmentStorage=true", "", "write the whole connection string"},
		{"endpoints", "AccountName=x;BlobEndpoint=http://127.0.0.1:1/x;TableEndpoint=https://x.table.core.windows.net;", "", ""},
		{"an endpoint that is none", "AccountName=x;BlobEndpoint=http://127.0.0.1:port/x", "", "BlobEndpoint is not a URL"},
		{"an endpoint without a scheme", "AccountName=x;TableEndpoint=x.table.core.windows.net", "", "TableEndpoint is not a URL"},
		{"an endpoint with a signature", "AccountName=x;BlobEndpoint=https://x.blob.core.windows.net?sig=SECRET", "", "belongs into SharedAccessSignature"},
		{"a name that leads elsewhere", "", "evil.example.com/", "is not a storage account's name"},
		{"a name with capitals", "", "Isochrone", "is not a storage account's name"},
	} {
		a, err := FromEnv(func(name string) string {
			return map[string]string{EnvConnectionString: c.connection, EnvAccountName: c.account}[name]
		})
		switch {
		case c.want == "" && (err != nil || a.ConnectionString != c.connection || a.Name != c.account):
			t.Errorf("%s: %+v, %v", c.name, a, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestEndpointsOfANamedAccount(t *testing.T) {
	a := Account{Name: "isochrone1"}
	if got := a.BlobURL(); got != "https://isochrone1.blob.core.windows.net/" {
		t.Error(got)
	}
	if got := a.TableURL(); got != "https://isochrone1.table.core.windows.net/" {
		t.Error(got)
	}
}

func TestAConnectionStringHasNoIdentity(t *testing.T) {
	if _, err := (Account{ConnectionString: "x"}).Credential(); err == nil {
		t.Error("an identity was found for a connection string")
	}
}
