package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/sweep/inbox"
)

const (
	maxReasonBytes    = 64 << 10
	maxHeldBytes      = 2 * maxDocumentBytes // of one that was too large
	reasonsAtOnce     = 32
	reasonExtension   = "reason.json"
	quarantineDayForm = "date=2006-01-02"
)

// Quarantined lists what lies in quarantine, newest first: by the day on which it came, and then by
// when it was refused. Days before since are left out, and with a prefix of a body's hash all others.
// It ends with the first error.
func (s *Store) Quarantined(ctx context.Context, since time.Time, prefix string) iter.Seq2[inbox.Held, error] {
	return func(yield func(inbox.Held, error) bool) {
		days, err := s.folders(ctx, s.quarantineContainer(), "")
		if err != nil {
			yield(inbox.Held{}, err)
			return
		}
		slices.Sort(days)
		for _, folder := range slices.Backward(days) {
			day, err := time.Parse(quarantineDayForm, strings.TrimSuffix(folder, "/"))
			if err != nil { // nothing that Quarantine made
				continue
			}
			if !since.IsZero() && day.Before(since.UTC().Truncate(24*time.Hour)) {
				return
			}
			held, err := s.heldOn(ctx, folder, day, prefix)
			if err != nil {
				yield(inbox.Held{}, err)
				return
			}
			for _, h := range held {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

// heldOn lists a day's folder.
func (s *Store) heldOn(ctx context.Context, folder string, day time.Time, prefix string) ([]inbox.Held, error) {
	found := map[string]*inbox.Held{}
	for b, err := range s.list(ctx, s.quarantineContainer(), folder+prefix, false) {
		if err != nil {
			return nil, err
		}
		it := newItem(b)
		sum, ext, _ := strings.Cut(path.Base(it.Name), ".")
		if checkSum("sum", sum) != nil {
			continue
		}
		h := found[sum]
		if h == nil {
			h = &inbox.Held{SHA256: sum, Day: day}
			found[sum] = h
		}
		if ext == reasonExtension {
			h.WhyName = s.quarantineContainer() + "/" + it.Name
			continue
		}
		h.Name, h.Size, h.Created = s.quarantineContainer()+"/"+it.Name, it.Size, it.Created
	}
	var out []*inbox.Held
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(reasonsAtOnce)
	for _, h := range found {
		out = append(out, h)
		g.Go(func() error { return s.readReason(ctx, h) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b *inbox.Held) int {
		return cmp.Or(b.Why.When.Compare(a.Why.When), cmp.Compare(a.SHA256, b.SHA256))
	})
	held := make([]inbox.Held, len(out))
	for i := range out {
		held[i] = *out[i]
	}
	return held, nil
}

func (s *Store) readReason(ctx context.Context, h *inbox.Held) error {
	if h.WhyName == "" {
		h.Why.Text = "its reason is missing"
		return nil
	}
	_, name, _ := strings.Cut(h.WhyName, "/")
	body, _, found, err := s.get(ctx, s.quarantineContainer(), name, maxReasonBytes)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return err
	}
	if err == nil && found {
		err = json.Unmarshal(body, &h.Why)
	}
	if err != nil {
		h.Why = Reason{Text: "its reason cannot be read: " + err.Error()}
	}
	return nil
}

// ReadHeld reads the body of what lies in quarantine.
func (s *Store) ReadHeld(ctx context.Context, h inbox.Held) (body []byte, found bool, err error) {
	name, ours := strings.CutPrefix(h.Name, s.quarantineContainer()+"/")
	if !ours {
		return nil, false, fmt.Errorf("reading %q: %w: it does not lie in quarantine", h.Name, ErrRefused)
	}
	body, _, found, err = s.get(ctx, s.quarantineContainer(), name, maxHeldBytes)
	return body, found, err
}

// Unquarantine deletes a body from quarantine, and then its reason. The reason goes last, so that
// nothing ever lies there of which nobody knows why; a reason alone, should it be left, does no
// harm. It is no fault that either is gone.
func (s *Store) Unquarantine(ctx context.Context, h inbox.Held) error {
	for _, name := range []string{h.Name, h.WhyName} {
		if name == "" {
			continue
		}
		blobName, ours := strings.CutPrefix(name, s.quarantineContainer()+"/")
		if !ours {
			return fmt.Errorf("deleting %q: %w: it does not lie in quarantine", name, ErrRefused)
		}
		_, err := s.container(s.quarantineContainer()).NewBlobClient(blobName).Delete(ctx, nil)
		if err != nil && status(err) != http.StatusNotFound {
			return fmt.Errorf("deleting blob %q: %w", name, brief(err))
		}
	}
	return nil
}
