package doctor

import (
	"context"
	"fmt"
	"time"
)

const (
	// mostWaiting bounds how many documents of a folder are looked at.
	mostWaiting = 100
	// waitingNoticed is how long a document may lie in the inbox: Ingest runs every minute.
	waitingNoticed = 5 * time.Minute
	// hoursNoticed is how long after its end an hour may wait: Rollup runs every hour.
	hoursNoticed = 3 * time.Hour
	// daysNoticed is how long after its end a day may wait: Compact runs every hour.
	daysNoticed = 6 * time.Hour
	// quarantineDays is how far back the quarantine is looked at.
	quarantineDays = 7
	// mostHeld bounds how much of it is counted.
	mostHeld = 1000
)

func (e *examination) waiting(ctx context.Context) error {
	n, old, attempts := 0, 0, 0
	var oldest time.Time
	for it, err := range e.Blobs.Inbox(ctx, mostWaiting) {
		if err != nil {
			return err
		}
		n++
		if it.Created.IsZero() {
			continue
		}
		if oldest.IsZero() || it.Created.Before(oldest) {
			oldest = it.Created
		}
		if e.now.Sub(it.Created) > waitingNoticed {
			old++
			attempts = max(attempts, it.Attempts)
		}
	}
	if old == 0 {
		e.ok(CheckInbox, "", "%s, none for longer than %s", plural(n, "document waits", "documents wait"), age(waitingNoticed))
		return nil
	}
	e.found(CheckInbox, "", Fault, fmt.Sprintf("%s for longer than %s, the oldest for %s, opened up to %s",
		plural(old, "document waits", "documents wait"), age(waitingNoticed), age(e.now.Sub(oldest)), plural(attempts, "time", "times")),
		"see what Ingest says in the app's log: whether it runs every minute (INGEST_SCHEDULE), what storage answers it, whether a sender holds a lease")
	return nil
}

func (e *examination) hours(ctx context.Context) error {
	marks, err := e.Rows.HourMarks(ctx)
	if err != nil {
		return err
	}
	n := 0
	var oldest time.Time
	for _, m := range marks {
		if e.now.Sub(m.Begin.Add(time.Hour)) <= hoursNoticed {
			continue
		}
		if n++; oldest.IsZero() || m.Begin.Before(oldest) {
			oldest = m.Begin
		}
	}
	if n == 0 {
		e.ok(CheckHours, "", "no hour waits to be computed but the last ones")
		return nil
	}
	e.found(CheckHours, "", Warning, fmt.Sprintf("%s to be computed, the oldest %s", plural(n, "hour of a prober waits", "hours of probers wait"), stamp(oldest)),
		"nothing after an upgrade or late documents, if it becomes less; else see what Rollup says in the app's log (ROLLUP_SCHEDULE), or compute them with: sweep rollup")
	return nil
}

func (e *examination) lake(ctx context.Context) error {
	marks, err := e.Rows.DayMarks(ctx)
	if err != nil {
		return err
	}
	n := 0
	var oldest time.Time
	for _, m := range marks {
		if e.now.Sub(m.Begin.AddDate(0, 0, 1)) <= daysNoticed {
			continue
		}
		if n++; oldest.IsZero() || m.Begin.Before(oldest) {
			oldest = m.Begin
		}
	}
	if n == 0 {
		e.ok(CheckLake, "", "no day waits to be compacted but the last one")
		return nil
	}
	e.found(CheckLake, "", Warning, fmt.Sprintf("%s to be compacted, the oldest %s", plural(n, "day of a prober waits", "days of probers wait"), oldest.UTC().Format(time.DateOnly)),
		"nothing after an upgrade or late documents, if it becomes less; else see what Compact says in the app's log (COMPACT_SCHEDULE), or do it with: sweep compact --apply")
	return nil
}

func (e *examination) quarantine(ctx context.Context) error {
	stages := newTop()
	n := 0
	for held, err := range e.Blobs.Quarantined(ctx, e.now.AddDate(0, 0, -quarantineDays), "") {
		if err != nil {
			return err
		}
		stages.add(held.Why.Stage, 1)
		if n++; n == mostHeld {
			break
		}
	}
	if n == 0 {
		e.ok(CheckQuarantine, "", "nothing was refused in the last %d days", quarantineDays)
		return nil
	}
	e.found(CheckQuarantine, "", Warning, fmt.Sprintf("%s in the last %d days, most at stage %q", plural(n, "document was refused", "documents were refused"), quarantineDays, stages.first()),
		"sweep quarantine list names each with its reason, and what to do")
	return nil
}
