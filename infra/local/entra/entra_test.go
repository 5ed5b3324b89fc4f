package entra

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

const clientID = "11111111-2222-3333-4444-555555555555"

var everything = []string{"ensure", "write-blob", "read-blob", "write-row", "read-rows", "poll", "deliver", "inbox"}

func TestRowsAndBlobsAreReachedByAManagedIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		env           []string
		form, version string
		header        string
	}{
		"app service":     {cloud.AppService(clientID), "appservice", "2019-08-01", Secret},
		"virtual machine": {cloud.VirtualMachine(clientID), "imds", "2018-02-01", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud.Behave(Behaviour{})
			environment := "id" + c.form[:2]
			steps := programs(t, environment, c.env, everything...)
			want := map[string]string{"read-blob": "version: 1\n", "read-rows": fmt.Sprint([]time.Time{slot}), "inbox": "1"}
			for _, s := range steps {
				if s.Error != "" || s.Got != want[s.Name] {
					t.Errorf("%s gave %q, want %q; error %q", s.Name, s.Got, want[s.Name], s.Error)
				}
			}
			requests := cloud.Requests()
			if len(requests) == 0 {
				t.Fatal("no token was asked for")
			}
			for _, r := range requests {
				if r != (Request{Form: c.form, Resource: "https://storage.azure.com", ClientID: clientID, Header: c.header, Version: c.version}) {
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
	cloud.Behave(Behaviour{Lifetime: 3 * time.Second})
	steps := programs(t, "refresh", cloud.AppService(clientID), "ensure", "write-blob", "write-row", "wait", "read-blob", "read-rows")
	for _, s := range steps {
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
	}
	if n := len(cloud.Requests()); n < 4 {
		t.Errorf("%d tokens were asked for: none again after the first ended", n)
	}
}

func TestStorageThatRefusesTheIdentityIsToldWithTheRemedy(t *testing.T) {
	cloud.Behave(Behaviour{})
	programs(t, "denied", cloud.AppService(clientID), "ensure")
	cloud.Behave(Behaviour{Audience: "https://management.azure.com"})
	for _, s := range programs(t, "denied", cloud.AppService(clientID), "write-blob", "read-blob", "write-row", "read-rows", "poll", "deliver") {
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
		env       []string
		want      string
	}{
		"nobody listens":     {Behaviour{}, instead(cloud.AppService(clientID), "IDENTITY_ENDPOINT", "http://127.0.0.1:1/msi/token"), "connection refused"},
		"it fails":           {Behaviour{Status: 500}, cloud.AppService(clientID), "no identity today"},
		"it stays silent":    {Behaviour{Silent: true}, cloud.AppService(clientID), "deadline exceeded"},
		"a wrong header":     {Behaviour{}, instead(cloud.AppService(clientID), "IDENTITY_HEADER", "wrong"), "RESPONSE 401"},
		"the IMDS is silent": {Behaviour{Silent: true}, cloud.VirtualMachine(clientID), "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud.Behave(c.behaviour)
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
