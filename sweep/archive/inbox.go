package archive

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

// Metadata of the inbox's blobs. Names come back with changed case and must not hold hyphens;
// values must be ASCII.
const (
	metaAttempts   = "attempts"   // how often the blob was taken
	metaTaker      = "taker"      // who took it last, at random
	metaParameters = "parameters" // of a foreign document: JSON in base64, URL alphabet
)

// maxParameterBytes keeps parameters within the service's 8 KiB of metadata a blob.
const maxParameterBytes = 5 << 10

// Item is a document in the inbox.
type Item = inbox.Item

func newItem(b *container.BlobItem) Item {
	it := Item{Name: *b.Name, Attempts: attempts(b.Metadata), Meta: parameters(b.Metadata)}
	if p := b.Properties; p.ETag != nil {
		it.ETag = quoted(string(*p.ETag))
	}
	if p := b.Properties; p.ContentLength != nil {
		it.Size = *p.ContentLength
	}
	if p := b.Properties; p.CreationTime != nil {
		it.Created = p.CreationTime.UTC()
	}
	return it
}

// InboxSize counts what lies in the inbox.
func (s *Store) InboxSize(ctx context.Context) (n int, err error) {
	for _, err := range s.list(ctx, s.inboxContainer(), "", false) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Take counts an attempt at an item and then reads it, so that an item which brings the reader
// down is known by its attempts. It returns the item as it is now, for Remove and Release. taken
// is false when it is gone, or somebody else took it since it was listed.
//
// Of an item larger than any document the beginning is returned, as much as a document may
// have, with an error that has ErrTooLarge in its chain; it is taken.
//
// Whoever writes an item may also lease it, and so may keep the app from it. A lease is broken;
// what cannot be is an error with inbox.ErrLocked in its chain, here, in Release and in Remove.
func (s *Store) Take(ctx context.Context, it Item) (now Item, body []byte, taken bool, err error) {
	now = it
	now.Attempts++
	if now.ETag, taken, err = s.setAttempts(ctx, it, now.Attempts); err != nil || !taken {
		return it, nil, false, err
	}
	body, _, taken, err = s.getIf(ctx, s.inboxContainer(), it.Name, maxDocumentBytes, unchanged(now.ETag))
	if !errors.Is(err, ErrTooLarge) {
		return now, body, taken, lockedOr(err)
	}
	tooLarge := err
	if body, err = s.beginning(ctx, s.inboxContainer(), it.Name, maxDocumentBytes, unchanged(now.ETag)); err != nil {
		return now, nil, false, err
	}
	return now, body, true, tooLarge
}

// Release takes back the attempt that Take counted, for an item that could not be finished
// through no fault of its own. It is no fault that it is gone, nor that somebody else has taken it
// since.
func (s *Store) Release(ctx context.Context, it Item) error {
	_, _, err := s.setAttempts(ctx, it, max(it.Attempts-1, 0))
	return err
}

// setAttempts writes the number of attempts into the blob's metadata, if nobody changed it.
func (s *Store) setAttempts(ctx context.Context, it Item, n int) (etag string, taken bool, err error) {
	taker := newTaker()
	meta := map[string]*string{metaAttempts: to.Ptr(strconv.Itoa(n)), metaTaker: &taker}
	if it.Meta != nil {
		p, err := encodeParameters(it.Meta)
		if err != nil {
			return "", false, fmt.Errorf("counting attempts at %q: %w", it.Name, err)
		}
		meta[metaParameters] = &p
	}
	client := s.container(s.inboxContainer()).NewBlobClient(it.Name)
	cond := unchanged(it.ETag)
	var got blob.SetMetadataResponse
	err = s.unleased(ctx, client, func() (err error) {
		got, err = client.SetMetadata(ctx, meta, &blob.SetMetadataOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
		return err
	})
	switch {
	case err == nil:
		return string(*got.ETag), true, nil
	case status(err) == http.StatusNotFound:
		return "", false, nil
	case !lost(err):
		return "", false, fmt.Errorf("counting attempts at %q: %w", it.Name, brief(err))
	}
	// Changed since: by somebody else, or by our own try whose answer was lost.
	is, err := client.GetProperties(ctx, nil)
	switch {
	case status(err) == http.StatusNotFound:
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("counting attempts at %q: %w", it.Name, brief(err))
	}
	return string(*is.ETag), metadata(is.Metadata, metaTaker) == taker, nil
}

// Remove deletes an item as Take returned it, and the snapshots that its sender made of it. It is
// no fault that it is gone, nor that somebody else has taken it since: then it is theirs to remove.
func (s *Store) Remove(ctx context.Context, it Item) error {
	client := s.container(s.inboxContainer()).NewBlobClient(it.Name)
	cond := unchanged(it.ETag)
	err := s.unleased(ctx, client, func() error {
		_, err := client.Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude),
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
		return err
	})
	if err != nil && status(err) != http.StatusNotFound && !lost(err) {
		return fmt.Errorf("removing %q from the inbox: %w", it.Name, brief(err))
	}
	return nil
}

// DropForeign puts a foreign document and the parameters it came with into the inbox. The same
// once more is the same item. taken says that the item is new, and that the caller has it as if Take had
// given it to him: its first attempt is counted. One that lay there already is to be taken as any other.
func (s *Store) DropForeign(ctx context.Context, body []byte, meta map[string]string) (it Item, taken bool, err error) {
	if meta == nil {
		meta = map[string]string{}
	}
	name := wire.InboxForeignFolder + "/" + inbox.ForeignSum(body, meta)
	if len(body) > maxDocumentBytes {
		return Item{}, false, fmt.Errorf("dropping a foreign document: %w: %w: %d bytes: want at most %d", ErrRefused, ErrTooLarge, len(body), maxDocumentBytes)
	}
	p, err := encodeParameters(meta)
	if err != nil {
		return Item{}, false, fmt.Errorf("dropping a foreign document: %w", err)
	}
	taker := newTaker()
	with := map[string]*string{metaParameters: &p, metaAttempts: to.Ptr("1"), metaTaker: &taker}
	for range 3 {
		etag, when, err := s.putAt(ctx, s.inboxContainer(), name, typeBytes, body, with, absent())
		if err == nil {
			return Item{Name: name, ETag: string(etag), Attempts: 1, Size: int64(len(body)), Created: when, Meta: meta}, true, nil
		}
		if !lost(err) {
			return Item{}, false, fmt.Errorf("dropping foreign document %q: %w", name, brief(err))
		}
		is, err := s.container(s.inboxContainer()).NewBlobClient(name).GetProperties(ctx, nil)
		switch {
		case err == nil:
			it := Item{Name: name, ETag: string(*is.ETag), Size: int64(len(body)), Attempts: attempts(is.Metadata), Created: is.CreationTime.UTC(), Meta: meta}
			return it, metadata(is.Metadata, metaTaker) == taker, nil // ours, if the answer to the first try was lost
		case status(err) != http.StatusNotFound:
			return Item{}, false, fmt.Errorf("dropping foreign document %q: %w", name, brief(err))
		}
	}
	return Item{}, false, fmt.Errorf("dropping foreign document %q: others created and removed it three times", name)
}

// newTaker is a name for who takes an item, for once.
func newTaker() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(random[:])
}

func encodeParameters(meta map[string]string) (string, error) {
	text, err := json.Marshal(meta)
	if err != nil {
		return "", err
	}
	if len(text) > maxParameterBytes {
		return "", fmt.Errorf("%w: parameters of %d bytes: want at most %d", ErrRefused, len(text), maxParameterBytes)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// parameters are those of a foreign document, or nil.
func parameters(m map[string]*string) map[string]string {
	text, err := base64.RawURLEncoding.DecodeString(metadata(m, metaParameters))
	if err != nil {
		return nil
	}
	var out map[string]string
	if json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

func attempts(m map[string]*string) int {
	n, err := strconv.Atoi(metadata(m, metaAttempts))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func metadata(m map[string]*string, name string) string {
	for k, v := range m {
		if strings.EqualFold(k, name) && v != nil {
			return *v
		}
	}
	return ""
}
