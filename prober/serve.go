package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/probe"
	"isochrone/prober/reflect"
	"isochrone/prober/spool"
	"isochrone/prober/wire"
)

// deliveryBound is how long a prober that was told to stop tries to deliver what it has. With two
// seconds for what is in flight it stays below the ten that container hosts grant.
const deliveryBound = 6 * time.Second

// serve is the prober, from its first registration until ctx ends. Being told to stop is no
// error.
func serve(ctx context.Context, s settings, log *slog.Logger) (err error) {
	begun := time.Now()
	uptime := func() time.Duration { return time.Since(begun) } // by begun's monotonic reading
	var documents *spool.Spool
	m := newMetrics(func() spool.Stats { return documents.Stats() })
	c := &courier{metrics: m, log: log, wake: make(chan struct{}, 1), last: make(chan struct{}), batch: s.spool.batch}
	if documents, err = openSpool(ctx, s.spool, uptime, c.gaveUp, log); errors.Is(err, context.Canceled) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, documents.Close())
		if n := documents.Stats().Unsaved; n > 0 {
			log.Error("documents that only memory had are lost", "documents", n)
		}
	}()
	box, err := mailbox.Open(s.account, s.environment, s.prober, nil)
	if err != nil {
		return err
	}
	probes, err := listen(ctx, s.listen, true, true)
	if err != nil {
		return err
	}
	local, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.health)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for health checks on %q: %w", s.health, err), probes.close())
	}
	log.Info("serving health", "address", local.Addr().String())
	log.Info("reflecting", "address", probes.tcp.Addr().String(), "udp_address", probes.udp.LocalAddr().String())

	c.inbox, c.spool = box, documents
	started := time.Now().UTC() // not before this process alone has the spool
	held := newClaim(started)
	h := newHealth(uptime, held, s.poll, s.heartbeat)
	reflector := reflect.New(reflect.Config{Observer: m, Now: time.Now, Uptime: uptime, Log: log, ClockError: clockErrorNS})
	a := &agent{
		settings: s, now: time.Now, log: log, metrics: m, health: h, claim: held,
		current: box, reflector: reflector, prober: probe.New(probe.NewPacer(max(runtime.GOMAXPROCS(0)-1, 1))),
		courier: c, taken: map[string]time.Time{},
	}
	r := &registrar{book: box, registration: registration(s, started, probes), now: time.Now, log: log, metrics: m, health: h, claim: held}
	return supervise(ctx, log, c, []task{
		a.run,
		r.run,
	}, append(probes.serve(reflector),
		func(ctx context.Context) error { return serveLocal(ctx, local, h, m) },
	))
}

// task runs until its context ends; an error before that breaks the prober.
type task func(context.Context) error

// supervise runs the tasks and the courier. When ctx ends, or a task breaks, it first stops the
// workers, which finish what they measure, then lets the courier deliver within deliveryBound,
// and stops the servers last: other probers' runs go on meanwhile.
func supervise(ctx context.Context, log *slog.Logger, c *courier, workers, servers []task) error {
	working, stopWorking := context.WithCancelCause(ctx)
	defer stopWorking(nil)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	delivering, stopDelivering := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	defer stopDelivering()
	var workersDone, serversDone, courierDone sync.WaitGroup
	start := func(group *sync.WaitGroup, ctx context.Context, t task) {
		group.Go(func() {
			if err := t(ctx); err != nil {
				stopWorking(err)
			}
		})
	}
	for _, t := range servers {
		start(&serversDone, serving, t)
	}
	courierDone.Go(func() { c.run(delivering) })
	for _, t := range workers {
		start(&workersDone, working, t)
	}

	<-working.Done()
	workersDone.Wait()
	close(c.last)
	bound := time.AfterFunc(deliveryBound, stopDelivering)
	courierDone.Wait()
	bound.Stop()
	stopServing()
	serversDone.Wait()
	log.Info("stopped", "undelivered", c.spool.Len())
	if ctx.Err() == nil {
		return context.Cause(working)
	}
	return nil
}

// registration is what this prober says of itself, heartbeat and clock error left out.
func registration(s settings, started time.Time, probes sockets) wire.Registration {
	r := wire.Registration{
		Version: wire.RegistrationVersion, Environment: s.environment, Prober: s.prober, Region: s.region,
		Started: started, HeartbeatInterval: s.heartbeat, ReadsAssignments: []int{wire.AssignmentsVersion},
		Provenance: provenance(s),
	}
	for _, a := range s.addresses {
		a.TCPPort, a.UDPPort = probes.ports()
		r.Addresses = append(r.Addresses, a)
	}
	return r
}

func provenance(s settings) wire.Provenance {
	return wire.Provenance{ProberVersion: version, ImageDigest: s.imageDigest, VMSize: s.vmSize}
}
