package archive

import (
	"context"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"isochrone/sweep/inbox"
)

// leaseBreaks is how often a lease is broken before the item counts as locked: who holds one may
// take another at once.
const leaseBreaks = 3

// unleased runs op on a blob of the inbox. When a lease is in the way, it breaks the lease and runs
// op again. A lease that cannot be broken gives an error with inbox.ErrLocked in its chain.
func (s *Store) unleased(ctx context.Context, client *blob.Client, op func() error) error {
	err := op()
	for range leaseBreaks {
		if !bloberror.HasCode(err, bloberror.LeaseIDMissing) {
			break
		}
		if err := breakLease(ctx, client); err != nil {
			return err
		}
		err = op()
	}
	return lockedOr(err)
}

func breakLease(ctx context.Context, client *blob.Client) error {
	c, err := lease.NewBlobClient(client, nil)
	if err != nil {
		return fmt.Errorf("breaking a lease: %w", err)
	}
	_, err = c.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: to.Ptr(int32(0))}) // at once
	switch {
	case err == nil, bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation), status(err) == http.StatusNotFound:
		return nil // op says what it finds
	case status(err) == http.StatusForbidden, status(err) == http.StatusConflict:
		return fmt.Errorf("%w: breaking its lease: %w", inbox.ErrLocked, brief(err))
	}
	return fmt.Errorf("breaking a lease: %w", brief(err))
}

// lockedOr adds inbox.ErrLocked to what storage answers for a blob that its sender has locked.
func lockedOr(err error) error {
	if bloberror.HasCode(err, bloberror.LeaseIDMissing, bloberror.BlobArchived, bloberror.BlobBeingRehydrated,
		bloberror.BlobUsesCustomerSpecifiedEncryption, bloberror.BlobImmutableDueToPolicy) {
		return fmt.Errorf("%w: %w", inbox.ErrLocked, brief(err))
	}
	return err
}
