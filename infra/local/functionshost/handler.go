package functionshost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	probeInterval = 25 * time.Millisecond
	// errorWindow: errors that lie further apart do not add up.
	errorWindow = 30 * time.Minute
	maxErrors   = 3
	// intentionalRestart is the exit code by which a handler asks for a restart.
	intentionalRestart = 200
	// restartPause keeps a handler that ends at once, and means to, from taking the whole machine.
	// The host has no such pause.
	restartPause = 100 * time.Millisecond
)

var errStopped = errors.New("the host is stopping")

// handler keeps the app's handler running on one port, until it fails too often or is stopped.
type handler struct {
	app          *app
	env          []string
	port         int
	log          *slog.Logger
	startTimeout time.Duration
	grace        time.Duration // for SIGTERM, when the host stops
	restarted    func()        // called when the handler's connections are dead

	stop chan struct{}
	done chan struct{} // closed when the supervision has ended
	err  error         // valid then: why it gave up

	pid atomic.Int64
	mu  sync.Mutex
	// ready is closed when current answers; a new channel takes its place when it ends.
	ready   chan struct{}
	current *process
	recycle bool // current was killed by the host, and its exit code says nothing
}

// newHandler chooses the port, which stays the same for the host's life. As in the host, nothing
// keeps the port from being taken before the handler listens on it.
func newHandler(a *app, settings settings, environ []string, log *slog.Logger) (*handler, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("finding a port for the handler: %w", err)
	}
	h := &handler{
		app: a, log: log, port: l.Addr().(*net.TCPAddr).Port,
		stop: make(chan struct{}), done: make(chan struct{}), ready: make(chan struct{}),
	}
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("finding a port for the handler: %w", err)
	}
	h.env = append(h.env, environ...)
	for k, v := range settings {
		h.env = append(h.env, k+"="+v)
	}
	h.env = append(h.env, "FUNCTIONS_CUSTOMHANDLER_PORT="+strconv.Itoa(h.port), "FUNCTIONS_APP_ROOT_PATH="+a.dir)
	return h, nil
}

// address is the handler's host and port.
func (h *handler) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port)) }

// supervise runs the handler until Stop, or until it has failed too often.
func (h *handler) supervise() {
	defer close(h.done)
	var failures []time.Time
	for {
		failure := h.live()
		select {
		case <-h.stop:
			return
		default:
		}
		if failure == nil {
			h.log.Info("Language Worker Process exited and needs to be restarted.", "category", "Host.Worker")
			select {
			case <-h.stop:
				return
			case <-time.After(restartPause):
			}
			continue
		}
		h.log.Error("Language Worker Process failed.", "category", "Host.Worker", "error", failure)
		if n := len(failures); n > 0 && time.Since(failures[n-1]) > errorWindow {
			failures = nil
		}
		if failures = append(failures, time.Now()); len(failures) >= maxErrors {
			h.err = fmt.Errorf("exceeded http worker restart retry count (%d errors), shutting down the host: %w", maxErrors, failure)
			return
		}
	}
}

// live starts the handler, waits until it is ready, and for its end. It returns what counts as an
// error, and nil if the handler is to be started again just so.
func (h *handler) live() error {
	id, err := newID()
	if err != nil {
		return err
	}
	env := append(h.env[:len(h.env):len(h.env)], "FUNCTIONS_CUSTOMHANDLER_WORKER_ID="+id)
	p, err := startProcess(h.app, env, h.log)
	if err != nil {
		return fmt.Errorf("starting %q: %w", h.app.executable, err)
	}
	h.mu.Lock()
	h.current, h.recycle = p, false
	h.mu.Unlock()
	h.pid.Store(int64(p.pid))
	defer h.pid.Store(0)

	probing, cancel := context.WithTimeout(context.Background(), h.startTimeout)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- h.probe(probing) }()
	select {
	case <-h.stop:
	case <-p.exited:
	case err := <-answered:
		if err != nil {
			p.terminate(0)
			return err
		}
		h.setReady(true)
		select {
		case <-h.stop:
		case <-p.exited:
		}
	}
	select {
	case <-p.exited:
	default: // Stop has been called
		p.terminate(h.grace)
	}
	h.setReady(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recycle || p.code == 0 || p.code == intentionalRestart {
		return nil
	}
	return p.failure()
}

func (h *handler) setReady(ready bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case ready:
		close(h.ready)
	default:
		select {
		case <-h.ready:
			h.ready = make(chan struct{})
		default:
		}
		if h.restarted != nil {
			h.restarted()
		}
	}
}

// probe asks GET / until something answers. Any answer will do, and so does a connection that is
// broken off; a handler that accepts and stays silent stalls the start.
func (h *handler) probe(ctx context.Context) error {
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.address()+"/", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		var dial *net.OpError
		if ctx.Err() == nil && !(errors.As(err, &dial) && dial.Op == "dial") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("initializing HttpWorker timed out: nothing answered GET http://%s/ within %s", h.address(), h.startTimeout)
		case <-time.After(probeInterval):
		}
	}
}

// await returns once the handler is ready.
func (h *handler) await(ctx context.Context) error {
	h.mu.Lock()
	ready := h.ready
	h.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-h.done:
		if h.err != nil {
			return fmt.Errorf("%w: %w", errStopped, h.err)
		}
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("waiting for the handler: %w", context.Cause(ctx))
	}
}

// kill ends the handler, whatever it is doing, without counting it as an error. It is started
// again. The caller does not wait for either.
func (h *handler) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		select {
		case <-h.current.exited:
		default:
			h.recycle = true
			go h.current.killGroup()
		}
	}
}
