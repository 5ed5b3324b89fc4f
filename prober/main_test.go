package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func command(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(context.Background(), args, func(string) string { return "" }, &out, &err)
	return code, out.String(), err.String()
}

func TestCommands(t *testing.T) {
	if code, out, _ := command("version"); code != exitOK || out != "dev\n" {
		t.Errorf("version: %d, %q", code, out)
	}
	if code, out, _ := command("--version"); code != exitOK || out != "dev\n" {
		t.Errorf("--version: %d, %q", code, out)
	}
	for _, name := range []string{"help", "-h", "--help", "run --help", "run -h", "version --help", "help --help"} {
		if code, out, _ := command(strings.Fields(name)...); code != exitOK || !strings.HasPrefix(out, "Usage: prober") {
			t.Errorf("%s: %d, %q", name, code, out)
		}
	}
	if code, out, err := command("measure"); code != exitUsage || out != "" || !strings.Contains(err, `unknown command "measure"; want run, ping, bandwidth, load, saturate, stream, reflect, version or help`) {
		t.Errorf("an unknown command: %d, %q, %q", code, out, err)
	}
	if code, out, err := command("--versions"); code != exitUsage || out != "" || !strings.Contains(err, "unknown flag: --versions") {
		t.Errorf("an unknown flag: %d, %q, %q", code, out, err)
	}
	for _, name := range []string{"ping", "bandwidth", "load", "saturate", "stream", "reflect"} {
		for _, args := range [][]string{{"help", name}, {name, "--help"}, {name, "-h"}} {
			if code, out, _ := command(args...); code != exitOK || !strings.Contains(out, "prober "+name) || !strings.Contains(out, "Exit codes: 0") {
				t.Errorf("%q: %d, %q", args, code, out)
			}
		}
	}
	if code, out, _ := command("__complete", "ping", "--kind", ""); code != exitOK || !strings.HasPrefix(out, "connect\ntcp\nudp\nicmp\nhttp\n") {
		t.Errorf("completing --kind: %d, %q", code, out)
	}
	if code, _, err := command("run", "now"); code != exitUsage || !strings.Contains(err, "takes no arguments") {
		t.Errorf("an argument too many: %d, %q", code, err)
	}
}

func TestEverySettingIsInTheHelp(t *testing.T) {
	for _, file := range []string{"settings.go", "spooling.go", "wire/account/account.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`"((?:ISOCHRONE|AZURE)_[A-Z_]+)"`).FindAllStringSubmatch(string(source), -1)
		if len(names) < 4 {
			t.Fatalf("%s: found only %d settings", file, len(names))
		}
		for _, name := range names {
			if !strings.Contains(help, "  "+name[1]+" ") {
				t.Errorf("%s is not in the help", name[1])
			}
		}
	}
}

func goodSettings() map[string]string {
	return map[string]string{
		"ISOCHRONE_ENVIRONMENT": "dev", "ISOCHRONE_STORAGE_CONNECTION_STRING": "AccountName=x", "ISOCHRONE_PROBER": "westeurope",
		"ISOCHRONE_ADDRESSES": "public=20.50.1.2, peering=weu.example.com",
	}
}

func TestSettingsAndTheirDefaults(t *testing.T) {
	env := goodSettings()
	s, err := readSettings(func(n string) string { return env[n] })
	if err != nil {
		t.Fatal(err)
	}
	if s.region != "westeurope" || s.listen != ":7700" || s.health != "127.0.0.1:7701" || s.poll != 5*time.Second || s.heartbeat != 30*time.Second {
		t.Errorf("defaults: %+v", s)
	}
	if len(s.addresses) != 2 || s.addresses[0] != (wire.PathAddress{Path: "public", Host: "20.50.1.2", TCPPort: 1}) || s.addresses[1].Host != "weu.example.com" {
		t.Errorf("addresses: %+v", s.addresses)
	}
	if want := (spoolSettings{bytes: 64 << 20, ttl: 168 * time.Hour, batch: 4 << 20}); s.spool != want {
		t.Errorf("spool in memory: %+v, want %+v", s.spool, want)
	}
	dir := t.TempDir()
	env["ISOCHRONE_SPOOL_DIR"], env["ISOCHRONE_SPOOL_ORDER"] = dir, "newest"
	if s, err := readSettings(func(n string) string { return env[n] }); err != nil || s.spool != (spoolSettings{dir: dir, bytes: 1 << 30, ttl: 168 * time.Hour, newestFirst: true, batch: 4 << 20}) {
		t.Errorf("spool on disk: %+v, %v", s.spool, err)
	}
	env["ISOCHRONE_PROBER"], env["ISOCHRONE_REGION"] = "westeurope-vpn", "westeurope"
	if s, err := readSettings(func(n string) string { return env[n] }); err != nil || s.region != "westeurope" || s.prober != "westeurope-vpn" {
		t.Errorf("a second prober of a region: %+v, %v", s, err)
	}
}

func TestEachBadSettingIsNamed(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"ISOCHRONE_ENVIRONMENT", "PROD", `environment "PROD"`},
		{"ISOCHRONE_STORAGE_CONNECTION_STRING", "", "no storage account"},
		{"ISOCHRONE_STORAGE_ACCOUNT", "isochrone1", "keep one"},
		{"ISOCHRONE_PROBER", "West Europe", `prober "West Europe"`},
		{"ISOCHRONE_REGION", "West Europe", `region "West Europe"`},
		{"ISOCHRONE_ADDRESSES", "", "not set"},
		{"ISOCHRONE_ADDRESSES", "20.50.1.2", `"20.50.1.2": want path=host`},
		{"ISOCHRONE_ADDRESSES", "public=0.0.0.0", "cannot be a target"},
		{"ISOCHRONE_ADDRESSES", "public=", "host of 0 characters"},
		{"ISOCHRONE_ADDRESSES", "public=a,public=b", "has an address already"},
		{"ISOCHRONE_ADDRESSES", "publik=127.0.0.1", `path "publik": want one of public, peering, vpn, expressroute`},
		{"ISOCHRONE_ADDRESSES", "public=foo/bar", `host "foo/bar": want an IP address or a DNS name`},
		{"ISOCHRONE_ADDRESSES", "public=20.50.1.256", `host "20.50.1.256"`},
		{"ISOCHRONE_LISTEN", "7700", `"7700": want host:port, such as :7700`},
		{"ISOCHRONE_LISTEN", ":70000", `port "70000": want a number from 0 to 65535`},
		{"ISOCHRONE_LISTEN", "a b:7700", `host "a b"`},
		{"ISOCHRONE_HEALTH", "localhost", "want host:port, such as 127.0.0.1:7701"},
		{"ISOCHRONE_HEALTH", "127.0.0.1:a", `port "a": want a number`},
		{"ISOCHRONE_HEALTH", "999.1:7701", `host "999.1"`},
		{"ISOCHRONE_POLL", "5", "want a duration from 100ms to 1m0s"},
		{"ISOCHRONE_POLL", "1ms", "want a duration from 100ms"},
		{"ISOCHRONE_HEARTBEAT", "2h", "want a duration from 1s to 1h0m0s"},
		{"ISOCHRONE_SPOOL_DIR", "spool", `"spool": want an absolute path`},
		{"ISOCHRONE_SPOOL_BYTES", "1MiB", `"1MiB": want from 34603008 to`},
		{"ISOCHRONE_SPOOL_BYTES", "much", `"much": want from`},
		{"ISOCHRONE_SPOOL_TTL", "169h", "want a duration from 1m0s to 168h0m0s"},
		{"ISOCHRONE_SPOOL_ORDER", "random", `"random": want oldest or newest`},
		{"ISOCHRONE_SPOOL_BATCH", "1GiB", `"1GiB": want from 1 to 67108864`},
		{"ISOCHRONE_VM_SIZE", strings.Repeat("x", 129), "129 characters"},
	} {
		env := goodSettings()
		env[c.name] = c.value
		_, err := readSettings(func(n string) string { return env[n] })
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s=%q: %v; want an error that names it, with %q", c.name, c.value, err, c.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s=%q: more than one fault: %v", c.name, c.value, err)
		}
	}
}

func TestAllFaultsOfAddressesAreReportedTogether(t *testing.T) {
	env := goodSettings()
	env["ISOCHRONE_ADDRESSES"], env["ISOCHRONE_HEALTH"] = "publik=-x,public=foo/bar", "999.1:a"
	_, err := readSettings(func(n string) string { return env[n] })
	for _, want := range []string{`path "publik"`, `host "-x"`, `host "foo/bar"`, "ISOCHRONE_HEALTH", `host "999.1"`, `port "a"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want an error with %q", err, want)
		}
	}
}

func TestAddressesToListenAt(t *testing.T) {
	for _, good := range []string{":7700", "127.0.0.1:0", "[::]:65535", "localhost:7700"} {
		if err := checkListen(good, ":7700"); err != nil {
			t.Error(err)
		}
	}
}

func TestAllBadSettingsAreReportedTogether(t *testing.T) {
	code, out, err := command("run")
	if code != exitUsage || out != "" {
		t.Errorf("exit code %d, %q", code, out)
	}
	for _, name := range []string{"ISOCHRONE_ENVIRONMENT", "ISOCHRONE_PROBER", "ISOCHRONE_STORAGE_CONNECTION_STRING", "ISOCHRONE_ADDRESSES"} {
		if !strings.Contains(err, name) {
			t.Errorf("%s is not among the faults:\n%s", name, err)
		}
	}
	if strings.Contains(err, "ISOCHRONE_REGION") {
		t.Errorf("the region, which is the prober's id by default, is reported on its own:\n%s", err)
	}
}
