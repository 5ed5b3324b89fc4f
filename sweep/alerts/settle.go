package alerts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"isochrone/sweep/tables"
)

// The messages of the lines that tell of alerts. Alert rules match them: they stay as they are.
const (
	RaisedLine = "alert raised"
	EndedLine  = "alert ended"
)

// takeOver is how long after somebody began to tell he is taken to be gone: an invocation has five minutes.
const takeOver = 15 * time.Minute

// verdict is what was found of one subject.
type verdict int

const (
	unknown verdict = iota // neither: nothing is raised, and nothing ends
	raised
	over
)

// judgement is a verdict and what is to be told.
type judgement struct {
	verdict verdict
	alert   tables.Alert // its kind and subject are set whatever the verdict
	why     string       // it is over
}

// settle holds a judgement against what was told, and tells what has not been.
func (e *Evaluator) settle(ctx context.Context, j judgement) error {
	k := key{j.alert.Kind, j.alert.Subject}
	e.lock.Lock()
	claim, lasts := e.claims[k]
	e.lock.Unlock()
	if e.DryRun {
		e.note(j, claim, lasts)
		return nil
	}
	switch {
	case j.verdict == raised && !lasts:
		return e.raise(ctx, j.alert)
	case j.verdict == over && lasts && claim.State == tables.ClaimOpen:
		return e.end(ctx, claim, j.why)
	}
	return nil // what is being raised or ended is somebody's, or is resumed
}

// note is settle for those who only want to know.
func (e *Evaluator) note(j judgement, claim tables.Claim, lasts bool) {
	f := Finding{Alert: claim.Alert, State: StateLasts}
	switch {
	case !lasts && j.verdict == raised:
		f = Finding{Alert: j.alert, State: StateRaised}
		f.Raised = e.stamp()
	case !lasts:
		return
	case j.verdict == over:
		f.State, f.Ended, f.EndMessage = StateEnds, e.stamp(), j.why
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	e.findings = append(e.findings, f)
}

// stamp is now to a second, as rows have it.
func (e *Evaluator) stamp() time.Time { return e.Now().UTC().Truncate(time.Second) }

func (e *Evaluator) raise(ctx context.Context, a tables.Alert) error {
	a.Raised = e.stamp()
	c := tables.Claim{Alert: a, State: tables.ClaimRaising, Owner: e.owner, At: e.stamp()}
	mine, err := e.Rows.Claim(ctx, nil, c)
	if err != nil || !mine {
		return err
	}
	return e.tellRaised(ctx, c)
}

// tellRaised does what follows from a claim that is one's own: the row, the line, and the note that both
// were written.
func (e *Evaluator) tellRaised(ctx context.Context, c tables.Claim) error {
	over, err := e.Rows.PutAlert(ctx, c.Alert)
	if err != nil {
		return err
	}
	if over { // it was told by somebody who has seen more
		return e.Rows.ReleaseClaim(ctx, c)
	}
	e.line(ctx, slog.LevelWarn, RaisedLine, &c.Alert, c.Message)
	open := c
	open.State = tables.ClaimOpen
	if _, err := e.Rows.Claim(ctx, &c, open); err != nil {
		return err
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	e.claims[key{c.Kind, c.Subject}] = open
	e.report.Raised++
	return nil
}

func (e *Evaluator) end(ctx context.Context, was tables.Claim, why string) error {
	is := was
	is.State, is.Owner, is.At, is.Ended, is.EndMessage = tables.ClaimEnding, e.owner, e.stamp(), e.stamp(), why
	mine, err := e.Rows.Claim(ctx, &was, is)
	if err != nil || !mine {
		return err
	}
	return e.tellEnded(ctx, is)
}

func (e *Evaluator) tellEnded(ctx context.Context, c tables.Claim) error {
	if err := e.Rows.EndAlert(ctx, c.Alert); err != nil {
		return err
	}
	e.line(ctx, slog.LevelInfo, EndedLine, &c.Alert, c.EndMessage)
	if err := e.Rows.ReleaseClaim(ctx, c); err != nil {
		return err
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.claims, key{c.Kind, c.Subject})
	e.report.Ended++
	return nil
}

// line is what alert rules match: constant messages and keys.
func (e *Evaluator) line(ctx context.Context, level slog.Level, message string, a *tables.Alert, why string) {
	if a.Quiet {
		return
	}
	lasted := 0.0
	if !a.Ended.IsZero() {
		lasted = a.Ended.Sub(a.Since).Seconds()
	}
	e.Log.Log(ctx, level, message, "environment", e.Environment, "kind", string(a.Kind), "series", a.Subject, "since", a.Since, "lasted_s", lasted,
		"simulated", a.Simulated, "text", why)
}

// resume does what somebody began and did not get to the end of.
func (e *Evaluator) resume(ctx context.Context) error {
	for _, c := range e.lasting() {
		if e.DryRun || c.State == tables.ClaimOpen || c.At.After(e.Now().Add(-takeOver)) {
			continue
		}
		is := c
		is.Owner, is.At = e.owner, e.stamp()
		mine, err := e.Rows.Claim(ctx, &c, is)
		if err == nil && mine {
			if is.State == tables.ClaimRaising {
				err = e.tellRaised(ctx, is)
			} else {
				err = e.tellEnded(ctx, is)
			}
		}
		if err != nil {
			return fmt.Errorf("telling of the %s of %s: %w", c.Kind, c.Subject, err)
		}
	}
	return nil
}

// lasting are the claims that are known, by kind and subject.
func (e *Evaluator) lasting() []tables.Claim {
	e.lock.Lock()
	defer e.lock.Unlock()
	return slices.SortedFunc(maps.Values(e.claims), func(a, b tables.Claim) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject))
	})
}
