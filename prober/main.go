// Command prober is the container that measures from one region: it registers in the storage
// account, takes the assignments that the app writes for it, makes their runs, delivers the
// result documents, and reflects the runs of other probers.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	_ "time/tzdata" // the image has no zone database

	_ "golang.org/x/crypto/x509roots/fallback" // nor certificates; a system's own roots win over these
)

// version is set by the build: -ldflags "-X main.version=1.2.3".
var version = "dev"

// Exit codes.
const (
	exitOK     = 0 // also after SIGTERM
	exitFailed = 1 // the prober could not start, or broke
	exitUsage  = 2 // unknown command or bad settings
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs a command until it is done or ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	command := "run"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "run", "version", "help":
	case "--version":
		command = "version"
	case "-h", "--help":
		command = "help"
	default:
		say(stderr, "prober: unknown command %q; want run, version or help", command)
		return exitUsage
	}
	if slices.Equal(args, []string{"-h"}) || slices.Equal(args, []string{"--help"}) {
		command, args = "help", nil
	}
	if len(args) > 0 {
		say(stderr, "prober: %s takes no arguments; settings are environment variables (see: prober help)", command)
		return exitUsage
	}
	switch command {
	case "version":
		say(stdout, "%s", version)
	case "help":
		say(stdout, "%s", help)
	default:
		return runProber(ctx, getenv, stdout, stderr)
	}
	return exitOK
}

func runProber(ctx context.Context, getenv func(string) string, stdout, stderr io.Writer) int {
	s, err := readSettings(getenv)
	if err != nil {
		say(stderr, "prober: the settings are not usable (see: prober help)\n%s", err)
		return exitUsage
	}
	log := slog.New(slog.NewJSONHandler(stdout, nil))
	if err := serve(ctx, s, log); err != nil {
		log.Error("the prober broke", "error", err)
		return exitFailed
	}
	return exitOK
}

// say prints a line for a person. That it cannot be printed is nothing to act on.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

const help = `Usage: prober [run | version | help]

The prober of one region. run, the default, measures and reflects until SIGTERM.

Settings are environment variables:

  ISOCHRONE_ENVIRONMENT                 environment: dev, test, prod
  ISOCHRONE_STORAGE_CONNECTION_STRING   the storage account by connection string,
  ISOCHRONE_STORAGE_ACCOUNT             or by name, with the machine's identity
  AZURE_CLIENT_ID                       which user-assigned identity, where there are several
  ISOCHRONE_PROBER                      id of this prober; usually its region
  ISOCHRONE_REGION                      Azure region (default: the id)
  ISOCHRONE_ADDRESSES                   where other probers reach this one, by path:
                                        public=20.50.1.2,peering=10.1.0.4 (addresses or DNS names;
                                        paths: public, peering, vpn, expressroute)
  ISOCHRONE_LISTEN                      address of the reflectors (default :7700)
  ISOCHRONE_HEALTH                      address of /healthz, /readyz and /metrics (default 127.0.0.1:7701)
  ISOCHRONE_POLL                        how often assignments are looked for (default 5s)
  ISOCHRONE_HEARTBEAT                   how often the registration is renewed (default 30s)
  ISOCHRONE_VM_SIZE                     size of the machine, for the record (optional)
  ISOCHRONE_IMAGE_DIGEST                digest of the image, for the record (optional)

At ISOCHRONE_HEALTH it answers, by HTTP:

  /healthz   200 while the program works, also when storage is away: results wait in memory,
             and a restart would lose them. For a liveness probe.
  /readyz    200 while assignments can be fetched, the registration is fresh, and no other
             process has the same id. For alerts and readiness probes; not a reason to restart.
  /metrics   counters, in Prometheus' format

One process an id: of two, the later started takes no assignments and does not register until
the other has stopped. One that SIGTERM stops is followed at once. After one that was killed,
the next waits until the last heartbeat is two heartbeat intervals old before it takes work.

Exit codes: 0 stopped by a signal, 1 could not start or broke, 2 unknown command or bad settings.`
