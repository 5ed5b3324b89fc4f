package tables

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// clockPartition and clockRow name a row that is never stored: asking for it is the cheapest
// question that the service answers to whoever may read the table.
const clockPartition, clockRow = "clock", "0"

// ServiceTime asks the table service for the time, by the Date of its answer: exact to a second.
func (s *Store) ServiceTime(ctx context.Context) (time.Time, error) {
	var answer *http.Response
	err := s.retry(ctx, func(ctx context.Context) error {
		_, err := s.service.NewClient(s.name(dirtyTable)).GetEntity(policy.WithCaptureResponse(ctx, &answer), clockPartition, clockRow, nil)
		return err
	})
	if f := readFault(err); err != nil && (f == nil || !f.missing()) {
		return time.Time{}, fmt.Errorf("asking the table service for the time: %w", err)
	}
	if answer == nil {
		return time.Time{}, errors.New("asking the table service for the time: there is no answer to read it from")
	}
	t, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("asking the table service for the time: reading the answer's Date: %w", err)
	}
	return t.UTC(), nil
}
