package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// ErrChanged is in the chain of the error for what is not as it was read any more: somebody else changed it,
// or our own try did whose answer was lost.
var ErrChanged = result.ErrChanged

const (
	lakeContainers = "lake-"
	lakeFile       = "part-0.parquet"
	// SchemaBlob and StatusBlob lie beside the lake's samples.
	SchemaBlob = "_schema.json"
	StatusBlob = "_status.json"
)

// blockBytes is how much of a lake file is sent at once: a blob may have 50,000 blocks.
const blockBytes = 8 << 20

// maxNoteBytes bounds _schema.json and _status.json.
const maxNoteBytes = 64 << 20

func (s *Store) lakeContainer() string { return lakeContainers + s.environment }

// LakeBlob is a Parquet file of samples of one source and day, raw or of the lake.
type LakeBlob struct {
	// Name holds the container, the environment's.
	Name string
	// Label is a raw file's ID, HHmm_<assignment id>, or a lake file's probe.
	Label   string
	Size    int64 // bytes
	ETag    string
	MD5     string // hexadecimal; empty where storage does not tell
	Written time.Time
}

// SourceDay is one source's day.
type SourceDay struct {
	Source string
	Day    time.Time // its first instant, UTC
}

// RawDays lists of which sources and days raw samples are stored.
func (s *Store) RawDays(ctx context.Context) ([]SourceDay, error) {
	return s.sampleDays(ctx, s.rawContainer())
}

// LakeDays lists of which sources and days the lake has files.
func (s *Store) LakeDays(ctx context.Context) ([]SourceDay, error) {
	return s.sampleDays(ctx, s.lakeContainer())
}

func (s *Store) sampleDays(ctx context.Context, in string) (out []SourceDay, err error) {
	sources, err := s.folders(ctx, in, samplesFolder)
	if err != nil {
		return nil, err
	}
	for _, folder := range sources {
		days, err := s.folders(ctx, in, folder)
		if err != nil {
			return nil, err
		}
		source := strings.TrimSuffix(strings.TrimPrefix(folder, samplesFolder+"src="), "/")
		for _, d := range days {
			day, err := time.Parse("date=2006-01-02/", strings.TrimPrefix(d, folder))
			if err != nil || wire.ValidateName("source", source) != nil {
				continue // nothing of ours
			}
			out = append(out, SourceDay{source, day})
		}
	}
	return out, nil
}

func dayFolder(d SourceDay) (string, error) {
	if err := wire.ValidateName("source", d.Source); err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return samplesFolder + "src=" + d.Source + "/" + dateFolder(d.Day), nil
}

// RawSamples lists the raw files of a day.
func (s *Store) RawSamples(ctx context.Context, d SourceDay) ([]LakeBlob, error) {
	return s.lakeBlobs(ctx, s.rawContainer(), d, func(name string) (string, bool) {
		id, ok := strings.CutSuffix(name, ".parquet")
		return id, ok && !strings.Contains(id, "/")
	})
}

// LakeSamples lists the lake files of a day.
func (s *Store) LakeSamples(ctx context.Context, d SourceDay) ([]LakeBlob, error) {
	return s.lakeBlobs(ctx, s.lakeContainer(), d, func(name string) (string, bool) {
		probe, ok := strings.CutPrefix(path.Dir(name), "probe=")
		return probe, ok && path.Base(name) == lakeFile && wire.ValidateName("probe", probe) == nil
	})
}

func (s *Store) lakeBlobs(ctx context.Context, in string, d SourceDay, label func(string) (string, bool)) (out []LakeBlob, err error) {
	folder, err := dayFolder(d)
	if err != nil {
		return nil, fmt.Errorf("listing samples: %w", err)
	}
	for b, err := range s.list(ctx, in, folder, false) {
		if err != nil {
			return nil, err
		}
		if l, ok := label(strings.TrimPrefix(*b.Name, folder)); ok {
			out = append(out, lakeBlob(in, l, b))
		}
	}
	return out, nil
}

func lakeBlob(in, label string, b *container.BlobItem) LakeBlob {
	item := newItem(b)
	out := LakeBlob{Name: in + "/" + item.Name, Label: label, Size: item.Size, ETag: item.ETag, MD5: hex.EncodeToString(b.Properties.ContentMD5)}
	if b.Properties.LastModified != nil {
		out.Written = b.Properties.LastModified.UTC()
	}
	return out
}

// ReadRange reads n bytes of a blob; the error has ErrChanged in its chain if it is not the one that was
// listed any more.
func (s *Store) ReadRange(ctx context.Context, b LakeBlob, at, n int64) ([]byte, error) {
	in, name, err := s.lakePlace(b)
	if err != nil {
		return nil, err
	}
	cond := unchanged(b.ETag)
	got, err := s.container(in).NewBlobClient(name).DownloadStream(ctx, &blob.DownloadStreamOptions{
		Range: blob.HTTPRange{Offset: at, Count: n}, AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
	if err != nil {
		return nil, changedOr("reading", b.Name, err)
	}
	reader := got.NewRetryReader(ctx, &blob.RetryReaderOptions{MaxRetries: 3})
	defer func() { _ = reader.Close() }() // it was read
	body := make([]byte, n)
	if _, err := io.ReadFull(reader, body); err != nil {
		return nil, changedOr("reading", b.Name, err)
	}
	return body, nil
}

// lakePlace is where a blob lies, if it is a file of samples of this environment.
func (s *Store) lakePlace(b LakeBlob) (in, name string, err error) {
	in, name, _ = strings.Cut(b.Name, "/")
	if in != s.rawContainer() && in != s.lakeContainer() || !strings.HasPrefix(name, samplesFolder) || path.Clean(name) != name || b.ETag == "" {
		return "", "", fmt.Errorf("%w: blob %q is no listed file of samples of environment %q", ErrRefused, b.Name, s.environment)
	}
	return in, name, nil
}

// changedOr is a fault of a blob's that had to be as it was listed.
func changedOr(doing, name string, err error) error {
	if lost(err) || status(err) == http.StatusNotFound || bloberror.HasCode(err, bloberror.InvalidBlockList) {
		return fmt.Errorf("%s blob %q: %w: %w", doing, name, ErrChanged, brief(err))
	}
	return fmt.Errorf("%s blob %q: %w", doing, name, brief(err))
}

// WriteLake writes the lake file of a day and probe in the place of the one whose ETag is was, or of none
// if that is empty; the error has ErrChanged in its chain if another is there. Until all is written what
// was there stays.
func (s *Store) WriteLake(ctx context.Context, d SourceDay, probe, was string, write func(io.Writer) error) error {
	folder, err := dayFolder(d)
	if err == nil {
		err = wire.ValidateName("probe", probe)
	}
	if err != nil {
		return fmt.Errorf("writing the lake: %w", err)
	}
	name := folder + "probe=" + probe + "/" + lakeFile
	cond := absent()
	if was != "" {
		cond = unchanged(was)
	}
	// Blocks of another try, which may be under way, have other names.
	w := &blockWriter{ctx: ctx, to: s.container(s.lakeContainer()).NewBlockBlobClient(name), try: rand.Text()}
	if err := write(w); err != nil {
		return fmt.Errorf("writing blob %q: %w", s.lakeContainer()+"/"+name, brief(err))
	}
	if err := w.stage(); err != nil {
		return fmt.Errorf("writing blob %q: %w", s.lakeContainer()+"/"+name, brief(err))
	}
	contentType := typeParquet
	_, err = w.to.CommitBlockList(ctx, w.blocks, &blockblob.CommitBlockListOptions{
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: &contentType},
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond},
	})
	if err != nil {
		return changedOr("writing", s.lakeContainer()+"/"+name, err)
	}
	return nil
}

// blockWriter sends what is written in blocks.
type blockWriter struct {
	ctx    context.Context
	to     *blockblob.Client
	try    string
	blocks []string
	buf    []byte
}

// Write implements io.Writer.
func (w *blockWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	if len(w.buf) < blockBytes {
		return len(p), nil
	}
	return len(p), w.stage()
}

func (w *blockWriter) stage() error {
	if len(w.buf) == 0 {
		return nil
	}
	id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%06d", w.try, len(w.blocks))) // all of one length
	if _, err := w.to.StageBlock(w.ctx, id, streaming.NopCloser(bytes.NewReader(w.buf)), nil); err != nil {
		return err
	}
	w.blocks, w.buf = append(w.blocks, id), w.buf[:0]
	return nil
}

// DeleteRaw deletes a raw file if it is the one that was listed; the error has ErrChanged in its chain if
// another is there. One that is gone is no fault.
func (s *Store) DeleteRaw(ctx context.Context, b LakeBlob) error {
	in, name, err := s.lakePlace(b)
	if err == nil && in != s.rawContainer() {
		err = fmt.Errorf("%w: blob %q is not raw", ErrRefused, b.Name)
	}
	if err != nil {
		return fmt.Errorf("deleting raw samples: %w", err)
	}
	cond := unchanged(b.ETag)
	client := s.container(in).NewBlobClient(name)
	_, err = client.Delete(ctx, &blob.DeleteOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
	if lost(err) { // one that is gone does not have the ETag either
		if _, is := client.GetProperties(ctx, nil); status(is) == http.StatusNotFound {
			return nil
		}
	}
	if err != nil && status(err) != http.StatusNotFound {
		return changedOr("deleting", b.Name, err)
	}
	return nil
}

// LakeNote reads SchemaBlob or StatusBlob; its ETag is empty where there is none.
func (s *Store) LakeNote(ctx context.Context, name string) (body []byte, etag string, err error) {
	body, etag, _, err = s.get(ctx, s.lakeContainer(), name, maxNoteBytes)
	return body, etag, err
}

// PutLakeNote writes SchemaBlob or StatusBlob in the place of the one that was read; the error has
// ErrChanged in its chain if another is there.
func (s *Store) PutLakeNote(ctx context.Context, name string, body []byte, was string) error {
	if name != SchemaBlob && name != StatusBlob {
		return fmt.Errorf("writing blob %q of the lake: %w: want %q or %q", name, ErrRefused, SchemaBlob, StatusBlob)
	}
	cond := absent()
	if was != "" {
		cond = unchanged(was)
	}
	_, err := s.put(ctx, s.lakeContainer(), name, typeJSON, body, nil, cond)
	if err != nil {
		return changedOr("writing", s.lakeContainer()+"/"+name, err)
	}
	return nil
}
