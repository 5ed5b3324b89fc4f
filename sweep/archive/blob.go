package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// The content types. There is never a Content-Encoding: Go's transport would unpack the body
// behind the SDK's back, and its length would be wrong.
const (
	typeJSON    = "application/json"
	typeYAML    = "application/yaml"
	typeGzip    = "application/gzip"
	typeParquet = "application/vnd.apache.parquet"
	typeBytes   = "application/octet-stream"
)

// The most bytes of each kind of blob, when it is written and when it is read.
const (
	maxConfigBytes       = 1 << 20
	maxRegistrationBytes = 64 << 10
	maxDocumentBytes     = wire.MaxDocumentBytes // compressed or not
	maxPlanBytes         = 64 << 20
	maxSamplesBytes      = 256 << 20
)

// put writes a blob under conditions and returns its ETag.
func (s *Store) put(ctx context.Context, container, name, contentType string, body []byte, meta map[string]*string, cond blob.ModifiedAccessConditions) (azcore.ETag, error) {
	etag, _, err := s.putAt(ctx, container, name, contentType, body, meta, cond)
	return etag, err
}

// putAt is put, and says when the service wrote the blob: when it was created, if it is new.
func (s *Store) putAt(ctx context.Context, container, name, contentType string, body []byte, meta map[string]*string, cond blob.ModifiedAccessConditions) (etag azcore.ETag, when time.Time, err error) {
	// Block blobs, because the lifecycle rules move nothing else to cooler storage.
	got, err := s.container(container).NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(bytes.NewReader(body)), &blockblob.UploadOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &contentType}, Metadata: meta,
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond},
	})
	if err != nil {
		return "", when, err
	}
	if got.ETag == nil || got.LastModified == nil {
		return "", when, fmt.Errorf("writing blob %q: the answer has no ETag or time", container+"/"+name)
	}
	return *got.ETag, got.LastModified.UTC(), nil
}

// absent is the condition that a blob does not exist.
func absent() blob.ModifiedAccessConditions {
	return blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
}

// unchanged is the condition that a blob still has an ETag.
func unchanged(etag string) blob.ModifiedAccessConditions {
	return blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(etag))}
}

// create writes a blob that must not exist yet. The outcome is Same or Conflict when it does,
// by comparing the bodies: Same is also what becomes of our own write whose answer was lost.
func (s *Store) create(ctx context.Context, container, name, contentType string, body []byte, limit int64) (Outcome, error) {
	if int64(len(body)) > limit {
		return 0, fmt.Errorf("writing blob %q: %w: %w: %d bytes: want at most %d", container+"/"+name, ErrRefused, ErrTooLarge, len(body), limit)
	}
	for range 3 {
		_, err := s.put(ctx, container, name, contentType, body, nil, absent())
		if err == nil {
			return Stored, nil
		}
		if !lost(err) {
			return 0, fmt.Errorf("writing blob %q: %w", container+"/"+name, brief(err))
		}
		stored, _, found, err := s.get(ctx, container, name, limit)
		switch {
		case errors.Is(err, ErrTooLarge):
			return Conflict, nil
		case err != nil:
			return 0, err
		case !found: // deleted since: the name is free again
			continue
		case bytes.Equal(stored, body):
			return Same, nil
		}
		return Conflict, nil
	}
	return 0, fmt.Errorf("writing blob %q: it was created and deleted by others three times", container+"/"+name)
}

// createNamed writes a blob whose name is made from its content, so that one which exists is
// the same, and need not be read.
func (s *Store) createNamed(ctx context.Context, container, name, contentType string, body []byte) error {
	_, err := s.put(ctx, container, name, contentType, body, nil, absent())
	if err != nil && !lost(err) {
		return fmt.Errorf("writing blob %q: %w", container+"/"+name, brief(err))
	}
	return nil
}

// get reads a blob of at most limit bytes; found is false when it, or its container, does not
// exist.
func (s *Store) get(ctx context.Context, container, name string, limit int64) (body []byte, etag string, found bool, err error) {
	return s.getIf(ctx, container, name, limit, blob.ModifiedAccessConditions{})
}

// getIf is get under conditions; found is false when they are not met, too.
func (s *Store) getIf(ctx context.Context, container, name string, limit int64, cond blob.ModifiedAccessConditions) (body []byte, etag string, found bool, err error) {
	fail := func(err error) ([]byte, string, bool, error) {
		return nil, "", false, fmt.Errorf("reading blob %q: %w", container+"/"+name, brief(err))
	}
	got, err := s.container(container).NewBlobClient(name).DownloadStream(ctx, &blob.DownloadStreamOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
	if status(err) == http.StatusNotFound || status(err) == http.StatusPreconditionFailed {
		return nil, "", false, nil
	}
	if err != nil {
		return fail(err)
	}
	if got.Body == nil { // an answer 304 is no error to the SDK
		return nil, "", false, nil
	}
	if got.ContentLength != nil && *got.ContentLength > limit {
		_ = got.Body.Close() // unread
		return fail(fmt.Errorf("%w: %d bytes: want at most %d", ErrTooLarge, *got.ContentLength, limit))
	}
	// A connection that breaks in the middle is taken up where it broke.
	reader := got.NewRetryReader(ctx, &blob.RetryReaderOptions{MaxRetries: 3})
	defer func() { _ = reader.Close() }()
	body, err = io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return fail(err)
	}
	if int64(len(body)) > limit {
		return fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit))
	}
	if got.ETag != nil {
		etag = string(*got.ETag)
	}
	return body, etag, true, nil
}

// beginning reads the first n bytes of a blob.
func (s *Store) beginning(ctx context.Context, container, name string, n int64, cond blob.ModifiedAccessConditions) ([]byte, error) {
	got, err := s.container(container).NewBlobClient(name).DownloadStream(ctx, &blob.DownloadStreamOptions{
		Range: blob.HTTPRange{Count: n}, AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
	if err != nil {
		return nil, fmt.Errorf("reading the beginning of blob %q: %w", container+"/"+name, brief(err))
	}
	reader := got.NewRetryReader(ctx, &blob.RetryReaderOptions{MaxRetries: 3})
	defer func() { _ = reader.Close() }()
	body, err := io.ReadAll(io.LimitReader(reader, n))
	if err != nil {
		return nil, fmt.Errorf("reading the beginning of blob %q: %w", container+"/"+name, brief(err))
	}
	return body, nil
}

// status is the HTTP status of the service's answer in err, or 0.
func status(err error) int {
	var r *azcore.ResponseError
	if errors.As(err, &r) {
		return r.StatusCode
	}
	return 0
}

// lost says that a condition was not met: somebody else was first, or our own try whose answer
// did not arrive. Other conflicts, such as a container that is being deleted, are faults.
func lost(err error) bool {
	return bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet, bloberror.TargetConditionNotMet)
}

// serviceError is a storage error on one line; the SDK's own fills a page.
type serviceError struct{ cause *azcore.ResponseError }

func (e *serviceError) Error() string {
	text := fmt.Sprintf("%d %s", e.cause.StatusCode, e.cause.ErrorCode)
	if remedy := account.Denied(e.cause.StatusCode, e.cause.ErrorCode); remedy != "" {
		text += " (" + remedy + ")"
	}
	return text
}

func (e *serviceError) Unwrap() error { return e.cause }

// brief makes a service's answer brief, once: what was said around it since is kept.
func brief(err error) error {
	var done *serviceError
	var r *azcore.ResponseError
	if !errors.As(err, &done) && errors.As(err, &r) {
		return &serviceError{r}
	}
	return err
}

var (
	extensionForm = regexp.MustCompile(`^[a-z0-9]{1,12}(\.[a-z0-9]{1,12})?$`)
	sumForm       = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func checkExtension(ext string) error {
	if !extensionForm.MatchString(ext) || ext == "reason.json" || ext == "meta.json" {
		return fmt.Errorf("%w: file name extension %q: want one or two words of lower-case letters and digits", ErrRefused, ext)
	}
	return nil
}

func checkSum(what, sum string) error {
	if !sumForm.MatchString(sum) {
		return fmt.Errorf("%w: %s %q: want 64 lower-case hexadecimal digits", ErrRefused, what, sum)
	}
	return nil
}
