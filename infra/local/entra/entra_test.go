package entra

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

// identity is a client id for one test alone.
func identity(n int) string { return fmt.Sprintf("11111111-2222-3333-4444-%012d", n) }

var everything = []string{"ensure", "write-blob", "read-blob", "write-row", "read-rows", "poll", "deliver", "inbox"}

func TestRowsAndBlobsAreReachedByAManagedIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		env           []string
		form, version string
		id, header    string
	}{
		"app service":     {cloud.AppService(identity(1)), "appservice", "2019-08-01", identity(1), Secret},
		"virtual machine": {cloud.VirtualMachine(identity(2)), "imds", "2018-02-01", identity(2), "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := "id" + c.form[:2]
			steps := programs(t, environment, c.env, everything...)
			want := map[string]string{"read-blob": "version: 1\n", "read-rows": fmt.Sprint([]time.Time{slot}), "inbox": "1"}
			for _, s := range steps {
				if s.Error != "" || s.Got != want[s.Name] {
					t.Errorf("%s gave %q, want %q; error %q", s.Name, s.Got, want[s.Name], s.Error)
				}
			}
			requests := cloud.Requests(c.id)
			if len(requests) == 0 {
				t.Fatal("no token was asked for")
			}
			for _, r := range requests {
				if r != (Request{Form: c.form, Resource: "https://storage.azure.com", ClientID: c.id, Header: c.header, Version: c.version}) {
					t.Errorf("asked for %+v", r)
				}
			}
			// A token serves until it nears its end: there is one for each client at the most.
			if most := 5; len(requests) > most {
				t.Errorf("%d requests for tokens, want at most %d", len(requests), most)
			}
		})
	}
}

func TestATokenIsRefreshedWhenItEnds(t *testing.T) {
	t.Parallel()
	id := identity(3)
	cloud.Behave(id, Behaviour{Lifetime: 3 * time.Second})
	steps := programs(t, "refresh", cloud.AppService(id), "ensure", "write-blob", "write-row", "wait", "read-blob", "read-rows")
	for _, s := range steps {
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
	}
	if n := len(cloud.Requests(id)); n < 4 {
		t.Errorf("%d tokens were asked for: none again after the first ended", n)
	}
}

func TestStorageThatRefusesTheIdentityIsToldWithTheRemedy(t *testing.T) {
	t.Parallel()
	id := identity(4)
	programs(t, "denied", cloud.AppService(id), "ensure")
	cloud.Behave(id, Behaviour{Audience: "https://management.azure.com"})
	for _, s := range programs(t, "denied", cloud.AppService(id), "write-blob", "read-blob", "write-row", "read-rows", "poll", "deliver") {
		for _, want := range []string{"AuthenticationFailed", "storage does not accept the token or key", "tenant"} {
			if !strings.Contains(s.Error, want) {
				t.Errorf("%s: %q does not say %q", s.Name, s.Error, want)
			}
		}
		if strings.Contains(s.Error, "\n") || len(s.Error) > 700 {
			t.Errorf("%s: the error is a page of its own:\n%s", s.Name, s.Error)
		}
		if s.Took > 30*time.Second {
			t.Errorf("%s took %s to fail", s.Name, s.Took)
		}
	}
}

// instead is an environment with one setting of it changed.
func instead(env []string, name, value string) []string {
	out := slices.Clone(env)
	i := slices.IndexFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	out[i] = name + "=" + value
	return out
}

func TestAnIdentityThatGivesNoTokenIsToldWithTheRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		behaviour Behaviour
		id        string
		env       []string
		want      string
	}{
		"nobody listens":     {Behaviour{}, identity(10), instead(cloud.AppService(identity(10)), "IDENTITY_ENDPOINT", "http://127.0.0.1:1/msi/token"), "connection refused"},
		"it fails":           {Behaviour{Status: 500}, identity(11), cloud.AppService(identity(11)), "no identity today"},
		"it stays silent":    {Behaviour{Silent: true}, identity(12), cloud.AppService(identity(12)), "deadline exceeded"},
		"a wrong header":     {Behaviour{}, identity(13), instead(cloud.AppService(identity(13)), "IDENTITY_HEADER", "wrong"), "RESPONSE 401"},
		"the IMDS is silent": {Behaviour{Silent: true}, identity(14), cloud.VirtualMachine(identity(14)), "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud.Behave(c.id, c.behaviour)
			for _, s := range programs(t, "dead", c.env, "read-blob", "read-rows", "poll") {
				for _, want := range []string{"getting a token for storage account", c.want, "assign a managed identity", account.EnvClientID} {
					if !strings.Contains(s.Error, want) {
						t.Errorf("%s: %q does not say %q", s.Name, s.Error, want)
					}
				}
				if strings.Contains(s.Error, "\n") {
					t.Errorf("%s: the error is a page of its own:\n%s", s.Name, s.Error)
				}
				if s.Took > 30*time.Second {
					t.Errorf("%s took %s to fail", s.Name, s.Took)
				}
			}
		})
	}
}
