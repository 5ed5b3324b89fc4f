package archive

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/inbox"
	"isochrone/sweep/result"
)

// ErrRefused is in the chain of every error that says that storage was not asked, because the
// name or the body cannot be, or belongs to another environment. Trying again gives the same.
var ErrRefused = result.ErrRefused

// ErrTooLarge is in the chain of the error for a blob that is larger than its kind may be. Only
// of an item in the inbox is the beginning read.
var ErrTooLarge = inbox.ErrTooLarge

// Store keeps one environment's blobs. It is safe for concurrent use, by several processes too.
// Everything it writes may be written again.
type Store struct {
	environment string
	client      *azblob.Client
	page        int32 // blobs on a page of the inbox's listing
}

// settings are what tests change.
type settings struct {
	transport policy.Transporter // nil: the SDK's own
	retry     policy.RetryOptions
	page      int32 // blobs on a page of the inbox's listing; 0: maxPage
}

// defaultRetry waits 0.5, 1.5, 3.5 and 7.5 s, more or less, between the tries. The SDK has no
// limit on a try by default.
var defaultRetry = policy.RetryOptions{MaxRetries: 4, TryTimeout: time.Minute, RetryDelay: 500 * time.Millisecond, MaxRetryDelay: 20 * time.Second}

// Open makes a Store of an environment's containers. It does no input or output: a wrong key or
// address shows at the first use.
func Open(a account.Account, environment string) (*Store, error) {
	return open(a, environment, settings{retry: defaultRetry})
}

func open(a account.Account, environment string, set settings) (*Store, error) {
	if err := wire.ValidateEnvironment(environment); err != nil {
		return nil, fmt.Errorf("opening the archive: %w", err)
	}
	o := &azblob.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: set.transport, Retry: set.retry, PerCallPolicies: []policy.Policy{account.Discreet}}}
	client, err := connect(a, o)
	if err != nil {
		return nil, fmt.Errorf("opening the archive of environment %q: %w", environment, err)
	}
	return &Store{environment: environment, client: client, page: cmp.Or(set.page, maxPage)}, nil
}

func connect(a account.Account, o *azblob.ClientOptions) (*azblob.Client, error) {
	if a.ConnectionString != "" {
		return azblob.NewClientFromConnectionString(a.ConnectionString, o)
	}
	credential, err := a.Credential()
	if err != nil {
		return nil, err
	}
	return azblob.NewClient(a.BlobURL(), credential, o)
}

// The first parts of the names of the containers that probers do not know; those that they do
// are in prober/wire.
const (
	configContainers     = "config-"
	rawContainers        = "raw-"
	quarantineContainers = "quarantine-"
)

func (s *Store) configContainer() string     { return configContainers + s.environment }
func (s *Store) rawContainer() string        { return rawContainers + s.environment }
func (s *Store) quarantineContainer() string { return quarantineContainers + s.environment }
func (s *Store) inboxContainer() string      { return wire.InboxContainer(s.environment) }

// Ensure creates the environment's containers; those that exist are left alone.
func (s *Store) Ensure(ctx context.Context) error {
	for _, name := range s.containers() {
		_, err := s.container(name).Create(ctx, nil)
		if err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			return fmt.Errorf("creating container %q: %w", name, brief(err))
		}
	}
	return nil
}

func (s *Store) container(name string) *container.Client {
	return s.client.ServiceClient().NewContainerClient(name)
}
