package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire/account"
)

// cmdTamper is "tamper SOURCE TARGET|PATH|PROBE SLOT COLUMN": that number of a stored row is changed behind
// the back of the program.
func cmdTamper(ts *testscript.TestScript, neg bool, args []string) {
	slot, err := time.Parse(time.RFC3339, args[2])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	acc := account.Account{ConnectionString: ts.Getenv(account.EnvConnectionString)}
	ts.Check(azuritetest.ChangeRow(ctx, acc, "runs"+ts.Getenv(account.EnvEnvironment)+slot.Format("200601"), args[0],
		fmt.Sprintf("%s|%010d", args[1], 9_999_999_999-slot.Unix()), map[string]any{args[3]: 7.5}))
}
