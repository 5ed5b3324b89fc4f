package functionshost

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
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"isochrone/prober/wire/account"
)

// Container is where the host keeps what it must not forget, in the account of the app.
const Container = "azure-webjobs-hosts"

// StatusBlob names the blob in Container that holds a timer's status.
func StatusBlob(hostID, function string) string {
	return "timers/" + hostID + "/Host.Functions." + function + "/status"
}

// LockBlob names the blob in Container whose lease is held by the host that runs a timer.
func LockBlob(hostID, function string) string {
	return "locks/" + hostID + "/Host.Functions." + function + ".Listener"
}

const (
	tryTimeout  = 10 * time.Second // of one request
	storageWait = 30 * time.Second // of one operation, its retries included
	maxStatus   = 64 << 10         // bytes
)

// storage is the host's own container.
type storage struct {
	hostID    string
	container *container.Client
}

func openStorage(a account.Account, hostID string) (*storage, error) {
	o := &azblob.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: 2, TryTimeout: tryTimeout}}}
	var client *azblob.Client
	var err error
	if a.ConnectionString != "" {
		client, err = azblob.NewClientFromConnectionString(a.ConnectionString, o)
	} else {
		credential, cerr := a.Credential()
		if cerr != nil {
			return nil, cerr
		}
		client, err = azblob.NewClient(a.BlobURL(), credential, o)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the host's storage: %w", err)
	}
	return &storage{hostID: hostID, container: client.ServiceClient().NewContainerClient(Container)}, nil
}

// ensure creates the container.
func (s *storage) ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storageWait)
	defer cancel()
	if _, err := s.container.Create(ctx, nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return fmt.Errorf("creating container %q: %w", Container, err)
	}
	return nil
}

// timerStore is what one timer needs of storage.
type timerStore struct {
	status *blockblob.Client
	lock   *blockblob.Client
	period time.Duration // of the lock's lease
}

func (s *storage) timer(function string, period time.Duration) *timerStore {
	return &timerStore{
		status: s.container.NewBlockBlobClient(StatusBlob(s.hostID, function)),
		lock:   s.container.NewBlockBlobClient(LockBlob(s.hostID, function)),
		period: period,
	}
}

// load returns nil when the timer has never been seen.
func (s *timerStore) load(ctx context.Context) (*scheduleStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, storageWait)
	defer cancel()
	resp, err := s.status.DownloadStream(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ContainerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the timer's status: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil {
		return nil, fmt.Errorf("reading the timer's status: %w", err)
	}
	status := new(scheduleStatus)
	if err := json.Unmarshal(body, status); err != nil {
		return nil, fmt.Errorf("reading the timer's status: %w", err)
	}
	return status, nil
}

func (s *timerStore) store(ctx context.Context, status scheduleStatus) error {
	ctx, cancel := context.WithTimeout(ctx, storageWait)
	defer cancel()
	body, err := json.Marshal(status)
	if err == nil {
		_, err = s.status.UploadBuffer(ctx, body, nil)
	}
	if err != nil {
		return fmt.Errorf("writing the timer's status: %w", err)
	}
	return nil
}

// held is the lock while this host has it.
type held struct{ client *lease.BlobClient }

// acquire returns nil when another host has the lock.
func (s *timerStore) acquire(ctx context.Context) (heldLock, error) {
	ctx, cancel := context.WithTimeout(ctx, storageWait)
	defer cancel()
	_, err := s.lock.Upload(ctx, nopCloser{bytes.NewReader(nil)}, &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
	})
	if err != nil && !bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet, bloberror.LeaseIDMissing) {
		return nil, fmt.Errorf("creating the timer's lock: %w", err)
	}
	client, err := lease.NewBlobClient(s.lock, nil)
	if err != nil {
		return nil, fmt.Errorf("locking the timer: %w", err)
	}
	_, err = client.AcquireLease(ctx, int32(s.period/time.Second), nil)
	if bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("locking the timer: %w", err)
	}
	return &held{client}, nil
}

// renew returns errLockLost when another host has taken the lock.
func (h *held) renew(ctx context.Context) error {
	_, err := h.client.RenewLease(ctx, nil)
	if isLost(err) {
		return errLockLost
	}
	return err
}

func (h *held) release(ctx context.Context) error {
	_, err := h.client.ReleaseLease(ctx, nil)
	if isLost(err) {
		return nil
	}
	return err
}

func isLost(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && (re.StatusCode == http.StatusConflict || re.StatusCode == http.StatusPreconditionFailed || re.StatusCode == http.StatusNotFound)
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }
