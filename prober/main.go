// Command prober is the container that measures from one region: it registers in the storage
// account, takes the assignments that the app writes for it, makes their runs, delivers the
// result documents, and reflects the runs of other probers. The same program makes one run for a
// person at a terminal, and is its other end.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	_ "time/tzdata" // the image has no zone database

	_ "golang.org/x/crypto/x509roots/fallback" // nor certificates; a system's own roots win over these
)

// version is set by the build: -ldflags "-X main.version=1.2.3".
var version = "dev"

// Exit codes.
const (
	exitOK     = 0 // also after SIGTERM; of a measurement: something was received
	exitFailed = 1 // the prober could not start, or broke; of a measurement: nothing was received
	exitUsage  = 2 // unknown command, bad settings or flags
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs a command until it is done or ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	t := &terminal{getenv: getenv, stdout: stdout, stderr: stderr}
	root := newRoot(t)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take os.Args
	root.SetOut(stdout)
	root.SetErr(stderr)
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		return t.report(cmd, err)
	}
	return t.code
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

const help = `Usage: prober [run | ping TARGET | bandwidth TARGET | load TARGET | saturate TARGET |
              stream TARGET | reflect | version | help [command]]

The prober of one region. run, the default, measures and reflects until SIGTERM.

At a terminal, without storage or an app (see "prober help ping" and so on):

  prober ping TARGET        measures round trips to any host, port or URL, and prints the figures
  prober bandwidth TARGET   measures the throughput to a reflector
  prober load TARGET        lets many users ask a URL or a reflector
  prober saturate TARGET    raises the requests under way until response times suffer
  prober stream TARGET      sends messages at a rate to a reflector, whether or not it keeps up
  prober reflect            is the other end, with a shared key

The rest of this text is about run.

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
  ISOCHRONE_SPOOL_DIR                   folder in which documents wait for storage, of this prober
                                        alone, on a disk that outlives the container; without it
                                        they wait in memory, and a kill loses them
  ISOCHRONE_SPOOL_BYTES                 the most that they may take (default 1GiB; in memory 64MiB);
                                        the oldest are given up beyond it
  ISOCHRONE_SPOOL_TTL                   how long they may wait (default and most: 168h, after which
                                        the app takes none)
  ISOCHRONE_SPOOL_ORDER                 oldest first, so that sweeps become complete one by one
                                        (default), or newest, so that the present is known first
  ISOCHRONE_SPOOL_BATCH                 bytes of documents delivered side by side, eight at the most
                                        (default 4MiB; 1: one document at a time)
  ISOCHRONE_VM_SIZE                     size of the machine, for the record (optional)
  ISOCHRONE_IMAGE_DIGEST                digest of the image, for the record (optional)

At ISOCHRONE_HEALTH it answers, by HTTP:

  /healthz   200 while the program works, also when storage is away: results wait, in memory or
             in the spool, and a restart would not bring storage back. For a liveness probe.
  /readyz    200 while assignments can be fetched, the registration is fresh, and no other
             process has the same id. For alerts and readiness probes; not a reason to restart.
  /metrics   counters, in Prometheus' format

One process an id: of two, the later started takes no assignments and does not register until
the other has stopped. One that SIGTERM stops is followed at once. After one that was killed,
the next waits until the last heartbeat is two heartbeat intervals old before it takes work.

The reflectors answer TCP and UDP, at the same port number.

Exit codes: 0 stopped by a signal, 1 could not start or broke, 2 unknown command or bad settings.`
