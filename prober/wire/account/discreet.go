package account

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Discreet takes the query out of the URLs in a client's errors: with a shared access signature
// the query is the secret, and errors are logged. Every client of the account is to have it among
// its PerCallPolicies.
var Discreet policy.Policy = discreet{}

type discreet struct{}

func (discreet) Do(r *policy.Request) (*http.Response, error) {
	response, err := r.Next()
	var failed *url.Error
	if errors.As(err, &failed) {
		failed.URL, _, _ = strings.Cut(failed.URL, "?")
	}
	return response, err
}

// checkEndpoints refuses endpoints of a connection string that the SDK would repeat, signature
// and all, in an error about the first request. Itself it repeats none.
func checkEndpoints(connection string) error {
	for part := range strings.SplitSeq(connection, ";") {
		name, value, _ := strings.Cut(part, "=")
		if !strings.HasSuffix(strings.ToLower(strings.TrimSpace(name)), "endpoint") {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(value))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return fmt.Errorf("%s: its %s is not a URL: want one such as https://NAME.blob.core.windows.net", EnvConnectionString, name)
		case u.RawQuery != "" || u.User != nil:
			return fmt.Errorf("%s: its %s holds more than a place: a signature belongs into SharedAccessSignature", EnvConnectionString, name)
		}
	}
	return nil
}
