package notebooks

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

// With an account's name and no connection string the SDK's default credential is used, at the account's own addresses. Nothing is
// asked for before the first request, so nothing of it leaves the machine here.
func TestAnAccountsNameMeansTheUsersIdentity(t *testing.T) {
	for name, want := range map[string]string{
		"01-first-look": "storage https://isochrone1.table.core.windows.net DefaultAzureCredential",
		"03-lake":       "lake https://isochrone1.blob.core.windows.net/lake-prod DefaultAzureCredential",
	} {
		client, _, _ := strings.Cut(want, " ")
		script := ""
		_, n := read(t, name+".ipynb")
		for _, c := range n.Cells {
			if c.ID == "connect" {
				script = string(c.Source) + "\nprint('" + client + "', " + client + ".url, type(" + client + ".credential).__name__)\n"
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, python, "-c", script)
		cmd.Env = []string{account.EnvEnvironment + "=prod", account.EnvAccountName + "=isochrone1"}
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v, %q, want %q", name, err, out, want)
		}
	}
}
