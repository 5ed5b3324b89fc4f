package functionshost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"isochrone/prober/wire/account"
)

// Options says what the host runs, and with what. AppDir, Account and Log are required; what is
// zero otherwise takes the platform's value, as its comment has it.
type Options struct {
	// AppDir is the function app: host.json, the handler, and one folder a function.
	AppDir string
	// Settings are the app settings: the handler's environment, and what %NAME% in a binding
	// stands for.
	Settings map[string]string
	// Environ is what the handler's environment holds besides ("KEY=value"), such as PATH and
	// HOME; the platform has its own. Nothing of this process's environment gets there by itself:
	// a statically linked handler needs none.
	Environ []string
	// Account holds the host's own container (in Azure: the setting AzureWebJobsStorage).
	Account account.Account
	// HostID names the app there: 1 to 32 lower-case letters, digits and single dashes; empty is
	// "isochrone". Hosts that share it share the timers.
	HostID string
	// Addr is where HTTP is served; empty is 127.0.0.1:0.
	Addr string
	// Log receives the host's own records and the handler's output, with the attributes
	// category (Host.…, Function.<name>, Function.<name>.User, Host.Function.Console), function,
	// invocation_id and handler_pid where they apply.
	Log *slog.Logger
	// Now is the clock of the timers; nil is time.Now. A clock may jump: it is read every second.
	Now func() time.Time
	// Early is how much before its time a timer fires; in Azure up to 2 ms have been seen.
	Early time.Duration

	FunctionTimeout time.Duration // of every function, in place of host.json's functionTimeout
	HTTPTimeout     time.Duration // after which a caller of an HTTP function is sent away: 230 s
	StartTimeout    time.Duration // in which the handler must answer GET /: 30 s
	LockPeriod      time.Duration // of the lease on a timer's lock, 15 to 60 s in whole seconds: 60 s
	LockRetry       time.Duration // between two attempts to get a timer's lock: 60 s
	StopGrace       time.Duration // for the handler to end by SIGTERM when the host stops: 2 s (the host kills at once)
	DrainTimeout    time.Duration // for what is running when the host stops: 5 s
}

var hostIDForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxHostID = 32

func (o *Options) complete() error {
	for _, d := range []struct {
		value    *time.Duration
		platform time.Duration
	}{
		{&o.HTTPTimeout, 230 * time.Second}, {&o.StartTimeout, 30 * time.Second}, {&o.LockPeriod, time.Minute},
		{&o.LockRetry, time.Minute}, {&o.StopGrace, 2 * time.Second}, {&o.DrainTimeout, 5 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.platform
		}
	}
	if o.HostID == "" {
		o.HostID = "isochrone"
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Log == nil:
		return errors.New("no log")
	case !hostIDForm.MatchString(o.HostID) || len(o.HostID) > maxHostID:
		return fmt.Errorf("host id %q: want 1 to %d lower-case letters, digits and single dashes", o.HostID, maxHostID)
	case o.LockPeriod < 15*time.Second || o.LockPeriod > time.Minute || o.LockPeriod%time.Second != 0:
		return fmt.Errorf("lock period %s: want 15 to 60 whole seconds", o.LockPeriod)
	}
	dir, err := filepath.Abs(o.AppDir)
	if err != nil {
		return err
	}
	o.AppDir = dir
	return nil
}

// Host is a running host.
type Host struct {
	url     string
	keys    *keyring
	handler *handler
	server  *http.Server
	log     *slog.Logger
	drain   time.Duration

	listening  context.CancelFunc // ends the timers' listeners
	invoking   context.CancelFunc // ends what is running
	background tasks              // listeners, and calls that nobody waits for
	client     *http.Client       // of Fire

	stopOnce sync.Once
	stopped  chan struct{} // closed when everything has ended
	err      error         // valid then
}

// Start reads the app, starts its handler, and returns once the handler is ready, the timers run
// and HTTP is served. ctx limits the start alone; the host runs until Stop, or until its handler
// has failed three times.
func Start(ctx context.Context, o Options) (*Host, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("starting the functions host: %w", err)
	}
	h, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("starting the functions host: %w", err)
	}
	return h, nil
}

func start(ctx context.Context, o Options) (*Host, error) {
	a, err := loadApp(o.AppDir, o.Settings)
	if err != nil {
		return nil, err
	}
	if o.FunctionTimeout > 0 {
		a.timeout = o.FunctionTimeout
	}
	store, err := openStorage(o.Account, o.HostID)
	if err != nil {
		return nil, err
	}
	if err := store.ensure(ctx); err != nil {
		return nil, err
	}
	keys, err := newKeyring(a)
	if err != nil {
		return nil, err
	}
	hd, err := newHandler(a, o.Settings, o.Environ, o.Log)
	if err != nil {
		return nil, err
	}
	hd.startTimeout, hd.grace = o.StartTimeout, o.StopGrace
	v := newInvoker(hd, a.timeout, o.Log)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	h := &Host{
		url: "http://" + listener.Addr().String(), keys: keys, handler: hd, log: o.Log, drain: o.DrainTimeout, stopped: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	go hd.supervise()
	if err := hd.await(ctx); err != nil {
		_ = listener.Close()
		close(hd.stop)
		<-hd.done
		return nil, err
	}
	h.begin(a, &o, v, store, listener)
	return h, nil
}

// begin starts the timers and serves HTTP.
func (h *Host) begin(a *app, o *Options, v *invoker, store *storage, listener net.Listener) {
	invoking, endInvoking := context.WithCancelCause(context.Background())
	listening, endListening := context.WithCancel(invoking)
	h.invoking, h.listening = func() { endInvoking(errStopped) }, endListening
	f := &frontend{
		app: a, keys: h.keys, invoker: v, log: o.Log, now: o.Now, timeout: o.HTTPTimeout, life: invoking,
		background: &h.background, timers: map[string]*timer{}, transport: retrying{&http.Transport{DisableCompression: true}},
	}
	var settling sync.WaitGroup
	for _, fn := range a.functions {
		if fn.timer == nil {
			continue
		}
		settling.Add(1)
		t := newTimer(fn, o, v, store.timer(fn.name, o.LockPeriod), settling.Done)
		f.timers[fn.name] = t
		if fn.disabled {
			t.settled()
			continue
		}
		h.background.begin(func() { t.run(listening, invoking) })
	}
	settling.Wait() // as in the host, listeners have started before anybody can ask for anything
	h.server = &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("Serving HTTP failed", "error", err)
		}
	}()
	go func() {
		<-h.handler.done
		if h.handler.err != nil {
			h.log.Error("The host is shutting down", "category", "Host", "error", h.handler.err)
		}
		h.shutdown(context.Background(), 0)
	}()
	names := make([]string, 0, len(a.functions))
	for _, fn := range a.functions {
		names = append(names, fn.name)
	}
	h.log.Info("Host started", "category", "Host", "url", h.url, "functions", strings.Join(names, ","))
}

// URL is where the host serves HTTP, without a slash at the end.
func (h *Host) URL() string { return h.url }

// FunctionKey is a function's key, to be sent as ?code= or x-functions-key. It is empty if there
// is no such function.
func (h *Host) FunctionKey(name string) string { return h.keys.functions[strings.ToLower(name)] }

// MasterKey opens every function and the administrative interface.
func (h *Host) MasterKey() string { return h.keys.master }

// HandlerPID is the handler's process, 0 while there is none.
func (h *Host) HandlerPID() int { return int(h.handler.pid.Load()) }

// Exited is closed when the host has ended, by Stop or because its handler failed too often.
func (h *Host) Exited() <-chan struct{} { return h.stopped }

// Err says why the host ended by itself. It is nil after Stop, and while the host runs.
func (h *Host) Err() error {
	select {
	case <-h.stopped:
		return h.err
	default:
		return nil
	}
}

// Fire has a timer's function called once, now: it is POST /admin/functions/{name} with the
// master key. It returns when the call has been accepted; ScheduleStatus is what is stored, so
// that its Next lies in the future. Nothing keeps it from running beside a tick of its schedule.
func (h *Host) Fire(ctx context.Context, function string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/admin/functions/"+function, strings.NewReader(`{"input":""}`))
	if err != nil {
		return fmt.Errorf("firing function %q: %w", function, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(keyHeader, h.keys.master)
	resp, err := h.client.Do(req)
	if err != nil {
		return fmt.Errorf("firing function %q: %w", function, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("firing function %q: %s", function, resp.Status)
	}
	return nil
}

// Stop takes no new work, gives what is running DrainTimeout (or until ctx ends), and then ends
// the handler: SIGTERM to its process group, SIGKILL after StopGrace. When Stop returns no process
// of the handler's group is left. It may be called more than once.
func (h *Host) Stop(ctx context.Context) error {
	h.shutdown(ctx, h.drain)
	<-h.stopped
	return nil
}

func (h *Host) shutdown(ctx context.Context, drain time.Duration) {
	h.stopOnce.Do(func() {
		h.listening()
		draining, cancel := context.WithTimeout(ctx, drain)
		defer cancel()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_ = h.server.Shutdown(draining) // an error says that something is still running
			h.background.end()
		}()
		select {
		case <-drained:
		case <-draining.Done():
		}
		h.invoking()
		close(h.handler.stop)
		<-h.handler.done
		_ = h.server.Close()
		<-drained
		h.err = h.handler.err
		h.log.Info("Host stopped", "category", "Host")
		close(h.stopped)
	})
}
