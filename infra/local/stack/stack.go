// Package stack runs the whole of Isochrone on one machine, with the real parts: the storage
// emulator, the Functions host stand-in with the packaged app under it, and a prober process a
// region, each on a loopback address of its own or behind an emulated wide-area network. No port
// is fixed, so several stacks can run side by side.
package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/functionshost"
	"isochrone/infra/local/wan"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// Options says what to run and where to keep its state.
type Options struct {
	Root   string // the repository's root, where Azurite is installed
	Dir    string // for data and logs; it must exist
	Prober string // the prober's binary
	AppDir string // the packaged Functions app
	Config []byte // sweep.yaml; its probers are the ones that are started

	// Network describes the wide-area network that is emulated between the probers (wan.yaml);
	// nil: they measure this machine's loopback. NetworkName is what people know it by.
	Network     []byte
	NetworkName string
	NetworkLog  io.Writer // what its relay complains of
	Awake       bool      // see wan.Options; for comparing with the truth
	// Services are HTTP servers in nodes of their own; they need a Network.
	Services []Service
	// Machines are what probers say of their machine's size, by id; "local" where nothing is said.
	Machines map[string]string

	// Schedules of the app's timers, NCRONTAB.
	SweepSchedule   string
	IngestSchedule  string
	RollupSchedule  string // empty: hourly, five minutes past
	CompactSchedule string // empty: hourly, 35 minutes past

	Poll      time.Duration // how often a prober looks for assignments
	Heartbeat time.Duration // how often a prober says that it is there

	// Stored, if it is set, is called when storage and configuration are there, and before anybody
	// measures.
	Stored func(context.Context, *Stack) error

	// Azurite is a storage emulator to share with other stacks, whose environments differ; nil
	// starts one for this stack alone.
	Azurite *azurite.Server
	Log     *slog.Logger
	Report  func(string) // told, in a few words, what has been started; nil is allowed
}

// defaultRollup is when hours are made where nothing is said: when the hour's last documents are in.
const defaultRollup = "0 5 * * * *"

// defaultCompact is when the lake is made where nothing is said: after midnight, when the day's last runs are in.
const defaultCompact = "0 35 * * * *"

// Stack is a running stack.
type Stack struct {
	Azurite *azurite.Server
	Archive *archive.Store
	Tables  *tables.Store
	Host    *functionshost.Host
	Config  *config.Config
	WAN     *wan.WAN // nil without an emulated network

	o        Options
	logs     []*os.File
	services []*http.Server

	mu      sync.Mutex
	probers map[string]*Prober
}

// Start starts everything in order and returns once every prober has registered and the app
// answers. What was started is stopped again when something fails.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	if o.Report == nil {
		o.Report = func(string) {}
	}
	s := &Stack{o: o, probers: map[string]*Prober{}}
	if s.Config, err = config.Parse(o.Config); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	for _, step := range []func(context.Context) error{s.startAzurite, s.startNetwork, s.openStores, s.pushConfig, s.stored, s.startProbers, s.startHost} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Account is how the stack's storage is reached.
func (s *Stack) Account() account.Account { return s.Azurite.Account() }

// Environment is the environment of the configuration.
func (s *Stack) Environment() string { return s.Config.Environment }

func (s *Stack) startAzurite(ctx context.Context) (err error) {
	if s.o.Azurite != nil {
		s.Azurite = s.o.Azurite
		return nil
	}
	data := filepath.Join(s.o.Dir, "azurite")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("making Azurite's folder: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(s.o.Dir, "azurite.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening Azurite's log: %w", err)
	}
	s.logs = append(s.logs, log)
	if s.Azurite, err = azurite.Start(ctx, azurite.Options{Root: s.o.Root, Location: data, Log: log}); err != nil {
		return err
	}
	s.o.Report("storage emulator on " + s.Azurite.BlobURL + " (blobs) and " + s.Azurite.TableURL + " (tables)")
	return nil
}

// openStores makes the containers and tables, as the templates do in Azure.
func (s *Stack) openStores(ctx context.Context) (err error) {
	if s.Archive, err = archive.Open(s.Account(), s.Environment()); err != nil {
		return err
	}
	if s.Tables, err = tables.Open(s.Account(), s.Environment()); err != nil {
		return err
	}
	if err := s.Archive.Ensure(ctx); err != nil {
		return err
	}
	return s.Tables.Ensure(ctx, time.Now())
}

func (s *Stack) pushConfig(ctx context.Context) error { return s.Archive.PutConfig(ctx, s.o.Config) }

func (s *Stack) stored(ctx context.Context) error {
	if s.o.Stored == nil {
		return nil
	}
	return s.o.Stored(ctx, s)
}

func (s *Stack) startProbers(ctx context.Context) error {
	for _, p := range s.Config.Probers {
		if err := s.StartProber(p.ID); err != nil {
			return err
		}
	}
	if err := s.AwaitRegistrations(ctx); err != nil {
		return err
	}
	s.o.Report(fmt.Sprintf("%d probers registered", len(s.probers)))
	return nil
}

// StartProber starts one prober of the configuration, or starts it again.
func (s *Stack) StartProber(id string) error {
	p, ok := s.Config.Prober(id)
	if !ok {
		return fmt.Errorf("starting prober %q: the configuration has none of that name", id)
	}
	at, err := s.placeOf(p)
	if err != nil {
		return err
	}
	spool, err := filepath.Abs(filepath.Join(s.o.Dir, "spool", id))
	if err != nil {
		return fmt.Errorf("starting prober %q: %w", id, err)
	}
	started, err := s.startProber(id, map[string]string{
		account.EnvEnvironment:      s.Environment(),
		account.EnvConnectionString: s.Account().ConnectionString,
		"ISOCHRONE_PROBER":          id,
		"ISOCHRONE_REGION":          p.Region,
		"ISOCHRONE_LISTEN":          at.listen,
		"ISOCHRONE_ADDRESSES":       at.registers,
		"ISOCHRONE_HEALTH":          "127.0.0.1:0",
		"ISOCHRONE_POLL":            s.o.Poll.String(),
		"ISOCHRONE_HEARTBEAT":       s.o.Heartbeat.String(),
		"ISOCHRONE_SPOOL_DIR":       spool,
		"ISOCHRONE_VM_SIZE":         cmp.Or(s.o.Machines[id], "local"),
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.probers[id] = started
	s.mu.Unlock()
	return nil
}

// Prober returns a prober that was started.
func (s *Stack) Prober(id string) *Prober {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.probers[id]
}

// AwaitRegistrations returns once every prober that was started has registered.
func (s *Stack) AwaitRegistrations(ctx context.Context) error {
	for {
		found, err := s.Archive.Registrations(ctx)
		if err != nil {
			return err
		}
		missing := map[string]bool{}
		s.mu.Lock()
		for id := range s.probers {
			missing[id] = true
		}
		s.mu.Unlock()
		for _, r := range found {
			delete(missing, r.Prober)
		}
		if len(missing) == 0 {
			return nil
		}
		for id := range missing {
			select {
			case <-s.Prober(id).Exited():
				return fmt.Errorf("starting prober %q: it ended; its log is %s", id, filepath.Join(s.o.Dir, id+".log"))
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d probers to register: %w", len(missing), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *Stack) startHost(ctx context.Context) (err error) {
	if s.Host, err = functionshost.Start(ctx, functionshost.Options{
		AppDir:  s.o.AppDir,
		Account: s.Account(),
		HostID:  "isochrone-" + s.Environment(),
		Addr:    "127.0.0.1:0",
		Log:     s.o.Log,
		Settings: map[string]string{
			account.EnvEnvironment:      s.Environment(),
			account.EnvConnectionString: s.Account().ConnectionString,
			"SWEEP_SCHEDULE":            s.o.SweepSchedule,
			"INGEST_SCHEDULE":           s.o.IngestSchedule,
			"ROLLUP_SCHEDULE":           cmp.Or(s.o.RollupSchedule, defaultRollup),
			"COMPACT_SCHEDULE":          cmp.Or(s.o.CompactSchedule, defaultCompact),
		},
	}); err != nil {
		return err
	}
	s.o.Report("Functions host on " + s.Host.URL())
	return nil
}

// Stop ends everything, in the opposite order, and waits.
func (s *Stack) Stop() error {
	var faults []error
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if s.Host != nil {
		faults = append(faults, s.Host.Stop(ctx))
	}
	s.mu.Lock()
	var wait sync.WaitGroup
	results := make(chan error, len(s.probers))
	for _, p := range s.probers {
		wait.Go(func() { results <- p.Stop(15 * time.Second) })
	}
	s.mu.Unlock()
	wait.Wait()
	close(results)
	for err := range results {
		faults = append(faults, err)
	}
	faults = append(faults, s.stopNetwork())
	if s.Azurite != nil && s.o.Azurite == nil {
		faults = append(faults, s.Azurite.Stop())
	}
	for _, l := range s.logs {
		faults = append(faults, l.Close())
	}
	return errors.Join(faults...)
}
