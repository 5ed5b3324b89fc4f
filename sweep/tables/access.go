package tables

import (
	"context"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire/account"
)

// Access asks each of the environment's tables for one key: those of the month of now, where a table
// holds a month.
func (s *Store) Access(ctx context.Context, now time.Time) []account.Access {
	var out []account.Access
	for _, name := range []string{
		s.name(latestTable), s.name(dirtyTable), s.name(probersTable), s.name(seriesTable), s.monthName(runsTables, now), s.monthName(sweepsTables, now),
	} {
		a := account.Access{Place: name}
		err := s.retry(ctx, func(ctx context.Context) error {
			_, err := s.service.NewClient(name).NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr[int32](1), Select: to.Ptr("RowKey")}).NextPage(ctx)
			return err
		})
		f := readFault(err)
		switch {
		case err == nil:
		case f != nil && f.missing():
			a.Missing = true
		default:
			a.Err, a.Denied = err, f != nil && (f.Status == http.StatusForbidden || f.Status == http.StatusUnauthorized)
		}
		out = append(out, a)
	}
	return out
}
