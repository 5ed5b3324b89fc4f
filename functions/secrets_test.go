package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

// What the app must never say, each recognisable wherever it comes out.
const (
	secretKey    = "c2VjcmV0LWFjY291bnQta2V5LTRhN2Y=" // base64, as account keys are
	secretSAS    = "secretSignature9d21"
	secretCode   = "secretFunctionKey77b0"
	secretHeader = "secretIdentityHeader31c6"
)

// refusedStorages are connection strings that hold a secret and that no program starts with.
func refusedStorages() map[string]string {
	return map[string]string{
		"a signature in the endpoint": "AccountName=acc;AccountKey=" + secretKey + ";BlobEndpoint=http://127.0.0.1:1/acc?sig=" + secretSAS + ";TableEndpoint=http://127.0.0.1:1/acc?sig=" + secretSAS + ";",
		"an endpoint that is none":    "AccountName=acc;AccountKey=" + secretKey + ";BlobEndpoint=http://127.0.0.1:port/acc?sig=" + secretSAS + ";TableEndpoint=http://[::1/acc?sig=" + secretSAS + ";",
		"the shortcut":                "UseDevelopmentStorage=true",
	}
}

// storages are connection strings that hold a secret, to which nobody answers or that nobody can read.
func storages() map[string]string {
	const away = "BlobEndpoint=http://127.0.0.1:1/acc;TableEndpoint=http://127.0.0.1:1/acc;"
	return map[string]string{
		"a key, storage away":                   "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=" + secretKey + ";" + away,
		"a signature, storage away":             away + "SharedAccessSignature=sv=2020-10-02&sig=" + secretSAS,
		"a key that is none":                    "AccountName=acc;AccountKey=!" + secretKey + ";" + away,
		"a connection string without structure": "AccountKey " + secretKey + " " + secretSAS,
		"a URL in place of it":                  "https://acc.blob.core.windows.net/?sv=1&sig=" + secretSAS,
	}
}

func keepsSecrets(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{secretKey, strings.TrimRight(secretKey, "="), secretSAS, secretCode, secretHeader} {
		if strings.Contains(text, secret) {
			t.Errorf("%s: it says %s:\n%.2000s", what, secret, text)
		}
	}
}

// paths are requests that succeed, are refused and fail, all of them with the function's key in
// each place in which a caller can put it.
func (s stored) paths(t *testing.T, a *app, what string) {
	t.Helper()
	good := string(foreignDocument(t, s.environment))
	for _, target := range []string{"/api/results?source=westeurope&code=" + secretCode, "/api/results?code=" + secretCode + "&nonsense=1",
		"/api/results?code=" + secretCode + "&%zz", "/api/query/matrix?code=" + secretCode, "/api/query/nothing?code=" + secretCode,
		"/api/query/coverage?since=never&code=" + secretCode, "/api/query/overview?code=" + secretCode + "&%zz", "/api/dashboard?code=" + secretCode, "/api/nothing?code=" + secretCode, "/Sweep?code=" + secretCode, "/Ingest?code=" + secretCode, "/Rollup?code=" + secretCode} {
		for _, body := range []string{good, good[:len(good)/2], "", `{"Data":{"timer":{}}}`} {
			method := http.MethodPost
			if strings.HasPrefix(target, queryPath) || strings.HasPrefix(target, dashboardPath) {
				method = http.MethodGet
			}
			w := request(a, method, target, body, "x-functions-key", secretCode, "X-IDENTITY-HEADER", secretHeader, "Authorization", "Bearer "+secretCode, "Cookie", secretHeader)
			keepsSecrets(t, what+": the answer to "+target, fmt.Sprint(w.Header())+w.Body.String())
		}
	}
}

func TestTheAppSaysNoSecret(t *testing.T) {
	s := onStorage(t)
	s.configure(t)
	s.paths(t, s.app, "on storage")
	keepsSecrets(t, "the log on storage", s.log.String())
	if !strings.Contains(s.log.String(), "invocation") {
		t.Fatalf("nothing was logged that could hold a secret:\n%s", s.log)
	}
	for what, connection := range storages() {
		t.Run(what, func(t *testing.T) {
			log := &bytes.Buffer{}
			a := newApp(settings{Environment: s.environment, Account: account.Account{ConnectionString: connection}, Sweep: s.app.settings.Sweep, Timeout: 700 * time.Millisecond},
				time.Now, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			s := s
			s.log = log
			s.paths(t, a, what)
			keepsSecrets(t, "the log", log.String())
			if !strings.Contains(log.String(), "invocation failed") {
				t.Errorf("nothing failed:\n%s", log)
			}
		})
	}
}

func TestTheAppsSettingsAreRefusedWithoutTheirSecrets(t *testing.T) {
	refused := refusedStorages()
	maps.Copy(refused, storages())
	for what, connection := range refused {
		for _, name := range []string{"acc", ""} { // beside an account's name it contradicts it
			env := map[string]string{account.EnvConnectionString: connection, account.EnvAccountName: name, account.EnvEnvironment: "dev",
				"IDENTITY_HEADER": secretHeader, envPort: "nonsense", envSweepSchedule: "0 * * * * *", envIngestSchedule: "0 * * * * *", envRollupSchedule: "0 * * * * *"}
			var out bytes.Buffer
			if code := run(context.Background(), nil, func(name string) string { return env[name] }, &out, &out); code != 1 {
				t.Errorf("%s: exit code %d", what, code)
			}
			if _, never := refusedStorages()[what]; never && !strings.Contains(out.String(), account.EnvConnectionString) {
				t.Errorf("%s: the setting is not named:\n%s", what, &out)
			}
			keepsSecrets(t, what, out.String())
		}
	}
}
