package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"isochrone/infra/local/child"
)

// Prober is one prober process.
type Prober struct {
	ID string

	cmd    *exec.Cmd
	exited chan struct{}
	log    *os.File
	client *http.Client // reaches the prober's loopback interface

	mu     sync.Mutex
	health string // address of /healthz and /metrics, once it is known
}

// startProber starts the binary with only the settings it is given, in its node if there is an
// emulated network.
func (s *Stack) startProber(id string, settings map[string]string) (*Prober, error) {
	log, err := os.OpenFile(filepath.Join(s.o.Dir, id+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of prober %q: %w", id, err)
	}
	p := &Prober{ID: id, cmd: exec.Command(s.o.Prober, "run"), exited: make(chan struct{}), log: log, client: http.DefaultClient}
	for k, v := range settings {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	start := child.Start
	if s.WAN != nil {
		start = func(cmd *exec.Cmd, exited func()) error { return s.WAN.StartIn(id, cmd, exited) }
		p.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return s.WAN.Dial(ctx, id, network, at)
		}}}
	}
	pr, pw := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = pw, pw
	go p.read(pr)
	if err := start(p.cmd, func() { _ = pw.Close(); close(p.exited) }); err != nil {
		_, _ = pw.Close(), log.Close()
		return nil, fmt.Errorf("starting prober %q: %w", id, err)
	}
	return p, nil
}

// read keeps the log, and learns from it where the metrics are.
func (p *Prober) read(from io.Reader) {
	defer func() { _ = p.log.Close() }()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, _ = fmt.Fprintf(p.log, "%s\n", lines.Bytes())
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving health" {
			p.mu.Lock()
			p.health = line.Address
			p.mu.Unlock()
		}
	}
	_, _ = io.Copy(p.log, from)
}

// Counters are the prober's own, summed over their labels, by metric name. Nothing is known
// before it serves them.
func (p *Prober) Counters(ctx context.Context) (map[string]float64, error) {
	p.mu.Lock()
	address := p.health
	p.mu.Unlock()
	if address == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("asking prober %q for its metrics: %w", p.ID, err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking prober %q for its metrics: %w", p.ID, err)
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of prober %q: %w", p.ID, err)
	}
	out := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			out[name] += value(m)
		}
	}
	return out, nil
}

func value(m *dto.Metric) float64 {
	if m.Counter != nil {
		return m.GetCounter().GetValue()
	}
	return m.GetGauge().GetValue()
}

// PID is the prober's process.
func (p *Prober) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Prober) Exited() <-chan struct{} { return p.exited }

// Stop asks the prober to end, waits, and kills it if it does not.
func (p *Prober) Stop(patience time.Duration) error {
	_ = child.Signal(p.cmd, syscall.SIGTERM)
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
		p.Kill()
		return fmt.Errorf("stopping prober %q: it did not end within %s and was killed", p.ID, patience)
	}
}

// Kill ends the process at once, as a machine that loses power would.
func (p *Prober) Kill() {
	_ = child.Signal(p.cmd, syscall.SIGKILL)
	<-p.exited
}
