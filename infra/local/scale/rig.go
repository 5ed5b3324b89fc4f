package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/bare"
	"isochrone/infra/local/functionshost"
	"isochrone/infra/local/simulated"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// never is a schedule that is not due while this runs: every invocation is asked for.
const never = "0 0 3 1 1 *"

// rig is one emulator with the app under the Functions host and its simulated probers. App and probers
// reach storage through proxies of their own.
type rig struct {
	config  *config.Config
	server  *azurite.Server
	app     *proxy
	outside *proxy // of the probers
	host    *functionshost.Host
	watch   *watch
	probers []*simulated.Prober
	blobs   *archive.Store // past the proxies
	rows    *tables.Store
	slot    time.Time            // of the sweep
	read    map[string]bare.Rows // of the large tables, once
}

func (s *scale) newRig(ctx context.Context, n int, seed uint64) (_ *rig, err error) {
	r := &rig{watch: newWatch(), read: map[string]bare.Rows{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	text := configuration(n, s.count)
	if r.config, err = config.Parse(text); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if r.server, err = s.emulator(ctx); err != nil {
		return nil, err
	}
	if r.app, err = newProxy(r.server); err != nil {
		return nil, err
	}
	if r.outside, err = newProxy(r.server); err != nil {
		return nil, err
	}
	if r.blobs, err = archive.Open(r.server.Account(), environment); err != nil {
		return nil, err
	}
	if r.rows, err = tables.Open(r.server.Account(), environment); err != nil {
		return nil, err
	}
	// As the templates do it: what is measured is a sweep, not a first start.
	if err := errors.Join(r.blobs.Ensure(ctx), r.rows.Ensure(ctx, time.Now()), r.blobs.PutConfig(ctx, text)); err != nil {
		return nil, err
	}
	if r.probers, err = simulated.OpenAll(r.outside.account, r.config, seed); err != nil {
		return nil, err
	}
	r.host, err = functionshost.Start(ctx, functionshost.Options{
		AppDir: s.app, Account: r.server.Account(), HostID: "isochrone-" + environment, Log: slog.New(r.watch),
		Settings: map[string]string{
			account.EnvEnvironment: environment, account.EnvConnectionString: r.app.account.ConnectionString,
			"SWEEP_SCHEDULE": never, "INGEST_SCHEDULE": never, "ROLLUP_SCHEDULE": never, "COMPACT_SCHEDULE": never,
		},
	})
	return r, err
}

// emulator starts a storage emulator with nothing in it.
func (s *scale) emulator(ctx context.Context) (*azurite.Server, error) {
	dir, err := os.MkdirTemp(s.dir, "azurite-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the storage emulator: %w", err)
	}
	return azurite.Start(ctx, azurite.Options{Root: s.root, Location: dir})
}

func (r *rig) stop() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if r.host != nil {
		err = errors.Join(err, r.host.Stop(ctx))
	}
	for _, p := range []*proxy{r.app, r.outside} {
		if p != nil {
			err = errors.Join(err, p.stop())
		}
	}
	if r.server != nil {
		err = errors.Join(err, r.server.Stop())
	}
	return err
}

// stage is what a part of a sweep took.
type stage struct {
	took      time.Duration
	processor time.Duration // of the handler
	emulator  time.Duration // the storage emulator's processor time, which Azure does not charge
	peakMB    float64       // of the handler
	usage
}

// invoke has a function called, and measures it.
func (r *rig) invoke(ctx context.Context, function string) (out stage, requests []request, err error) {
	pid := r.host.HandlerPID()
	if err := resetPeak(pid); err != nil {
		return out, nil, err
	}
	before, storageBefore, err := r.processorTimes(pid)
	if err != nil {
		return out, nil, err
	}
	r.app.take()
	if err := r.host.Fire(ctx, function); err != nil {
		return out, nil, err
	}
	if out.took, err = r.watch.wait(ctx, function); err != nil {
		return out, nil, err
	}
	after, storageAfter, err := r.processorTimes(pid)
	if err != nil {
		return out, nil, err
	}
	out.processor, out.emulator = after-before, storageAfter-storageBefore
	if out.peakMB, err = peakMB(pid); err != nil {
		return out, nil, err
	}
	requests = r.app.take()
	out.usage = sum(requests)
	return out, requests, nil
}

func (r *rig) processorTimes(handler int) (app, storage time.Duration, err error) {
	if app, err = processorTime(handler); err != nil {
		return 0, 0, err
	}
	storage, err = processorTime(r.server.PID())
	return app, storage, err
}
