package tables

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
)

// openPartition is the partition of the alerts table that holds the claims.
const openPartition = "open"

// alertKey is the key of an alert's row.
func alertKey(a *Alert) (partition, row string, err error) {
	if err := validAlert(a); err != nil {
		return "", "", err
	}
	r, err := rev(a.Since)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return checked(string(a.Kind), join(r, a.Subject))
}

func claimKey(a *Alert) (partition, row string, err error) {
	if err := validAlert(a); err != nil {
		return "", "", err
	}
	return checked(openPartition, join(string(a.Kind), a.Subject))
}

func validAlert(a *Alert) error {
	if !slices.Contains(AlertKinds(), a.Kind) || !a.Since.Equal(a.Since.Truncate(time.Second)) {
		return fmt.Errorf("%w: alert of kind %q since %s: want one of %q, and a whole second", ErrRefused, a.Kind, a.Since.Format(time.RFC3339Nano), AlertKinds())
	}
	for _, part := range strings.Split(a.Subject, "|") {
		if err := wire.ValidateName("part of an alert's series", part); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return nil
}

// Claims lists the alerts that last, by kind and subject.
func (s *Store) Claims(ctx context.Context) ([]Claim, error) {
	out, err := collect(scanAs(ctx, s, s.name(alertsTable), keyRange{partition: openPartition}.filter(), 0, claimFields))
	if err != nil {
		return nil, fmt.Errorf("listing the open alerts: %w", err)
	}
	return out, nil
}

// Claim puts a claim in the place of the one that was read, or of none. mine is false where somebody else's is
// there by now: then nothing was written. A write whose answer was lost is found to be one's own.
func (s *Store) Claim(ctx context.Context, was *Claim, is Claim) (mine bool, err error) {
	partition, row, err := claimKey(&is.Alert)
	if err != nil {
		return false, fmt.Errorf("claiming an alert: %w", err)
	}
	is = claimAsStored(is)
	e, err := encode(partition, row, claimFields, &is)
	if err != nil {
		return false, fmt.Errorf("claiming an alert: %w", err)
	}
	decide := func(stored []byte) (entity, bool, error) {
		mine = false
		if stored == nil {
			mine = was == nil
			return e, mine, nil
		}
		var there Claim
		if err := decode(stored, claimFields, &there); err != nil {
			return entity{}, false, err
		}
		if there.sameState(&is) {
			mine = true
			return entity{}, false, nil
		}
		mine = was != nil && there.sameState(was)
		return e, mine, nil
	}
	if err := s.advance(ctx, s.name(alertsTable), partition, []update{{row, decide}}); err != nil {
		return false, fmt.Errorf("claiming alert %q: %w", row, err)
	}
	return mine, nil
}

// claimAsStored is a claim with its times as they come back from the service.
func claimAsStored(c Claim) Claim {
	c.At = c.At.UTC().Truncate(time.Microsecond)
	return c
}

func (c *Claim) sameState(o *Claim) bool {
	return c.State == o.State && c.Owner == o.Owner && c.Since.Equal(o.Since) && c.At.Equal(o.At.Truncate(time.Microsecond))
}

// ReleaseClaim takes a claim away, if it is still the one that is given; that it is gone, or another's, is no fault.
func (s *Store) ReleaseClaim(ctx context.Context, c Claim) error {
	partition, row, err := claimKey(&c.Alert)
	if err != nil {
		return fmt.Errorf("releasing an alert: %w", err)
	}
	body, etag, err := s.get(ctx, s.name(alertsTable), partition, row)
	if err != nil || body == nil {
		return err
	}
	var there Claim
	if err := decode(body, claimFields, &there); err != nil {
		return fmt.Errorf("releasing alert %q: %w", row, err)
	}
	if c = claimAsStored(c); !there.sameState(&c) {
		return nil
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		_, err := s.service.NewClient(s.name(alertsTable)).DeleteEntity(ctx, partition, row, &aztables.DeleteEntityOptions{IfMatch: to.Ptr(etag)})
		return err
	})
	if f := readFault(err); err == nil || f != nil && (f.missing() || f.conflict()) {
		return nil
	}
	return fmt.Errorf("releasing alert %q: %w", row, err)
}

// PutAlert writes the row of an alert that was raised. One that is there stays; over says that it has ended.
func (s *Store) PutAlert(ctx context.Context, a Alert) (over bool, err error) {
	a.Ended, a.EndMessage = time.Time{}, ""
	err = s.alert(ctx, &a, func(stored *Alert) bool {
		over = stored != nil && !stored.Ended.IsZero()
		return stored == nil
	})
	return over, err
}

// EndAlert notes that an alert is over, when, and why. One that has ended stays as it is.
func (s *Store) EndAlert(ctx context.Context, a Alert) error {
	return s.alert(ctx, &a, func(stored *Alert) bool {
		if stored == nil {
			return true
		}
		ended, why := a.Ended, a.EndMessage
		if !stored.Ended.IsZero() {
			return false
		}
		a = *stored
		a.Ended, a.EndMessage = ended, why
		return true
	})
}

// alert writes a over the stored row, or none, if decide says so, which may change it.
func (s *Store) alert(ctx context.Context, a *Alert, decide func(stored *Alert) bool) error {
	partition, row, err := alertKey(a)
	if err != nil {
		return fmt.Errorf("storing an alert: %w", err)
	}
	err = s.advance(ctx, s.name(alertsTable), partition, []update{{row, func(body []byte) (entity, bool, error) {
		var there *Alert
		if body != nil {
			there = &Alert{}
			if err := decode(body, alertFields, there); err != nil {
				return entity{}, false, err
			}
		}
		if !decide(there) {
			return entity{}, false, nil
		}
		a.Message, a.EndMessage = wire.CutDetail(a.Message), wire.CutDetail(a.EndMessage)
		e, err := encode(partition, row, alertFields, a)
		return e, true, err
	}}})
	if err != nil {
		return fmt.Errorf("storing alert %q %q: %w", partition, row, err)
	}
	return nil
}

// AlertQuery says which alerts to read.
type AlertQuery struct {
	Kind AlertKind // empty: all
	// Since and Until bound when what they are about began: Since <= since < Until. Zero is no bound.
	Since, Until time.Time
}

// Alerts reads alerts, kind by kind, and newest first within one.
func (s *Store) Alerts(ctx context.Context, q AlertQuery) iter.Seq2[Alert, error] {
	kinds := AlertKinds()
	if q.Kind != "" {
		if !slices.Contains(kinds, q.Kind) {
			return failed[Alert](fmt.Errorf("reading alerts: %w: no kind %q", ErrRefused, q.Kind))
		}
		kinds = []AlertKind{q.Kind}
	}
	var each []iter.Seq2[Alert, error]
	for _, kind := range kinds {
		keys := keyRange{partition: string(kind)}
		if !q.Until.IsZero() {
			r, err := rev(ceilSecond(q.Until).Add(-time.Second))
			if err != nil {
				return failed[Alert](fmt.Errorf("reading alerts: %w: %w", ErrRefused, err))
			}
			keys.rowFrom = r
		}
		if !q.Since.IsZero() {
			r, err := rev(ceilSecond(q.Since))
			if err != nil {
				return failed[Alert](fmt.Errorf("reading alerts: %w: %w", ErrRefused, err))
			}
			keys.rowBefore = r + "}" // behind "|", which follows the time
		}
		each = append(each, scanAs(ctx, s, s.name(alertsTable), keys.filter(), 0, alertFields))
	}
	return chain(each)
}
