package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/sweep/tables"
)

// Hours is where runs, marks and hours lie (tables.Store). All may be called at once, from several
// processes; a call that fails may have been carried out all the same, and may be made again.
type Hours interface {
	// HourMarks lists the hours whose runs have changed.
	HourMarks(ctx context.Context) ([]tables.HourMark, error)
	// ClearHour takes a mark away if it is still the one that was read; gone says that there is none.
	ClearHour(ctx context.Context, m tables.HourMark) (gone bool, err error)
	// MarkHours marks hours of a source.
	MarkHours(ctx context.Context, source string, hours []time.Time) error
	// HourStamps reads what is stored of a source's hours.
	HourStamps(ctx context.Context, source string, since, until time.Time) ([]tables.Stamp, error)
	// HourRuns reads a source's runs in the order of their keys.
	HourRuns(ctx context.Context, source string, since, until time.Time) iter.Seq2[tables.Row, error]
	// WriteHours changes hours; the error has tables.ErrChanged in its chain where one is not as read.
	WriteHours(ctx context.Context, cs []tables.HourChange) error
}

// Profiles is where profiles lie, and the hours that they are made of (tables.Store). As Hours.
type Profiles interface {
	// KeepProfiles sees that a source is among the states.
	KeepProfiles(ctx context.Context, source string) error
	// ProfileStates lists of which day each source's profiles are.
	ProfileStates(ctx context.Context) ([]tables.ProfileState, error)
	// AdvanceProfiles notes the day, if the state is still the one that was read.
	AdvanceProfiles(ctx context.Context, was tables.ProfileState, day time.Time) error
	// ProfileStamps reads what is stored of a source's profiles.
	ProfileStamps(ctx context.Context, source string) ([]tables.Stamp, error)
	// Hours reads hours in the order of their keys.
	Hours(ctx context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error]
	// WriteProfiles changes profiles, as WriteHours hours.
	WriteProfiles(ctx context.Context, cs []tables.ProfileChange) error
}

// Watcher is told what the hours of a window came to, and of those that are gone, before their marks are taken
// away. Where it fails the marks stay, so that it is told of them again. It is called at once for several
// sources, and for several windows of one.
type Watcher interface {
	Watch(ctx context.Context, source string, levels []tables.Level) error
}

const (
	// concurrency is how many sources are in hand at once: enough to keep busy while storage answers.
	// Each takes some megabytes.
	concurrency = 4
	// rounds is how often a window is computed when somebody else computes it at the same time.
	rounds = 3
	// reserve is how long before the deadline nothing new is begun: a pass takes seconds. Of a short
	// time it is a quarter.
	reserve = 30 * time.Second
)

// Roller makes hours and profiles. Its methods may be called at once, and by several processes.
type Roller struct {
	Hours    Hours
	Profiles Profiles
	// Watcher may be nil.
	Watcher Watcher
	Now     func() time.Time
	Log     *slog.Logger
	// Progress, if it is set, is told what was done so far, after each window and each source's
	// profiles. It may be called at once.
	Progress func(Report)
}

// Report says what was done.
type Report struct {
	Windows int // passes over a source's runs
	Runs    int // that were read
	Written int // hours
	Removed int // hours without runs
	Same    int // hours whose inputs have not changed
	Cleared int // marks
	Left    int // marks that are left for the next time
	// Profiled counts the sources whose profiles were computed, and ProfilesWritten, ProfilesRemoved
	// and ProfilesSame their rows.
	Profiled, ProfilesWritten, ProfilesRemoved, ProfilesSame int
	// Waiting are sources whose profiles are due and were not computed.
	Waiting int
	// Unreadable are histograms that cannot be read: quantiles that need them are absent.
	Unreadable int
}

// LogValue implements slog.LogValuer.
func (r Report) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("windows", r.Windows), slog.Int("runs", r.Runs), slog.Int("written", r.Written), slog.Int("removed", r.Removed),
		slog.Int("same", r.Same), slog.Int("cleared", r.Cleared), slog.Int("left", r.Left), slog.Int("profiled", r.Profiled),
		slog.Int("profiles_written", r.ProfilesWritten), slog.Int("profiles_removed", r.ProfilesRemoved), slog.Int("profiles_same", r.ProfilesSame),
		slog.Int("waiting", r.Waiting), slog.Int("unreadable", r.Unreadable))
}

// tallier adds up a report that several add to.
type tallier struct {
	lock     sync.Mutex
	report   Report
	progress func(Report)
	stop     time.Time // when nothing new is begun any more; zero: never
}

func (r *Roller) begin(ctx context.Context) *tallier {
	t := &tallier{progress: r.Progress}
	if deadline, ok := ctx.Deadline(); ok {
		t.stop = deadline.Add(-min(reserve, time.Until(deadline)/4))
	}
	return t
}

// ending says whether nothing new is to be begun.
func (t *tallier) ending(ctx context.Context) bool {
	return ctx.Err() != nil || !t.stop.IsZero() && time.Now().After(t.stop)
}

func (t *tallier) add(what func(*Report)) {
	t.lock.Lock()
	what(&t.report)
	now := t.report
	t.lock.Unlock()
	if t.progress != nil {
		t.progress(now)
	}
}

// Run computes the hours that are marked, those of the present first, and the profiles of the sources
// whose profiles are not today's. A source whose hours of the profiles' days are still marked
// waits for them. What the deadline of ctx leaves no time for is left for the next time, and is no fault.
//
// The report is good when there is an error, too. A fault of one source keeps no other back.
func (r *Roller) Run(ctx context.Context) (Report, error) {
	t := r.begin(ctx)
	day := r.Now().UTC().Truncate(24 * time.Hour)
	marks, err := r.Hours.HourMarks(ctx)
	if err != nil {
		return t.report, fmt.Errorf("rolling up: %w", err)
	}
	hoursErr := r.windows(ctx, t, windowsOf(marks))
	profilesErr := r.dueProfiles(ctx, t, day)
	return t.report, errors.Join(hoursErr, profilesErr, ctx.Err())
}

// window is a part of a source's time that is read in one pass.
type window struct {
	source       string
	since, until time.Time
	marks        []tables.HourMark // of hours in it
	all          bool              // every hour of it is computed, and not only those that are marked
}

const (
	// gap is up to how far apart marked hours are read together: one more pass over a partition costs
	// more than some rows that are not needed.
	gap = 3 * time.Hour
	// longest bounds what a pass has to remember of the stored hours.
	longest = 7 * 24 * time.Hour
)

// windowsOf puts marks that are near each other together; the newest windows are first, so that after a
// replay of a year, or a first start with years of runs, the present is not kept waiting.
func windowsOf(marks []tables.HourMark) (out []window) {
	sorted := slices.SortedFunc(slices.Values(marks), func(a, b tables.HourMark) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), a.Begin.Compare(b.Begin))
	})
	for _, m := range sorted {
		if n := len(out) - 1; n >= 0 && out[n].source == m.Source && m.Begin.Sub(out[n].until) < gap && m.Begin.Sub(out[n].since) < longest {
			out[n].until = m.Begin.Add(time.Hour)
			out[n].marks = append(out[n].marks, m)
			continue
		}
		out = append(out, window{source: m.Source, since: m.Begin, until: m.Begin.Add(time.Hour), marks: []tables.HourMark{m}})
	}
	slices.SortStableFunc(out, func(a, b window) int { return b.until.Compare(a.until) })
	return out
}

// windows computes windows, a few at once.
func (r *Roller) windows(ctx context.Context, t *tallier, ws []window) error {
	var faults faultList
	builders := make(chan *hourBuilder, concurrency)
	for range concurrency {
		builders <- &hourBuilder{}
	}
	var g errgroup.Group
	g.SetLimit(concurrency)
	kept := newOnce(r.Profiles.KeepProfiles)
	for _, w := range ws {
		if t.ending(ctx) {
			t.add(func(p *Report) { p.Left += len(w.marks) })
			continue
		}
		g.Go(func() error {
			b := <-builders
			defer func() { builders <- b }()
			// The source is followed before its first hour is stored, or a crash could come between.
			err := kept.do(ctx, w.source)
			if err == nil {
				err = r.window(ctx, t, b, w)
			}
			if err != nil {
				faults.add(fmt.Errorf("rolling up the hours of %q from %s to %s: %w", w.source, w.since.Format(time.RFC3339), w.until.Format(time.RFC3339), err))
				t.add(func(p *Report) { p.Left += len(w.marks) })
			}
			return nil
		})
	}
	_ = g.Wait() // the faults are kept apart
	return faults.err()
}

// window computes a window until its hours are stored, and takes its marks away.
func (r *Roller) window(ctx context.Context, t *tallier, b *hourBuilder, w window) error {
	for round := 1; ; round++ {
		p := pass{Roller: r, window: w, builder: b, wrote: map[int64]bool{}}
		err := p.run(ctx)
		t.add(func(to *Report) {
			to.Windows++
			to.Runs, to.Written, to.Removed, to.Same, to.Unreadable = to.Runs+p.runs, to.Written+p.written, to.Removed+p.removed, to.Same+p.same, to.Unreadable+p.unreadable
		})
		if p.unreadable > 0 {
			r.Log.Warn("some histograms of runs cannot be read: the quantiles of their hours are absent", "source", w.source, "since", w.since, "until", w.until, "count", p.unreadable)
		}
		if err == nil && r.Watcher != nil {
			if err := r.Watcher.Watch(ctx, w.source, p.levels); err != nil {
				return err
			}
		}
		if err == nil {
			return r.clear(ctx, t, &p)
		}
		if !errors.Is(err, tables.ErrChanged) || round == rounds || ctx.Err() != nil {
			return err
		}
		// Somebody else computes the same: what they stored is read, and the rest done.
	}
}

// clear takes the marks of a window away. Where somebody else has taken one away and this pass wrote
// something of that hour, the hour is marked once more: the other may have read newer runs, have
// found what they came to already stored, and not have seen this pass write over it.
func (r *Roller) clear(ctx context.Context, t *tallier, p *pass) error {
	var again []time.Time
	cleared := 0
	for _, m := range p.marks {
		gone, err := r.Hours.ClearHour(ctx, m)
		if err != nil {
			return err
		}
		if gone && p.wrote[m.Begin.Unix()] {
			again = append(again, m.Begin)
		} else {
			cleared++
		}
	}
	t.add(func(to *Report) { to.Cleared, to.Left = to.Cleared+cleared, to.Left+len(again) })
	if len(again) == 0 {
		return nil
	}
	return r.Hours.MarkHours(ctx, p.source, again)
}

// faultList keeps the first faults of many.
type faultList struct {
	lock   sync.Mutex
	faults []error
	more   int
}

const fewFaults = 5

func (f *faultList) add(err error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.faults) < fewFaults {
		f.faults = append(f.faults, err)
	} else {
		f.more++
	}
}

func (f *faultList) err() error {
	if f.more > 0 {
		return errors.Join(append(f.faults, fmt.Errorf("and %d faults more", f.more))...)
	}
	return errors.Join(f.faults...)
}

// once calls a function once for each name, and again where it failed.
type once struct {
	call func(context.Context, string) error
	lock sync.Mutex
	done map[string]bool
}

func newOnce(call func(context.Context, string) error) *once {
	return &once{call: call, done: map[string]bool{}}
}

func (o *once) do(ctx context.Context, name string) error {
	o.lock.Lock()
	done := o.done[name]
	o.lock.Unlock()
	if done {
		return nil
	}
	if err := o.call(ctx, name); err != nil {
		return err
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	o.done[name] = true
	return nil
}
