package tables

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
)

// Store keeps one environment's tables. It is safe for concurrent use, by several processes too.
// Everything it writes may be written again.
type Store struct {
	environment string
	service     *aztables.ServiceClient
	patience    patience
	marks       together // of the dirty table
	known       knownSeries

	mu   sync.Mutex
	made map[string]bool // tables that are known to exist
}

// settings are what tests change.
type settings struct {
	transport policy.Transporter // nil: the SDK's own
	patience  patience
}

// Open makes a Store of an environment's tables. It does no input or output: a wrong key or
// address shows at the first use.
func Open(a account.Account, environment string) (*Store, error) {
	return open(a, environment, settings{patience: defaultPatience})
}

func open(a account.Account, environment string, set settings) (*Store, error) {
	if err := wire.ValidateEnvironment(environment); err != nil {
		return nil, fmt.Errorf("opening the tables: %w", err)
	}
	service, err := connect(a, &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: set.transport, PerCallPolicies: []policy.Policy{account.Discreet, tap{}},
		// Tries are ours to repeat (see retry.go): the SDK cannot see a 503 inside a batch. It
		// has no limit on a try by default.
		Retry: policy.RetryOptions{MaxRetries: -1, TryTimeout: set.patience.try},
	}})
	if err != nil {
		return nil, fmt.Errorf("opening the tables of environment %q: %w", environment, err)
	}
	return &Store{environment: environment, service: service, patience: set.patience, marks: together{limit: set.patience.budget + set.patience.try}, made: map[string]bool{}}, nil
}

func connect(a account.Account, o *aztables.ClientOptions) (*aztables.ServiceClient, error) {
	if a.ConnectionString != "" {
		return aztables.NewServiceClientFromConnectionString(a.ConnectionString, o)
	}
	credential, err := a.Credential()
	if err != nil {
		return nil, err
	}
	return aztables.NewServiceClient(a.TableURL(), credential, o)
}

// Ensure creates the tables that have no month, and those of the months and years that the times lie in.
// Tables that exist are left alone. A write to a month whose table is missing creates it, so
// that calling Ensure only saves the first write a round trip.
func (s *Store) Ensure(ctx context.Context, months ...time.Time) error {
	names := []string{s.name(latestTable), s.name(dirtyTable), s.name(probersTable), s.name(seriesTable), s.name(profilesTable), s.name(levelsTable), s.name(alertsTable)}
	for _, m := range months {
		names = append(names, s.monthName(runsTables, m), s.monthName(sweepsTables, m), s.yearName(hoursTables, m))
	}
	for _, name := range names {
		s.mu.Lock()
		made := s.made[name]
		s.mu.Unlock()
		if made {
			continue
		}
		if err := s.create(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// create creates a table; it is no fault that it exists.
func (s *Store) create(ctx context.Context, table string) error {
	err := s.retry(ctx, func(ctx context.Context) error {
		_, err := s.service.CreateTable(ctx, table, nil)
		if f := readFault(err); f != nil && f.Code == string(aztables.TableAlreadyExists) {
			return nil // also the answer when our own first try was stored and its answer lost
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("creating table %q: %w", table, err)
	}
	s.mu.Lock()
	s.made[table] = true
	s.mu.Unlock()
	return nil
}

// writing runs a write to a table, and creates the table first if it is missing.
func (s *Store) writing(ctx context.Context, table string, write func(context.Context) error) error {
	err := s.retry(ctx, write)
	if f := readFault(err); f == nil || f.Code != string(aztables.TableNotFound) {
		return err
	}
	if err := s.create(ctx, table); err != nil { // whatever was remembered: retention drops tables
		return err
	}
	return s.retry(ctx, write)
}
