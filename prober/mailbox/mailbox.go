// Package mailbox is a prober's side of the storage account through which it talks with the
// app: it registers, polls what it is to do, and delivers result documents.
//
// Nothing is retried in here. Every call makes one attempt within a bounded time and says what
// came of it; when to try again is the caller's to decide, who knows what else is waiting
// (Backoff says how long).
package mailbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// callTimeout bounds one call, so that a connection that hangs cannot stop a prober's loops.
const callTimeout = 30 * time.Second

// maxCurrentBytes bounds what a poll reads: as much as a document may unpack to.
const maxCurrentBytes = wire.MaxDocumentBytes

// maxRegistrationBytes bounds what is read of a registration; a real one has less than 4 kB.
const maxRegistrationBytes = 64 << 10

// ErrConflict is returned by Deliver when other content is stored under the document's name.
// Trying again cannot help.
var ErrConflict = errors.New("another document is stored under this name")

// Mailbox is one prober's mailbox. Poll must not be called by two goroutines at once; the rest
// may.
type Mailbox struct {
	environment, prober string

	probers, assignments, inbox *container.Client

	etag *azcore.ETag // of the current.json that was last read whole
}

// Open prepares the mailbox of a prober, without input or output. transport is the HTTP client
// to use; nil for the SDK's own.
func Open(a account.Account, environment, prober string, transport policy.Transporter) (*Mailbox, error) {
	if err := errors.Join(wire.ValidateEnvironment(environment), wire.ValidateName("prober", prober)); err != nil {
		return nil, fmt.Errorf("opening the mailbox: %w", err)
	}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: -1},
		Transport: transport, PerCallPolicies: []policy.Policy{account.Discreet},
	}}
	m := &Mailbox{environment: environment, prober: prober}
	for _, c := range []struct {
		name string
		to   **container.Client
	}{
		{wire.ProbersContainer(environment), &m.probers},
		{wire.AssignmentsContainer(environment), &m.assignments},
		{wire.InboxContainer(environment), &m.inbox},
	} {
		client, err := open(a, c.name, options)
		if err != nil {
			return nil, fmt.Errorf("opening the mailbox: container %q: %w", c.name, err)
		}
		*c.to = client
	}
	return m, nil
}

func open(a account.Account, name string, options *container.ClientOptions) (*container.Client, error) {
	if a.ConnectionString != "" {
		return container.NewClientFromConnectionString(a.ConnectionString, name, options)
	}
	credential, err := a.Credential()
	if err != nil {
		return nil, err
	}
	return container.NewClient(a.BlobURL()+name, credential, options)
}

// Register writes the prober's registration, in place of the one before.
func (m *Mailbox) Register(ctx context.Context, r wire.Registration) error {
	if err := r.Validate(m.environment, m.prober); err != nil {
		return fmt.Errorf("registering %q: %w", m.prober, err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the registration of %q: %w", m.prober, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = m.probers.NewBlockBlobClient(wire.RegistrationBlob(m.prober)).Upload(ctx, content(body), &blockblob.UploadOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("application/json")},
	})
	if err != nil {
		return fmt.Errorf("registering %q: %w", m.prober, explained(err))
	}
	return nil
}

// Registered reads what is stored as the prober's registration, by this process or another of
// the same id, and how long ago it was written: by storage's clock, to the second, so that
// clocks that disagree cannot hide one process from the other. It returns nil when nothing is
// stored, or nothing that the app would accept either.
func (m *Mailbox) Registered(ctx context.Context) (*wire.Registration, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := m.probers.NewBlobClient(wire.RegistrationBlob(m.prober)).DownloadStream(ctx, nil)
	switch {
	case bloberror.HasCode(err, bloberror.BlobNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("looking for another registration of %q: %w", m.prober, explained(err))
	}
	defer response.Body.Close() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRegistrationBytes))
	if err != nil {
		return nil, 0, fmt.Errorf("looking for another registration of %q: %w", m.prober, err)
	}
	var r wire.Registration
	if json.Unmarshal(body, &r) != nil || r.Validate(m.environment, m.prober) != nil {
		return nil, 0, nil
	}
	if response.Date == nil || response.LastModified == nil {
		return nil, 0, fmt.Errorf("looking for another registration of %q: storage does not say when it was written", m.prober)
	}
	return &r, response.Date.Sub(*response.LastModified), nil
}

// Poll reads what the prober is to do. It returns nil when that is what it was at the last
// call, or when the app has not written anything for this prober yet.
func (m *Mailbox) Poll(ctx context.Context) (*wire.Current, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name := wire.CurrentBlob(m.prober)
	options := &blob.DownloadStreamOptions{}
	if m.etag != nil {
		options.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: m.etag}}
	}
	// 304 is no error to the SDK, and its body may be nil or empty: the status itself is asked for.
	var answer *http.Response
	response, err := m.assignments.NewBlobClient(name).DownloadStream(policy.WithCaptureResponse(ctx, &answer), options)
	switch {
	case bloberror.HasCode(err, bloberror.BlobNotFound):
		m.etag = nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("polling %q: %w", name, explained(err))
	case response.Body == nil:
		return nil, nil
	}
	defer response.Body.Close() // it was only read
	if answer.StatusCode == http.StatusNotModified {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxCurrentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	if len(body) > maxCurrentBytes {
		return nil, fmt.Errorf("reading %q: more than %d bytes", name, maxCurrentBytes)
	}
	current, err := m.decode(body)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	m.etag = response.ETag // only now: what could not be read is fetched again
	return current, nil
}

// decode checks that the body is meant for this prober. Unknown keys are let pass: a newer app
// may add some within a version.
func (m *Mailbox) decode(body []byte) (*wire.Current, error) {
	var c wire.Current
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Version != wire.AssignmentsVersion:
		return nil, fmt.Errorf("version %d: this program reads assignments version %d", c.Version, wire.AssignmentsVersion)
	case c.Environment != m.environment || c.Prober != m.prober:
		return nil, fmt.Errorf("it is for prober %q of environment %q, not for %q of %q", c.Prober, c.Environment, m.prober, m.environment)
	}
	return &c, nil
}

// Deliver stores a document in the inbox. A document that is there already, from an attempt
// whose answer was lost, is delivered. ErrConflict is final; every other error may be tried
// again.
func (m *Mailbox) Deliver(ctx context.Context, name string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	target := m.inbox.NewBlockBlobClient(name)
	_, err := target.Upload(ctx, content(body), &blockblob.UploadOptions{
		// Not Content-Encoding: Go's transport would unpack it behind the app's back.
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("application/gzip")},
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{
			IfNoneMatch: to.Ptr(azcore.ETagAny),
		}},
	})
	switch {
	case err == nil:
		return nil
	case !bloberror.HasCode(err, bloberror.BlobAlreadyExists) && !isStatus(err, http.StatusPreconditionFailed):
		return fmt.Errorf("delivering %q: %w", name, explained(err))
	}
	same, err := m.stored(ctx, target, body)
	switch {
	case err != nil:
		return fmt.Errorf("delivering %q: looking at what is stored: %w", name, explained(err))
	case !same:
		return fmt.Errorf("delivering %q: %w", name, ErrConflict)
	}
	return nil
}

// stored says whether the blob holds exactly body.
func (m *Mailbox) stored(ctx context.Context, target *blockblob.Client, body []byte) (bool, error) {
	response, err := target.DownloadStream(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return true, nil // the app took it in the meantime: it was ours, the name is random
	}
	if err != nil {
		return false, err
	}
	defer response.Body.Close() // it was only read
	there, err := io.ReadAll(io.LimitReader(response.Body, int64(len(body))+1))
	return bytes.Equal(there, body), err
}

func isStatus(err error, status int) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && response.StatusCode == status
}

// refused is an answer by which storage refused the prober, on one line and with what to do
// about it; the SDK's own text fills a page.
type refused struct {
	cause  *azcore.ResponseError
	remedy string
}

func (e *refused) Error() string {
	return fmt.Sprintf("%d %s (%s)", e.cause.StatusCode, e.cause.ErrorCode, e.remedy)
}

func (e *refused) Unwrap() error { return e.cause }

func explained(err error) error {
	var response *azcore.ResponseError
	if errors.As(err, &response) {
		if remedy := account.Denied(response.StatusCode, response.ErrorCode); remedy != "" {
			return &refused{response, remedy}
		}
	}
	return err
}

// content makes a request's body of bytes.
func content(b []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(b)) }
