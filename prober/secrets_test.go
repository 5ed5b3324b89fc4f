package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// What a prober must never say.
const (
	secretKey    = "c2VjcmV0LWFjY291bnQta2V5LTRhN2Y=" // base64, as account keys are
	secretSAS    = "secretSignature9d21"
	secretHeader = "secretIdentityHeader31c6"
)

// keepsSecrets looks for secrets in a text, and for keys in each form in which one is printed.
func keepsSecrets(t *testing.T, what, text string, keys ...wire.Key) {
	t.Helper()
	secrets := []string{secretKey, strings.TrimRight(secretKey, "="), secretSAS, secretHeader}
	for _, k := range keys {
		secrets = append(secrets, hex.EncodeToString(k[:]), base64.StdEncoding.EncodeToString(k[:]), base64.RawURLEncoding.EncodeToString(k[:]),
			strings.Trim(fmt.Sprint(k[:]), "[]"), fmt.Sprintf("%X", k[:]))
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%s: it says %s:\n%.2000s", what, secret, text)
		}
	}
}

func TestAProberSaysNoKeyOfASession(t *testing.T) {
	x := newExchange(t)
	source, target := startProcess(t, x.account, x.environment, "westeurope"), startProcess(t, x.account, x.environment, "northeurope")
	for _, p := range []*process{source, target} {
		x.registered(t, p.id)
	}
	spec := wire.Spec{Kind: wire.KindTCP, Count: 3, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 64}
	start := time.Now().UTC().Add(2 * time.Second)
	good, session := x.assign(t, "westeurope", "northeurope", "good", spec, start)
	bad, unknown := x.assign(t, "westeurope", "northeurope", "bad", spec, start) // the target is not told of it
	spec.Kind = "smoke-signals"
	strange, _ := x.assign(t, "westeurope", "northeurope", "strange", spec, start)
	x.write(t, "northeurope", nil, []wire.Session{session})
	x.write(t, "westeurope", []wire.Assignment{good, bad, strange}, nil)
	eventually(t, "the three documents", func() bool { return len(x.list(wire.InboxContainer(x.environment))) >= 3 })
	x.put(wire.AssignmentsContainer(x.environment), wire.CurrentBlob("westeurope"), []byte(`{"version":1,"sessions":[{"key":"`+hex.EncodeToString(session.Key[:])))
	eventually(t, "a complaint about what cannot be read", func() bool { return strings.Contains(source.out.String(), "unexpected end of JSON input") })

	keys := []wire.Key{x.seed, session.Key, unknown.Key}
	_, key, _ := strings.Cut(x.account.ConnectionString, "AccountKey=")
	key, _, _ = strings.Cut(key, ";")
	for _, p := range []*process{source, target} {
		_, metrics := p.local(t, "/metrics")
		_, ready := p.local(t, "/readyz")
		p.exit(t)
		text := p.out.String() + metrics + ready
		keepsSecrets(t, p.id, text, keys...)
		if strings.Contains(text, key) {
			t.Errorf("%s says the account's key:\n%s", p.id, text)
		}
	}
	for _, name := range x.list(wire.InboxContainer(x.environment)) {
		keepsSecrets(t, name, fmt.Sprintf("%+v", x.document(t, name)), keys...)
	}
}

func TestAProberSaysNoSecretOfItsStorage(t *testing.T) {
	const away = "BlobEndpoint=http://127.0.0.1:1/acc;TableEndpoint=http://127.0.0.1:1/acc;"
	for what, connection := range map[string]string{
		"a key, storage away":                   "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=" + secretKey + ";" + away,
		"a signature, storage away":             away + "SharedAccessSignature=sv=2020-10-02&sig=" + secretSAS,
		"a signature in the endpoint":           "AccountName=acc;AccountKey=" + secretKey + ";BlobEndpoint=http://127.0.0.1:1/acc?sig=" + secretSAS + ";",
		"a key that is none":                    "AccountName=acc;AccountKey=!" + secretKey + ";" + away,
		"a connection string without structure": "AccountKey " + secretKey + " " + secretSAS,
		"a URL in place of it":                  "https://acc.blob.core.windows.net/?sv=1&sig=" + secretSAS,
		"an endpoint that is none":              "AccountName=acc;AccountKey=" + secretKey + ";BlobEndpoint=http://127.0.0.1:port/acc?sig=" + secretSAS + ";",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, account.Account{ConnectionString: connection}, "dev", "westeurope")
			eventually(t, "nothing failed", func() bool {
				return strings.Contains(p.out.String(), "polling failed") && strings.Contains(p.out.String(), "heartbeat failed") || len(p.code) > 0
			})
			p.exit(t)
			keepsSecrets(t, what, p.out.String())
		})
		env := map[string]string{account.EnvConnectionString: connection, account.EnvAccountName: "acc", account.EnvEnvironment: "dev", "IDENTITY_HEADER": secretHeader}
		var out bytes.Buffer
		if code := run(context.Background(), nil, func(name string) string { return env[name] }, &out, &out); code != exitUsage {
			t.Errorf("%s: exit code %d for settings that contradict each other", what, code)
		}
		keepsSecrets(t, what+", refused settings", out.String())
	}
}
