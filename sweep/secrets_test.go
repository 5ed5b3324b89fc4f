package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire/account"
)

// What the command line must never say.
const (
	secretKey    = "c2VjcmV0LWFjY291bnQta2V5LTRhN2Y=" // base64, as account keys are
	secretSAS    = "secretSignature9d21"
	secretHeader = "secretIdentityHeader31c6"
)

// everyCommand asks storage something by each command that does.
func everyCommand(t *testing.T) [][]string {
	t.Helper()
	document := filepath.Join("convert", "foreign", "testdata", "mtr", "hops.json")
	if _, err := os.Stat(document); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "sweep.yaml")
	if err := os.WriteFile(config, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return [][]string{
		{"config", "push", config}, {"config", "show"}, {"matrix"}, {"matrix", "--json"}, {"runs", "--since", "24h"}, {"status"}, {"status", "--json"},
		{"compare", "--since", "24h"}, {"quarantine", "list"}, {"quarantine", "show", "abcdef"}, {"replay", "--from", "2026-11-01"}, {"rollup"},
		{"convert", document, "--store", "--source", "westeurope", "--target", "northeurope", "--path", "peering", "--at", "2026-11-29T10:00:00Z"},
		{"runs", "--nonsense"}, {"version"}, {"help"},
	}
}

func TestNoCommandSaysASecret(t *testing.T) {
	real, environment := azuritetest.Environment(t)
	const away = "BlobEndpoint=http://127.0.0.1:1/acc;TableEndpoint=http://127.0.0.1:1/acc;"
	const silent = "BlobEndpoint=http://127.0.0.1:1/acc?sig=" + secretSAS + ";TableEndpoint=http://127.0.0.1:1/acc?sig=" + secretSAS + ";"
	_, rest, _ := strings.Cut(real.ConnectionString, "AccountKey=")
	_, rest, _ = strings.Cut(rest, ";")
	for what, connection := range map[string]string{
		"storage answers":                       real.ConnectionString,
		"storage refuses the key":               "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" + secretKey + ";" + rest,
		"storage refuses the signature":         strings.ReplaceAll(rest, ";;", ";") + "SharedAccessSignature=sv=2020-10-02&ss=bt&srt=sco&sp=rwdlac&se=2999-01-01T00:00:00Z&sig=" + secretSAS,
		"a key, storage away":                   "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=" + secretKey + ";" + away,
		"a signature, storage away":             away + "SharedAccessSignature=sv=2020-10-02&sig=" + secretSAS,
		"a signature in the endpoint":           "AccountName=acc;AccountKey=" + secretKey + ";" + silent,
		"a key that is none":                    "AccountName=acc;AccountKey=!" + secretKey + ";" + away,
		"a connection string without structure": "AccountKey " + secretKey + " " + secretSAS,
		"a URL in place of it":                  "https://acc.blob.core.windows.net/?sv=1&sig=" + secretSAS,
		"an endpoint that is none":              "AccountName=acc;AccountKey=" + secretKey + ";BlobEndpoint=http://127.0.0.1:port/acc?sig=" + secretSAS + ";TableEndpoint=http://[::1/acc?sig=" + secretSAS + ";",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{account.EnvConnectionString: connection, account.EnvEnvironment: environment, "IDENTITY_HEADER": secretHeader}
			secrets := []string{secretKey, strings.TrimRight(secretKey, "="), secretSAS, secretHeader}
			if _, key, ok := strings.Cut(real.ConnectionString, "AccountKey="); ok {
				key, _, _ = strings.Cut(key, ";")
				secrets = append(secrets, key)
			}
			said := 0
			for _, args := range everyCommand(t) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				var out bytes.Buffer
				run(ctx, append(args, "--timeout", "1s"), environ{get: func(name string) string { return env[name] }, stdin: os.Stdin, now: time.Now}, &out, &out)
				cancel()
				said += out.Len()
				for _, secret := range secrets {
					if strings.Contains(out.String(), secret) {
						t.Errorf("sweep %s says %s:\n%.1500s", strings.Join(args, " "), secret, &out)
					}
				}
			}
			if said == 0 {
				t.Error("no command said anything")
			}
		})
	}
}
