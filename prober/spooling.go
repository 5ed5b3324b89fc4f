package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"isochrone/prober/spool"
	"isochrone/prober/wire"
)

// spoolSettings say where documents wait for storage.
type spoolSettings struct {
	dir         string // "": memory
	bytes       int64
	ttl         time.Duration
	newestFirst bool
	batch       int64 // bytes delivered side by side
}

const (
	// lateLimit is how late the app takes documents; keeping them for longer would only have them
	// quarantined.
	lateLimit = 7 * 24 * time.Hour
	// memoryBytes bounds documents in memory: all without a folder, and with one those that its disk
	// does not take. At some 2 kB a run that is hours at the design point.
	memoryBytes = "64MiB"
	diskBytes   = "1GiB"
	// leastBytes has room for any document, with what the spool writes before it.
	leastBytes = wire.MaxDocumentBytes + 1<<20
	// lockPatience is how long a starting prober waits for one that is stopping to let go of the
	// folder; that one has ten seconds itself.
	lockPatience = 15 * time.Second
)

// readSpoolSettings reads ISOCHRONE_SPOOL_…; or gives a setting or, if it is not set, a default.
func readSpoolSettings(or func(name, byDefault string) string) (spoolSettings, error) {
	s := spoolSettings{dir: or("ISOCHRONE_SPOOL_DIR", "")}
	var faults []error
	byDefault := memoryBytes
	if s.dir != "" {
		byDefault = diskBytes
		if !filepath.IsAbs(s.dir) {
			faults = append(faults, named("ISOCHRONE_SPOOL_DIR", fmt.Errorf("%q: want an absolute path, such as /var/lib/isochrone/spool", s.dir)))
		}
	}
	var err error
	s.bytes, err = parseBytes(or("ISOCHRONE_SPOOL_BYTES", byDefault), leastBytes, 1<<40)
	faults = append(faults, named("ISOCHRONE_SPOOL_BYTES", err))
	s.ttl, err = parseInterval(or("ISOCHRONE_SPOOL_TTL", lateLimit.String()), time.Minute, lateLimit)
	faults = append(faults, named("ISOCHRONE_SPOOL_TTL", err))
	s.batch, err = parseBytes(or("ISOCHRONE_SPOOL_BATCH", "4MiB"), 1, 64<<20)
	faults = append(faults, named("ISOCHRONE_SPOOL_BATCH", err))
	switch order := or("ISOCHRONE_SPOOL_ORDER", "oldest"); order {
	case "oldest":
	case "newest":
		s.newestFirst = true
	default:
		faults = append(faults, named("ISOCHRONE_SPOOL_ORDER", fmt.Errorf("%q: want oldest or newest", order)))
	}
	return s, errors.Join(faults...)
}

func parseBytes(text string, least, most int64) (n int64, err error) {
	if err := (byteCount{&n}).Set(text); err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want from %d to %d bytes, such as 64MiB or 2GB", text, least, most)
	}
	return n, nil
}

// openSpool opens the spool. A folder that another prober has is waited for.
func openSpool(ctx context.Context, s spoolSettings, uptime func() time.Duration, dropped func(string, spool.Reason, error), log *slog.Logger) (*spool.Spool, error) {
	limit, err := parseBytes(memoryBytes, 1, 1<<40)
	if err != nil {
		return nil, err
	}
	o := spool.Options{
		Dir: s.dir, Bytes: s.bytes, MemoryBytes: min(limit, s.bytes), TTL: s.ttl, NewestFirst: s.newestFirst,
		Now: time.Now, Uptime: uptime, Dropped: dropped, Log: log,
	}
	for waited := time.Duration(0); ; waited += 250 * time.Millisecond {
		documents, err := spool.Open(o)
		switch {
		case err == nil:
			tellOfSpool(s, documents.Stats(), log)
			return documents, nil
		case !errors.Is(err, spool.ErrLocked) || waited >= lockPatience:
			return nil, err
		case waited == 0:
			log.Warn("another process has the spool: waiting for it to end", "folder", s.dir, "at_most", lockPatience)
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func tellOfSpool(s spoolSettings, found spool.Stats, log *slog.Logger) {
	if s.dir == "" {
		log.Warn("documents wait for storage in memory, and are lost if this process is killed: set ISOCHRONE_SPOOL_DIR to keep them on disk",
			"bytes", s.bytes, "ttl", s.ttl)
		return
	}
	log.Info("documents wait for storage on disk", "folder", s.dir, "bytes", s.bytes, "ttl", s.ttl,
		"found", found.Documents, "found_bytes", found.Bytes, "oldest", found.Oldest.Round(time.Second))
}
