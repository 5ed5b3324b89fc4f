package dispatch

import (
	"context"
	"fmt"
	"time"
)

// clockTolerance is how far Now may be from the storage service's clock for a sweep to be brought
// to its end. Hosts in Azure are within milliseconds of it; a minute is less than anybody waits
// for a document.
const clockTolerance = time.Minute

// Clock tells the time by the clock of the storage service (tables.Store), which all handlers
// share.
type Clock interface {
	// ServiceTime asks the service for the time, and is exact to a second.
	ServiceTime(ctx context.Context) (time.Time, error)
}

// checkedNow is Now when the storage service's clock agrees. What is brought to its end is so for
// good, for every handler: the clock of one alone must not decide that.
func (d *Dispatcher) checkedNow(ctx context.Context) (time.Time, error) {
	if d.Clock == nil {
		return d.Now(), nil
	}
	before := d.Now()
	service, err := d.Clock.ServiceTime(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("checking the clock, before which nothing expires and no sweep is closed: %w", err)
	}
	after := d.Now()
	// The service told its time somewhere between the two.
	apart, side := before.Sub(service), "ahead of"
	if behind := service.Sub(after); behind > apart {
		apart, side = behind, "behind"
	}
	if apart > clockTolerance {
		return time.Time{}, fmt.Errorf("checking the clock: this machine's is %s %s the storage service's, so nothing expires and no sweep is closed: "+
			"set it right, or restart the app so that it moves to another machine", apart.Round(time.Second), side)
	}
	return after, nil
}
