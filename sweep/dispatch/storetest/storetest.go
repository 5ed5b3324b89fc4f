// Package storetest is the stores in memory, for the tests of dispatch and ingest: what archive.Store
// and tables.Store keep in a storage account, with faults on demand. The conformance tests of
// the two packages hold it to the real stores.
package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// Fault is how a call fails.
type Fault int

// The faults.
const (
	// None: it does not.
	None Fault = iota
	// NotStored: it failed, and changed nothing.
	NotStored
	// StoredAnyway: it did what it was to do, and the answer was lost.
	StoredAnyway
	// Dead: the process has ended: nothing that it does from here on has any effect.
	Dead
	// Refused: it changed nothing, and never will (result.ErrRefused).
	Refused
	// Locked: it changed nothing, because the item's sender does not let it (inbox.ErrLocked).
	Locked
)

// Faults are the ways to fail a call of an operation, by name, for tests that go through all: each
// is a Store's Fault. A read that fails stores nothing in either way, so it fails in one.
func Faults(call int, op string) map[string]func(int, string) Fault {
	out := map[string]func(int, string) Fault{"not stored": At(call, NotStored), "process ended": From(call)}
	switch op {
	case "Config", "PinnedConfig", "ReadPlan", "ReadCurrent", "Registrations", "OpenSweeps", "Sweep", "Sweeps", "Inbox", "ServiceTime":
	default:
		out["stored anyway"] = At(call, StoredAnyway)
	}
	return out
}

// At fails one call.
func At(call int, fault Fault) func(int, string) Fault {
	return func(n int, _ string) Fault {
		if n == call {
			return fault
		}
		return None
	}
}

// From ends the process at a call.
func From(call int) func(int, string) Fault {
	return func(n int, _ string) Fault {
		if n >= call {
			return Dead
		}
		return None
	}
}

// Always fails every call of an operation.
func Always(op string, fault Fault) func(int, string) Fault {
	return func(_ int, is string) Fault {
		if is == op {
			return fault
		}
		return None
	}
}

// ErrInjected is what a call fails with.
var ErrInjected = errors.New("injected fault")

// Store is both stores. Make one with New.
type Store struct {
	// Environment is the one that it serves.
	Environment string
	// Fault, if it is set, says how a call fails. call counts all calls from 0.
	Fault func(call int, op string) Fault
	// Before, if it is set, is called at the beginning of every call, without any lock held:
	// tests hold a handler up in it, or change who comes first.
	Before func(op string)
	// Clock is the service's. It must be set for ServiceTime.
	Clock func() time.Time

	lock  sync.Mutex
	calls []string
	etags int

	config        []byte
	pinned        map[string][]byte
	plans         map[string][]byte
	currents      map[string]versioned
	registrations map[string][]byte
	items         map[string]item
	documents     map[string][]byte
	samples       map[string][]result.Result
	foreign       map[string][]byte
	quarantine    map[string]quarantined

	rows    map[string]result.Result
	latest  map[string]result.Result
	dirty   map[string]bool
	open    map[string]time.Time
	headers map[string]ledger.Header
	entries map[string]map[ledger.Key]ledger.Entry
	probers map[string]wire.Registration
}

type versioned struct {
	body []byte
	etag string
}

type item struct {
	inbox.Item
	body []byte
}

type quarantined struct {
	body   []byte
	reason inbox.Reason
}

// New makes an empty store.
func New(environment string) *Store {
	return &Store{
		Environment: environment,
		pinned:      map[string][]byte{}, plans: map[string][]byte{}, currents: map[string]versioned{}, registrations: map[string][]byte{},
		items: map[string]item{}, documents: map[string][]byte{}, samples: map[string][]result.Result{}, foreign: map[string][]byte{},
		quarantine: map[string]quarantined{}, rows: map[string]result.Result{}, latest: map[string]result.Result{}, dirty: map[string]bool{},
		open: map[string]time.Time{}, headers: map[string]ledger.Header{}, entries: map[string]map[ledger.Key]ledger.Entry{},
		probers: map[string]wire.Registration{},
	}
}

// Calls lists the calls made, in order.
func (s *Store) Calls() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return append([]string(nil), s.calls...)
}

// SetFault replaces Fault while calls are being made.
func (s *Store) SetFault(fault func(call int, op string) Fault) { s.set(func() { s.Fault = fault }) }

// call makes a call: act runs with the lock held, unless the call is to fail before it.
func (s *Store) call(op string, act func()) error {
	if s.Before != nil {
		s.Before(op)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	fault := None
	if s.Fault != nil {
		fault = s.Fault(len(s.calls), op)
	}
	s.calls = append(s.calls, op)
	switch fault {
	case NotStored, Dead:
		return ErrInjected
	case Refused:
		return fmt.Errorf("%w: %w", ErrInjected, result.ErrRefused)
	case Locked:
		return fmt.Errorf("%w: %w", ErrInjected, inbox.ErrLocked)
	}
	act()
	if fault == StoredAnyway {
		return ErrInjected
	}
	return nil
}

// newETag must be called with the lock held.
func (s *Store) newETag() string {
	s.etags++
	return strconv.Itoa(s.etags)
}
