package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"isochrone/prober/wire"
)

// profilePartition is the partition of the dirty table that says whose profiles are kept, and of which
// day they are.
const profilePartition = "profile"

// ProfileState is the day on which a source's profiles were computed last.
type ProfileState struct {
	Source string
	Day    time.Time // its first instant; long ago when they never were
	ETag   string
}

// never is the day of profiles that were not computed yet.
var never = time.Unix(0, 0).UTC()

var stateFields = []field[ProfileState]{
	text("source", "prober whose profiles are kept", func(p *ProfileState) *string { return &p.Source }),
	instant("begin", "first instant of that day, UTC; 1970 when they never were", func(p *ProfileState) *time.Time { return &p.Day }),
}

// KeepProfiles sees that the profiles of a source are computed from now on.
func (s *Store) KeepProfiles(ctx context.Context, source string) error {
	op, err := stateChange(ProfileState{Source: source}, never)
	if err == nil {
		err = s.replace(ctx, s.name(dirtyTable), []operation{op})
	}
	if f := readFault(err); err == nil || f != nil && f.conflict() {
		return nil // it is there
	}
	return fmt.Errorf("noting that profiles of %q are to be kept: %w", source, err)
}

// ProfileStates lists the sources whose profiles are kept, by name.
func (s *Store) ProfileStates(ctx context.Context) (out []ProfileState, err error) {
	for body, err := range s.scan(ctx, s.name(dirtyTable), keyRange{partition: profilePartition}.filter(), 0) {
		var p ProfileState
		var key struct {
			ETag azcore.ETag `json:"odata.etag"`
		}
		if err == nil {
			err = decode(body, stateFields, &p)
		}
		if err == nil {
			err = json.Unmarshal(body, &key)
		}
		if err != nil {
			return nil, fmt.Errorf("reading of which day profiles are: %w", err)
		}
		p.ETag = string(key.ETag)
		out = append(out, p)
	}
	return out, nil
}

// AdvanceProfiles notes that the profiles of a source are those of a day, unless somebody else noted
// something since the state was read.
func (s *Store) AdvanceProfiles(ctx context.Context, was ProfileState, day time.Time) error {
	op, err := stateChange(was, day)
	if err == nil {
		err = s.replace(ctx, s.name(dirtyTable), []operation{op})
	}
	if f := readFault(err); err == nil || f != nil && f.conflict() {
		return nil
	}
	return fmt.Errorf("noting of which day the profiles of %q are: %w", was.Source, err)
}

func stateChange(was ProfileState, day time.Time) (operation, error) {
	if err := wire.ValidateName("source", was.Source); err != nil {
		return operation{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	e, err := encode(profilePartition, was.Source, stateFields, &ProfileState{Source: was.Source, Day: day})
	return change(e, Stamp{ETag: was.ETag}), err
}

// ProfileRow is the row key of a profile within its source's partition.
func ProfileRow(series wire.Series, hourOfDay int) (string, error) {
	if err := series.Validate(); err != nil {
		return "", err
	}
	if hourOfDay < 0 || hourOfDay > 23 {
		return "", fmt.Errorf("hour %d of the day: want 0 to 23", hourOfDay)
	}
	_, row, err := checked(series.Source, join(series.Target, series.Path, series.Probe, fmt.Sprintf("%02d", hourOfDay)))
	return row, err
}

// ProfileStamps reads what is stored of a source's profiles.
func (s *Store) ProfileStamps(ctx context.Context, source string) ([]Stamp, error) {
	err := wire.ValidateName("source", source)
	var out []Stamp
	if err == nil {
		out, err = s.stamps(ctx, s.name(profilesTable), keyRange{partition: source}.filter())
	}
	if err != nil {
		return nil, fmt.Errorf("reading the profiles of %q: %w", source, err)
	}
	return out, nil
}

// ProfileChange is one row of profiles that is to change: to Put, in place of the row that Was, or of
// none. Without Put the row is deleted.
type ProfileChange struct {
	Put    *Profile
	Source string // of a row to delete
	Was    Stamp
}

// WriteProfiles changes profiles, as WriteHours changes hours.
func (s *Store) WriteProfiles(ctx context.Context, cs []ProfileChange) error {
	ops := make([]operation, len(cs))
	for i := range cs {
		var err error
		if ops[i], err = s.profileChange(&cs[i]); err != nil {
			return fmt.Errorf("storing profiles: %w", err)
		}
	}
	if err := s.replace(ctx, s.name(profilesTable), ops); err != nil {
		return fmt.Errorf("storing profiles: %w", err)
	}
	return nil
}

func (s *Store) profileChange(c *ProfileChange) (operation, error) {
	if c.Put == nil {
		return removal(c.Source, c.Was)
	}
	if err := s.own(c.Put.Series.Environment); err != nil {
		return operation{}, fmt.Errorf("profile of %s: %w", c.Put.Series, err)
	}
	row, err := ProfileRow(c.Put.Series, c.Put.HourOfDay)
	if err != nil {
		return operation{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	e, err := encode(c.Put.Series.Source, row, profileFields, c.Put)
	return change(e, c.Was), err
}

// Profiles reads the profiles of a source, and of one target, path and probe where they are given.
func (s *Store) Profiles(ctx context.Context, source, target, path, probe string) iter.Seq2[Profile, error] {
	q := RunQuery{Source: source, Target: target, Path: path, Probe: probe}
	if err := q.validate(); err != nil || source == "" {
		return failed[Profile](fmt.Errorf("reading profiles: %w: want a source (%v)", ErrRefused, err))
	}
	filter, err := q.filter() // without times it is of keys and names alone
	if err != nil {
		return failed[Profile](fmt.Errorf("reading profiles: %w", err))
	}
	return func(yield func(Profile, error) bool) {
		for p, err := range scanAs(ctx, s, s.name(profilesTable), filter, 0, profileFields) {
			p.Series.Environment = s.environment
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}
