package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/tables"
)

// options say how much is simulated.
type options struct {
	seed    uint64
	start   time.Time
	days    int
	probers int
	rough   int           // how many times as much befalls it
	budget  time.Duration // of the machine's time, for the month without its end
	dir     string        // for spools, journals and logs
	// account is the storage emulator's, and emulator its process; 0 stands for one that is not looked at.
	account     account.Account
	emulator    int
	environment string
	out         io.Writer
}

// month is the simulation of a month, and what came of it so far.
type month struct {
	options
	clock   clock
	random  *rand.Rand
	weather *weather
	proxy   *proxy
	blobs   *archive.Store // not through the proxy
	rows    *tables.Store
	inbox   *azblob.Client

	handlers []*member // the first is never killed
	probers  []*member // likewise
	log      *os.File

	next time.Time // what the host's schedule status says of the Sweep timer
	away time.Time // until when the app is not there at all
	end  time.Time // of the slots that were simulated
	calm bool      // nothing befalls it any more
	// delayed says that the probers of this slot may hear of it late.
	delayed bool
	tally   tally
	weighs  []weighing
	planted
	unsent, sent []*foreign // by strangers
}

// tally counts what was done to the system, and what it answered.
type tally struct {
	slots, sweeps, missed, failedTicks, killedHandlers, killedProbers, jumps, outages, awake int
	received, expired, refused                                                               int
	dropped                                                                                  map[string]int // by prober process
}

// stepTime is how long the driver waits for an order; an order that takes longer goes on beside the next.
const stepTime = time.Second

func newMonth(ctx context.Context, o options) (m *month, err error) {
	m = &month{options: o, random: rand.New(rand.NewPCG(o.seed, 1)), weather: newWeather(o.seed), next: o.start, end: o.start}
	m.clock.set(o.start.Add(-time.Hour), 0)
	m.tally.dropped = map[string]int{}
	if m.log, err = os.Create(filepath.Join(o.dir, "children.log")); err != nil {
		return nil, err
	}
	direct := o.account
	through, p, err := openProxy(direct, m.weather, m.clock.month)
	if err != nil {
		return nil, err
	}
	m.proxy = p
	if m.blobs, err = archive.Open(direct, o.environment); err != nil {
		return m, err
	}
	if m.rows, err = tables.Open(direct, o.environment); err != nil {
		return m, err
	}
	if m.inbox, err = azblob.NewClientFromConnectionString(direct.ConnectionString, nil); err != nil {
		return m, err
	}
	sweepYAML := configuration(o.environment, o.probers)
	if err := errors.Join(m.blobs.Ensure(ctx), m.rows.Ensure(ctx, o.start)); err != nil {
		return m, err
	}
	if err := m.blobs.PutConfig(ctx, []byte(sweepYAML)); err != nil {
		return m, err
	}
	base := task{Account: through, Environment: o.environment, Config: sweepYAML}
	for i, name := range []string{"steady", "mortal"} {
		t := base
		t.Role, t.Name = "handler", name
		m.handlers = append(m.handlers, &member{task: t, steady: i == 0, log: m.log})
	}
	for i, r := range regions[:o.probers] {
		t := base
		t.Role, t.Name, t.Seed = "prober", r, o.seed*100+uint64(i)
		t.Spool, t.Journal = filepath.Join(o.dir, r, "spool"), filepath.Join(o.dir, r+".journal")
		m.probers = append(m.probers, &member{task: t, steady: i == 0, log: m.log})
	}
	return m, m.muster()
}

// crew are all members.
func (m *month) crew() []*member { return slices.Concat(m.handlers, m.probers) }

// muster starts whoever is due back.
func (m *month) muster() error {
	now := m.clock.month()
	for _, c := range m.crew() {
		if c.alive() != nil || now.Before(c.back) {
			continue
		}
		if err := c.start(now); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all that was started.
func (m *month) Close() error {
	var all sync.WaitGroup
	for _, c := range m.crew() {
		all.Go(c.stop)
	}
	all.Wait()
	var err error
	if m.proxy != nil {
		err = m.proxy.Close()
	}
	return errors.Join(err, m.log.Close())
}

func (m *month) say(format string, args ...any) { _, _ = fmt.Fprintf(m.out, format+"\n", args...) }

// run simulates the slots, a day after another, for as long as the machine's time allows.
func (m *month) run(ctx context.Context) error {
	begun := time.Now()
	for day := range m.days {
		for hour := range 24 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if time.Since(begun) > m.budget {
				m.say("the time is up: %d of %d days were simulated", day, m.days)
				return nil
			}
			slot := m.start.Add(time.Duration(day*24+hour) * time.Hour)
			if err := m.slot(ctx, slot); err != nil {
				return fmt.Errorf("slot %s: %w", slot.Format(time.RFC3339), err)
			}
			m.end = slot.Add(time.Hour)
		}
		if err := m.plant(ctx, m.end); err != nil {
			return err
		}
		m.tell(ctx, day, time.Since(begun))
	}
	return nil
}

// tell prints a day's line.
func (m *month) tell(ctx context.Context, day int, took time.Duration) {
	requests, faults, _ := m.weather.told()
	waiting, err := m.blobs.InboxSize(ctx)
	if err != nil {
		waiting = -1
	}
	t := m.tally
	m.say("day %2d %s  %3d sweeps %d missed  %d documents %d expired  %d requests %d faults  %d+%d kills %d jumps  %d in the inbox %d in spools  %d MB emulator  %s",
		day+1, m.start.AddDate(0, 0, day).Format(time.DateOnly), t.sweeps, t.missed, t.received, t.expired, requests, faults,
		t.killedHandlers, t.killedProbers, t.jumps, waiting, m.spooled(), residentOf(fmt.Sprint(m.emulator))>>20, took.Round(time.Second))
}

func (m *month) spooled() (n int) {
	for _, p := range m.probers {
		n += p.spooled
	}
	return n
}
