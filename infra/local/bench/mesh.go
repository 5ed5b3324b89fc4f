package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/sweep/archive"
	"isochrone/sweep/catalog"
)

// lateBarMS is the lateness of sends at p99 up to which a machine is said to carry its probers.
const lateBarMS = 5

// meshSizes are the numbers of probers that are tried.
var meshSizes = []int{10, 20, 30, 45, 60}

// meshProbes are the latency probes of a mesh: every prober measures every other with each, once
// a second.
const meshProbes = `
  - {name: udp, kind: udp, schedule: "* * * * *", paths: [public], count: 20, interval: 1s, timeout: 1s, warmup: 1}
  - {name: tcp-64, kind: tcp, schedule: "* * * * *", paths: [public], count: 20, interval: 1s, timeout: 1s, warmup: 1, request: 64}
  - {name: connect, kind: connect, schedule: "* * * * *", paths: [public], count: 20, interval: 1s, timeout: 1s, warmup: 1}
`

// meshSeconds is how long the probes measure: 20 samples and one to warm up.
const meshSeconds = 21

// crowd is what one sweep of a mesh came to.
type crowd struct {
	lateness         []float64 // ms, of every sample sent
	memoryMB, cpu    []float64 // a prober: resident megabytes, processors while it measures
	planned, missing int
	unsent           int // samples that never left
}

// mesh runs sweeps of more and more probers on this machine, and looks at how late their
// samples left.
func (b *bench) mesh(ctx context.Context) error {
	app := filepath.Join(b.programs, "mesh")
	if err := b.pack(ctx, app); err != nil {
		return err
	}
	carried, more := 0, true
	for _, n := range meshSizes {
		c, err := b.crowd(ctx, n, filepath.Join(app, "app"))
		if err != nil {
			return fmt.Errorf("%d probers: %w", n, err)
		}
		p50, p99 := quantile(c.lateness, 0.5), quantile(c.lateness, 0.99)
		b.say("%d probers, %d runs, %d without a result, %.0f samples a second, %d never sent: sends %.3f ms late at p50, %.3f ms at p99; a prober %.1f MB, %.1f %% of a processor at the median",
			n, c.planned, c.missing, float64(3*n*(n-1)), c.unsent, p50, p99, median(c.memoryMB), 100*median(c.cpu))
		if more = more && p99 < lateBarMS && c.missing == 0 && c.unsent == 0; more {
			carried = n
		}
		if n == meshSizes[len(meshSizes)-1] {
			b.figure(fmt.Sprintf("mesh_%d_lateness_p50", n), p50, "ms", nil)
			b.figure(fmt.Sprintf("mesh_%d_lateness_p99", n), p99, "ms", nil)
			b.figure(fmt.Sprintf("mesh_%d_memory", n), median(c.memoryMB), "MB", nil)
			b.figure(fmt.Sprintf("mesh_%d_cpu", n), median(c.cpu), "processors", nil)
		}
	}
	b.figure("mesh_probers_below_5ms_p99", float64(carried), "probers", nil)
	return nil
}

// crowd runs one sweep of n probers.
func (b *bench) crowd(ctx context.Context, n int, app string) (c crowd, err error) {
	dir, err := os.MkdirTemp("", "isochrone-mesh-")
	if err != nil {
		return c, fmt.Errorf("making a folder for the mesh: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{
		Root: b.root, Dir: dir, Prober: filepath.Join(b.programs, "prober"), AppDir: app, Config: []byte(meshConfig(n)),
		SweepSchedule: "0 0 3 1 1 *", IngestSchedule: "*/5 * * * * *", // the sweep is asked for by hand
		Poll: time.Second, Heartbeat: 5 * time.Second, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	var before []usage
	for _, p := range s.Config.Probers {
		before = append(before, usageOf(s.Prober(p.ID).PID()))
	}
	outcome, err := s.Sweep(ctx, nil)
	if err != nil {
		return c, err
	}
	for i, p := range s.Config.Probers {
		now := usageOf(s.Prober(p.ID).PID())
		c.memoryMB = append(c.memoryMB, now.megabytes)
		c.cpu = append(c.cpu, (now.seconds-before[i].seconds)/meshSeconds)
	}
	c.planned, c.missing = outcome.Planned, len(outcome.Missing)
	c.lateness, c.unsent, err = lateness(ctx, s, outcome.Slot)
	return c, err
}

// meshConfig is the configuration of n probers, two a region where they do not suffice.
func meshConfig(n int) string {
	var out strings.Builder
	out.WriteString("version: 1\nenvironment: mesh\nloopback: true\ntiming: {lead: 10s, late: 1m, grace: 1m}\nprobers:\n")
	var regions []string
	for _, r := range catalog.Regions() {
		if r.OffersCustomers {
			regions = append(regions, r.Name)
		}
	}
	for i := range n {
		region := regions[i%len(regions)]
		_, _ = fmt.Fprintf(&out, "  - {region: %s, id: p%02d, addresses: {public: [127.0.1.%d/32]}}\n", region, i, i+1)
	}
	out.WriteString("probes:" + meshProbes)
	return out.String()
}

// lateness reads how late the samples of a slot left, in ms, and how many did not.
func lateness(ctx context.Context, s *stack.Stack, slot time.Time) (out []float64, unsent int, err error) {
	minute := slot.UTC().Format("1504") + "_"
	for blob, err := range s.Archive.Blobs(ctx, archive.Samples, slot) {
		if err != nil {
			return nil, 0, err
		}
		if !strings.HasPrefix(path.Base(blob.Name), minute) {
			continue
		}
		rows, _, err := s.Archive.ReadSamples(ctx, blob.Name)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range rows {
			if r.SentNS == nil {
				unsent++
				continue
			}
			out = append(out, float64(*r.SentNS-r.DueNS)/1e6)
		}
	}
	if len(out) == 0 {
		return nil, 0, errors.New("no sample was sent")
	}
	return out, unsent, nil
}

// usage is what a process has used so far.
type usage struct{ seconds, megabytes float64 }

// usageOf reads /proc (proc_pid_stat(5), proc_pid_status(5)); zero for a process that is gone.
func usageOf(pid int) (u usage) {
	const ticks = 100 // USER_HZ, the same on every Linux architecture that Go knows
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	if text, err := os.ReadFile(filepath.Join(folder, "stat")); err == nil {
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 12 {
			user, _ := strconv.ParseFloat(fields[11], 64)
			system, _ := strconv.ParseFloat(fields[12], 64)
			u.seconds = (user + system) / ticks
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "status")); err == nil {
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				kilobytes, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
				u.megabytes = kilobytes / 1024
			}
		}
	}
	return u
}

// pack makes the packaged Functions app in a folder.
func (b *bench) pack(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./infra/pack", "-out", to)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("packaging the app: %w\n%s", err, out)
	}
	return nil
}
