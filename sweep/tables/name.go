package tables

import (
	"fmt"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// The first parts of the tables' names. The environment follows, and a month (yyyymm) or a year
// (yyyy) where the table holds one.
const (
	runsTables    = "runs"
	sweepsTables  = "sweeps"
	latestTable   = "latest"
	dirtyTable    = "dirty"
	probersTable  = "probers"
	hoursTables   = "hours"
	profilesTable = "profiles"
	seriesTable   = "series"
	levelsTable   = "levels"
	alertsTable   = "alerts"
	monthForm     = "200601"
	yearForm      = "2006"
	maxKeyLength  = 200
	maxUnixSecond = 9_999_999_999
)

// name is the table's name in the store's environment.
func (s *Store) name(kind string) string { return kind + s.environment }

// monthName is the name of the table that holds the slot's month. Environment names have no
// fixed length, months have, and no kind begins another, so no two of them give the same name.
func (s *Store) monthName(kind string, slot time.Time) string {
	return kind + s.environment + fourDigits(slot).Format(monthForm)
}

// fourDigits is the time in UTC, or the nearest one whose year has four digits: the fifth digit of
// another would be read as the end of an environment's name (dev in the year 12026, dev1 in 2026).
func fourDigits(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}

// rev is ten digits that fall as the slot rises, so that keys sort newest first and a retry
// hits the same row.
func rev(slot time.Time) (string, error) {
	u := slot.Unix()
	if u < 0 || u > maxUnixSecond {
		return "", fmt.Errorf("slot %s: want a time from 1970 to 2286", slot.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%010d", maxUnixSecond-u), nil
}

// runKey is the key of a run's row, and the one place where it is made.
func runKey(series wire.Series, slot time.Time) (partition, row string, err error) {
	if err := series.Validate(); err != nil {
		return "", "", err
	}
	r, err := rev(slot)
	if err != nil {
		return "", "", err
	}
	return checked(series.Source, join(series.Target, series.Path, series.Probe, r))
}

// latestKey is the key of a series' row in latest.
func latestKey(series wire.Series) (partition, row string, err error) {
	if err := series.Validate(); err != nil {
		return "", "", err
	}
	return checked(join(series.Path, series.Probe), join(series.Source, series.Target))
}

func join(parts ...string) string { return strings.Join(parts, "|") }

// checked refuses keys that the service refuses, or that the SDK changes (it doubles an
// apostrophe into the stored key). Names are validated before, so this is the second lock.
func checked(partition, row string) (string, string, error) {
	for _, k := range []string{partition, row} {
		if k == "" || len(k) >= maxKeyLength {
			return "", "", fmt.Errorf("key of %d characters: want 1 to %d", len(k), maxKeyLength-1)
		}
		for _, c := range k {
			if c < 0x20 || c > 0x7e || strings.ContainsRune(`/\#?'`, c) {
				return "", "", fmt.Errorf("key %q holds %q, which keys must not", k, c)
			}
		}
	}
	return partition, row, nil
}

// own refuses a series of another environment.
func (s *Store) own(environment string) error {
	if environment != s.environment {
		return fmt.Errorf("%w: it belongs to environment %q, this store to %q", ErrRefused, environment, s.environment)
	}
	return nil
}

// keyRange is a part of a table: the rows whose keys lie in it. Empty bounds are none.
type keyRange struct {
	partition          string // exactly
	partitionPrefix    string // when partition is empty
	rowFrom, rowBefore string // rowFrom <= row < rowBefore
}

// filter is the range in OData. Keys hold no apostrophes (see checked).
func (k keyRange) filter() string {
	var parts []string
	if k.partition != "" {
		parts = append(parts, "PartitionKey eq '"+k.partition+"'")
	} else if k.partitionPrefix != "" {
		parts = append(parts, "PartitionKey ge '"+k.partitionPrefix+"' and PartitionKey lt '"+after(k.partitionPrefix)+"'")
	}
	if k.rowFrom != "" {
		parts = append(parts, "RowKey ge '"+k.rowFrom+"'")
	}
	if k.rowBefore != "" {
		parts = append(parts, "RowKey lt '"+k.rowBefore+"'")
	}
	return strings.Join(parts, " and ")
}

// after is the first key behind all that begin with prefix.
func after(prefix string) string {
	return prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1)
}
