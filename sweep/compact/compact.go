package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"isochrone/sweep/archive"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// Lake is where samples lie, as they came and compacted (archive.Store). All may be called at once, from
// several processes; a call that fails may have been carried out all the same, and may be made again.
// Errors have archive.ErrChanged in their chain where a blob is not as it was listed any more.
type Lake interface {
	// RawDays and LakeDays list the days that have files.
	RawDays(ctx context.Context) ([]archive.SourceDay, error)
	LakeDays(ctx context.Context) ([]archive.SourceDay, error)
	// RawSamples and LakeSamples list the files of a day.
	RawSamples(ctx context.Context, d archive.SourceDay) ([]archive.LakeBlob, error)
	LakeSamples(ctx context.Context, d archive.SourceDay) ([]archive.LakeBlob, error)
	// ReadRange reads a part of a listed file.
	ReadRange(ctx context.Context, b archive.LakeBlob, at, n int64) ([]byte, error)
	// WriteLake replaces the lake file with the ETag was, or creates it; readers see all of it or nothing.
	WriteLake(ctx context.Context, d archive.SourceDay, probe, was string, write func(io.Writer) error) error
	// DeleteRaw deletes a listed raw file.
	DeleteRaw(ctx context.Context, b archive.LakeBlob) error
	// LakeNote and PutLakeNote read and replace _schema.json and _status.json.
	LakeNote(ctx context.Context, name string) (body []byte, etag string, err error)
	PutLakeNote(ctx context.Context, name string, body []byte, was string) error
}

// Marks says which days have changed (tables.Store). As Lake.
type Marks interface {
	DayMarks(ctx context.Context) ([]tables.DayMark, error)
	// ClearDay takes a mark away if it is still the one that was read.
	ClearDay(ctx context.Context, m tables.DayMark) error
	MarkDay(ctx context.Context, source string, day time.Time) error
}

const (
	// settle is how long after its end a day is first compacted: its last runs are under way until then.
	settle = 30 * time.Minute
	// rawKept is how long after its day's end a raw file is kept at least: as long as documents of the day
	// are taken, and two days for whoever has to look at them.
	rawKept = ledger.LateLimit + 48*time.Hour
	// rounds is how often a day is begun again when somebody else works at it at the same time.
	rounds = 3
	// reserve is how long before the deadline nothing new is begun. Of a short time it is a quarter.
	reserve = time.Minute
	// fewFaults is how many faults are told of many.
	fewFaults = 5
	// maxTold bounds what a report tells one by one.
	maxTold = 100
)

// Compactor makes the lake. Its methods may be called at once, and by several processes.
type Compactor struct {
	Lake  Lake
	Marks Marks
	Now   func() time.Time
	Log   *slog.Logger
	// Folder is for temporary files; empty is the system's. They take some 30 bytes for each sample of a
	// day, source and probe.
	Folder string
	// Progress, if it is set, is told what was done so far.
	Progress func(Progress)
}

// Scope says what is to be done.
type Scope struct {
	// Since and Until limit the days: Since <= day < Until. Both are whole days; zero is no bound.
	Since, Until time.Time
	// All days are looked at, marked or not.
	All bool
	// Apply writes; without it the report says what would be done.
	Apply bool
}

// Progress says how far a call of Run is.
type Progress struct {
	Done, Of int // days of sources
	Day      archive.SourceDay
	Rows     int64 // written
}

// Report says what was done, or without Apply would be.
type Report struct {
	Days    int   // of sources, looked at
	Written int   // lake files
	Rows    int64 // of these, of what is read for them
	Same    int   // lake files whose inputs have not changed
	Deleted int   // raw files
	Freed   int64 // bytes of these
	Cleared int   // marks
	Left    int   // days that are left for the next time
	Waiting int   // marked days that are not over
	// Told are the first changes.
	Told []Change
}

// Change is a lake file that was written, or raw files of a day that were deleted.
type Change struct {
	archive.SourceDay
	Probe string // empty: raw files
	New   bool   // there was no lake file
	// Inputs counts raw files: read, deleted; Kept those whose rows came from the lake's own file.
	Inputs, Kept int
	Rows         int64 // of the lake file; 0: not known before it is written
}

// LogValue implements slog.LogValuer.
func (r Report) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("days", r.Days), slog.Int("written", r.Written), slog.Int64("rows", r.Rows), slog.Int("same", r.Same), slog.Int("deleted", r.Deleted),
		slog.Int64("freed_bytes", r.Freed), slog.Int("cleared", r.Cleared), slog.Int("left", r.Left), slog.Int("waiting", r.Waiting))
}

func (r *Report) tell(c Change) {
	if len(r.Told) < maxTold {
		r.Told = append(r.Told, c)
	}
}

// job is what is to be done with a day.
type job struct {
	archive.SourceDay
	mark    *tables.DayMark
	compact bool
	prune   bool // raw files may be deleted
}

// Run compacts the days of the scope that are marked, or all, the newest first, and deletes the raw files of
// those that are old enough. What the deadline of ctx leaves no time for is left for the next time,
// and is no fault. The report is good when there is an error, too; a fault of one day keeps no other back.
func (c *Compactor) Run(ctx context.Context, s Scope) (Report, error) {
	var report Report
	jobs, err := c.jobs(ctx, s, &report)
	if err != nil {
		return report, fmt.Errorf("compacting: %w", err)
	}
	var stop time.Time
	if deadline, ok := ctx.Deadline(); ok {
		stop = deadline.Add(-min(reserve, time.Until(deadline)/4))
	}
	var faults []error
	if s.Apply {
		if err := c.describe(ctx); err != nil {
			faults = append(faults, err)
		}
	}
	for i, j := range jobs {
		if ctx.Err() != nil || !stop.IsZero() && time.Now().After(stop) {
			report.Left += len(jobs) - i
			break
		}
		if c.Progress != nil {
			c.Progress(Progress{i, len(jobs), j.SourceDay, report.Rows})
		}
		report.Days++
		if err := c.day(ctx, j, s.Apply, stop, &report); err != nil {
			report.Left++
			faults = append(faults, fmt.Errorf("compacting %s of %q: %w", j.Day.Format(time.DateOnly), j.Source, err))
		}
	}
	if n := len(faults) - fewFaults; n > 0 {
		faults = append(faults[:fewFaults], fmt.Errorf("and %d faults more", n))
	}
	return report, errors.Join(append(faults, ctx.Err())...)
}

// jobs are the days to look at. Marks are read before anything else is.
func (c *Compactor) jobs(ctx context.Context, s Scope, report *Report) ([]job, error) {
	marks, err := c.Marks.DayMarks(ctx)
	if err != nil {
		return nil, err
	}
	now := c.Now().UTC()
	found := map[archive.SourceDay]*job{}
	at := func(d archive.SourceDay) *job {
		if d.Day.Before(s.Since) || !s.Until.IsZero() && !d.Day.Before(s.Until) {
			return nil
		}
		if found[d] == nil {
			found[d] = &job{SourceDay: d}
		}
		return found[d]
	}
	over := func(d archive.SourceDay) bool { return !now.Before(d.Day.Add(24*time.Hour + settle)) }
	for _, m := range marks {
		d := archive.SourceDay{Source: m.Source, Day: m.Begin.UTC()}
		if j := at(d); j != nil && over(d) {
			j.mark, j.compact = &m, true
		} else if j != nil {
			report.Waiting++
			delete(found, d)
		}
	}
	raw, err := c.Lake.RawDays(ctx)
	if err != nil {
		return nil, err
	}
	var lake []archive.SourceDay
	if s.All { // files of the lake whose raw files are gone belong into the status
		if lake, err = c.Lake.LakeDays(ctx); err != nil {
			return nil, err
		}
	}
	for _, d := range raw {
		old := !now.Before(d.Day.Add(24*time.Hour + rawKept))
		if !old && !s.All || !over(d) {
			continue
		}
		if j := at(d); j != nil {
			j.prune, j.compact = old, j.compact || s.All
		}
	}
	for _, d := range lake {
		if j := at(d); j != nil && over(d) {
			j.compact = true
		} else if j != nil {
			delete(found, d)
		}
	}
	var out []job
	for _, j := range found {
		out = append(out, *j)
	}
	slices.SortFunc(out, func(a, b job) int { return cmp.Or(b.Day.Compare(a.Day), cmp.Compare(a.Source, b.Source)) })
	return out, nil
}

// day does one job until nobody else comes between.
func (c *Compactor) day(ctx context.Context, j job, apply bool, stop time.Time, report *Report) error {
	for round := 1; ; round++ {
		p := pass{Compactor: c, job: j, apply: apply, stop: stop}
		err := p.run(ctx)
		report.Written, report.Rows, report.Deleted, report.Freed = report.Written+p.written, report.Rows+p.rows, report.Deleted+p.deleted, report.Freed+p.freed
		for _, t := range p.told {
			report.tell(t)
		}
		if err == nil {
			report.Same, report.Cleared, report.Left = report.Same+p.same, report.Cleared+p.cleared, report.Left+p.left
			return nil
		}
		if !errors.Is(err, archive.ErrChanged) || round == rounds || ctx.Err() != nil {
			return err
		}
	}
}
