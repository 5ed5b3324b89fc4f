package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"isochrone/sweep/inbox"
)

// Reason says why something is in quarantine.
type Reason = inbox.Reason

// Held is what lies in quarantine.
type Held = inbox.Held

// Quarantine keeps a body that could not be converted, whole, and beside it, under
// <sha256>.reason.json, why. The name has the container in front. The same body once more on the
// same day keeps its first reason. Origin and When of the reason are origin and when, where they
// are empty.
func (s *Store) Quarantine(ctx context.Context, when time.Time, origin string, body []byte, ext string, reason Reason) (name string, err error) {
	if err := checkExtension(ext); err != nil {
		return "", fmt.Errorf("quarantining %q: %w", origin, err)
	}
	reason.Origin = cmp.Or(reason.Origin, origin)
	if reason.When.IsZero() {
		reason.When = when
	}
	reason.When = reason.When.UTC()
	text, err := json.MarshalIndent(reason, "", "  ")
	if err != nil {
		return "", fmt.Errorf("quarantining %q: %w", origin, err)
	}
	sum := sha256.Sum256(body)
	stem := dateFolder(when) + hex.EncodeToString(sum[:])
	// The reason first: nothing ever lies there without one.
	if err := s.createNamed(ctx, s.quarantineContainer(), stem+".reason.json", typeJSON, append(text, '\n')); err != nil {
		return "", err
	}
	if err := s.createNamed(ctx, s.quarantineContainer(), stem+"."+ext, typeBytes, body); err != nil {
		return "", err
	}
	return s.quarantineContainer() + "/" + stem + "." + ext, nil
}
