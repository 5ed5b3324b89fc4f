// Package environments holds the stores to it that environments never meet, on real storage.
package environments

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/mailbox"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/archive"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

var slot = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

// marker is in all that is stored for others, so that it is seen wherever it comes out.
const marker = "belongs-to-others"

// others are names that begin or end as ours does, or hold the digits of a month behind it.
var others = []string{"prod", "test1", "test2026", "test202611", "tes", "testt", "atest", "test20", "te"}

const ours = "test"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// furnish puts something of each kind into an environment.
func furnish(t *testing.T, a account.Account, environment string) {
	t.Helper()
	ctx := t.Context()
	blobs, err := archive.Open(a, environment)
	must(t, err)
	rows, err := tables.Open(a, environment)
	must(t, err)
	must(t, blobs.Ensure(ctx))
	must(t, rows.Ensure(ctx, slot))
	must(t, blobs.PutConfig(ctx, []byte(marker)))
	_, err = blobs.PinConfig(ctx, []byte(marker))
	must(t, err)
	_, err = blobs.CreatePlan(ctx, slot, []byte(marker))
	must(t, err)
	_, err = blobs.WriteCurrent(ctx, "westeurope", []byte(marker), "")
	must(t, err)
	_, _, err = blobs.DropForeign(ctx, []byte(marker), map[string]string{"source": marker})
	must(t, err)
	_, err = blobs.Quarantine(ctx, slot, marker, []byte(marker), "txt", archive.Reason{Stage: marker})
	must(t, err)
	_, _, err = blobs.PutDocument(ctx, "westeurope", slot, wire.AssignmentID(environment, slot, "westeurope", "tcp-64", 0), []byte(marker))
	must(t, err)
	must(t, rows.MarkOpen(ctx, slot))
	series := wire.Series{Environment: environment, Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"}
	r := result.Expired(series, slot, wire.AssignmentID(environment, slot, "westeurope", "tcp-64", 0), 0, wire.KindTCP, slot)
	r.Run.Detail, r.Summary = marker, summary.Summary{}
	must(t, rows.AddExpired(ctx, []result.Result{r}))
	must(t, rows.PutLatest(ctx, []result.Result{r}))
}

// hostile are texts that lead elsewhere, if anything does.
func hostile() []string {
	var out []string
	for _, e := range others[:3] {
		out = append(out, e, "raw-"+e+"/documents/v=1/", "../config-"+e+"/sweep.yaml", "raw-"+ours+"/../raw-"+e+"/x", "config-"+e+"/sweep.yaml",
			"westeurope/../../assignments-"+e+"/westeurope/current.json", "quarantine-"+e+"/date=2026-11-30/x", "' or TableName eq 'runs"+e+"202611", "..%2f..%2fraw-"+e)
	}
	return append(out, "westeurope", "", "inbox-"+ours, "documents/..", strings.Repeat("0", 64), "\x00", "a\\..\\..\\raw-prod")
}

// names are the containers and tables that an environment may have: kind and form of the rest.
func named(name, environment string) bool {
	for _, kind := range []string{"probers-", "assignments-", "inbox-", "config-", "raw-", "quarantine-", "lake-"} {
		if name == kind+environment {
			return true
		}
	}
	for _, kind := range []string{"latest", "dirty", "probers", "profiles", "series", "levels", "alerts"} {
		if name == kind+environment {
			return true
		}
	}
	for kind, digits := range map[string]int{"runs": 6, "sweeps": 6, "hours": 4} {
		rest, ok := strings.CutPrefix(name, kind+environment)
		if ok && len(rest) == digits && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return false
}

// dump is all that an environment holds, and nothing of those whose names are alike.
func dump(t *testing.T, a account.Account, environment string) map[string]string {
	t.Helper()
	all := azuritetest.Dump(t, a, environment)
	maps.DeleteFunc(all, func(name, _ string) bool {
		table, isRow := strings.CutPrefix(name, "row ")
		table, _, _ = strings.Cut(table, " ")
		return isRow && !named(table, environment)
	})
	return all
}

func TestAnAppForTestTouchesNothingOfOthers(t *testing.T) {
	real, _ := azuritetest.Environment(t)
	before := map[string]map[string]string{}
	for _, e := range others {
		furnish(t, real, e)
	}
	for _, e := range others {
		if before[e] = dump(t, real, e); len(before[e]) < 8 {
			t.Fatalf("environment %q holds only %d things: %v", e, len(before[e]), before[e])
		}
	}
	way := &recorder{}
	through := way.between(t, real)
	blobs, err := archive.Open(through, ours)
	must(t, err)
	rows, err := tables.Open(through, ours)
	must(t, err)
	mail, err := mailbox.Open(through, ours, "westeurope", nil)
	must(t, err)
	must(t, blobs.Ensure(t.Context()))
	must(t, rows.Ensure(t.Context(), slot))
	way.take()

	asked := 0
	called := map[string]bool{}
	for _, store := range []any{blobs, rows, mail} {
		of := reflect.TypeOf(store)
		for i := range of.NumMethod() {
			name := of.Method(i).Name
			for _, d := range drivers() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				d.ctx = ctx
				text, panicked := d.call(store, name)
				cancel()
				what := fmt.Sprintf("%s.%s(%q) of environment %q", of, name, d.text, d.environment)
				if panicked != nil {
					t.Errorf("%s: panic: %v", what, panicked)
				}
				if strings.Contains(text, marker) {
					t.Errorf("%s gives what belongs to others: %.300s", what, text)
				}
				for _, request := range way.take() {
					asked++
					called[of.String()+"."+name] = true
					if where, upwards := place(request); upwards || where != "" && !named(where, ours) {
						t.Errorf("%s asked for %q", what, request)
					}
				}
			}
		}
	}
	for _, e := range others {
		if after := dump(t, real, e); !maps.Equal(before[e], after) {
			t.Errorf("environment %q has changed (-before +after):\n%s", e, cmp.Diff(before[e], after))
		}
	}
	t.Logf("%d requests by %d methods", asked, len(called))
	if asked < 500 || len(called) < 40 {
		t.Errorf("%d requests by %d methods: the arguments are refused before they could do harm; reached were %q", asked, len(called), slices.Sorted(maps.Keys(called)))
	}
}

// drivers are one for each text, and for each environment that what is handed in may say it is of.
func drivers() (out []driver) {
	for _, text := range hostile() {
		out = append(out, driver{text: text, environment: ours, at: slot})
	}
	for _, e := range others {
		out = append(out, driver{text: "westeurope", environment: e, at: slot})
	}
	// A year of five digits, of which the first would be read as the end of a name.
	return append(out, driver{text: "westeurope", environment: ours, at: time.Date(12026, 11, 30, 10, 0, 0, 0, time.UTC)},
		driver{text: "westeurope", environment: ours, at: time.Date(202026, 11, 30, 10, 0, 0, 0, time.UTC)})
}
