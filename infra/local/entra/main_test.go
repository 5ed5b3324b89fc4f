package entra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/mailbox"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// envSteps makes the test's own program a program in the stand-in of Azure: it does the steps.
const envSteps = "ISOCHRONE_ENTRA_STEPS"

var cloud *Cloud

func TestMain(m *testing.M) {
	if steps := os.Getenv(envSteps); steps != "" {
		inside(strings.Fields(steps))
		return
	}
	os.Exit(outside(m))
}

func outside(m *testing.M) int {
	fail := func(err error) int { fmt.Fprintln(os.Stderr, err); return 1 }
	root, err := azuritetest.Root()
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "isochrone-entra-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if cloud, err = Start(ctx, Options{Root: root, Dir: dir}); err != nil {
		return fail(err)
	}
	code := m.Run()
	if err := cloud.Close(); err != nil {
		return fail(err)
	}
	return code
}

// A step is what a program did, and what came of it.
type step struct {
	Name, Got, Error string
	Took             time.Duration
}

// inside does the steps with the stores as every program opens them, and prints what came of each.
func inside(names []string) {
	ctx := context.Background()
	p, err := open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		begun := time.Now()
		got, err := p.do(ctx, name)
		s := step{Name: name, Got: got, Took: time.Since(begun)}
		if err != nil {
			s.Error = err.Error()
		}
		_ = json.NewEncoder(os.Stdout).Encode(s)
	}
}

type program struct {
	environment string
	blobs       *archive.Store
	rows        *tables.Store
	mail        *mailbox.Mailbox
}

func open() (p program, err error) {
	p.environment = os.Getenv(account.EnvEnvironment)
	a, err := account.FromEnv(os.Getenv)
	if err != nil {
		return p, err
	}
	if p.blobs, err = archive.Open(a, p.environment); err != nil {
		return p, err
	}
	if p.rows, err = tables.Open(a, p.environment); err != nil {
		return p, err
	}
	p.mail, err = mailbox.Open(a, p.environment, "westeurope", nil)
	return p, err
}

var slot = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

func (p program) do(ctx context.Context, name string) (string, error) {
	switch name {
	case "ensure":
		if err := p.blobs.Ensure(ctx); err != nil {
			return "", err
		}
		return "", p.rows.Ensure(ctx, slot)
	case "write-blob":
		return "", p.blobs.PutConfig(ctx, []byte("version: 1\n"))
	case "read-blob":
		body, _, err := p.blobs.Config(ctx)
		return string(body), err
	case "write-row":
		return "", p.rows.MarkOpen(ctx, slot)
	case "read-rows":
		open, err := p.rows.OpenSweeps(ctx)
		return fmt.Sprint(open), err
	case "poll":
		_, err := p.mail.Poll(ctx)
		return "", err
	case "deliver":
		return "", p.mail.Deliver(ctx, wire.InboxBlob("westeurope", slot, strings.Repeat("a", 26), "01234567"), []byte("document"))
	case "inbox":
		n, err := p.blobs.InboxSize(ctx)
		return fmt.Sprint(n), err
	case "wait":
		time.Sleep(4 * time.Second)
		return "", nil
	}
	return "", fmt.Errorf("no step %q", name)
}

// programs runs the steps in a child whose environment is given and nothing else.
func programs(t *testing.T, environment string, env []string, steps ...string) []step {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = slices.Concat(env, []string{envSteps + "=" + strings.Join(steps, " "), account.EnvEnvironment + "=" + environment,
		"HOME=" + t.TempDir(), "PATH=" + filepath.Join(t.TempDir(), "empty"), "GORACE=atexit_sleep_ms=0"})
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the child: %v\n%s%s", err, &stdout, &stderr)
	}
	if stderr.Len() > 0 {
		t.Errorf("the child wrote to its standard error:\n%s", &stderr)
	}
	if strings.Contains(stdout.String(), Secret) {
		t.Errorf("the identity's secret is in what the child says:\n%s", &stdout)
	}
	var out []step
	for line := range strings.Lines(stdout.String()) {
		var s step
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("the child printed %q: %v", line, err)
		}
		out = append(out, s)
	}
	if len(out) != len(steps) {
		t.Fatalf("%d of %d steps came back:\n%s", len(out), len(steps), &stdout)
	}
	return out
}
