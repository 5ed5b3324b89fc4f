package compact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"isochrone/sweep/archive"
)

// statusVersion is that of Status.
const statusVersion = 1

// Status is what _status.json of the lake holds.
type Status struct {
	Version int `json:"version"`
	// Refreshed is when a file of the lake was last written.
	Refreshed time.Time   `json:"refreshed"`
	Days      []DayStatus `json:"days"` // by date and source
}

// DayStatus is what the lake has of a source's day.
type DayStatus struct {
	Date    string    `json:"date"`
	Source  string    `json:"src"`
	Rows    int64     `json:"rows"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	Written time.Time `json:"written"` // the newest of the files
}

// refresh puts the day, as it is in the lake now, into the status. All of it follows from the files, so one
// that was not brought up to date before a crash is the next time.
func (p *pass) refresh(ctx context.Context) error {
	for round := 1; ; round++ {
		err := p.putStatus(ctx)
		if !errors.Is(err, archive.ErrChanged) || round == 2*rounds {
			return err
		}
	}
}

func (p *pass) putStatus(ctx context.Context) error {
	body, etag, err := p.Lake.LakeNote(ctx, archive.StatusBlob)
	if err != nil {
		return err
	}
	s := Status{Version: statusVersion}
	if etag != "" {
		if err := json.Unmarshal(body, &s); err != nil || s.Version != statusVersion {
			return fmt.Errorf("reading %s of the lake: version %d: %w: this program knows version %d; deleted, it is made again by sweep compact --backfill --apply",
				archive.StatusBlob, s.Version, cmp.Or(err, errors.New("another version")), statusVersion)
		}
	}
	lake, err := p.readLake(ctx) // after the status: who writes later has read later
	if err != nil {
		return err
	}
	day := DayStatus{Date: p.Day.Format(time.DateOnly), Source: p.Source}
	for _, f := range lake {
		day.Rows, day.Files, day.Bytes = day.Rows+f.rows, day.Files+1, day.Bytes+f.Size
		if f.Written.After(day.Written) {
			day.Written = f.Written
		}
	}
	at, found := slices.BinarySearchFunc(s.Days, day, func(a, b DayStatus) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.Source, b.Source))
	})
	switch {
	case found && s.Days[at] == day, !found && day.Files == 0:
		return nil
	case day.Files == 0:
		s.Days = slices.Delete(s.Days, at, at+1)
	case found:
		s.Days[at] = day
	default:
		s.Days = slices.Insert(s.Days, at, day)
	}
	if day.Written.After(s.Refreshed) {
		s.Refreshed = day.Written
	}
	if body, err = json.MarshalIndent(s, "", " "); err != nil {
		return fmt.Errorf("writing the lake's status: %w", err)
	}
	return p.Lake.PutLakeNote(ctx, archive.StatusBlob, append(body, '\n'), etag)
}

// describe keeps _schema.json as the lake's files are.
func (c *Compactor) describe(ctx context.Context) error {
	want, err := archive.LakeSchema()
	if err != nil {
		return err
	}
	is, etag, err := c.Lake.LakeNote(ctx, archive.SchemaBlob)
	if err != nil || etag != "" && bytes.Equal(is, want) {
		return err
	}
	err = c.Lake.PutLakeNote(ctx, archive.SchemaBlob, want, etag)
	if errors.Is(err, archive.ErrChanged) {
		return nil // by another one of us, or by our own try whose answer was lost
	}
	return err
}
