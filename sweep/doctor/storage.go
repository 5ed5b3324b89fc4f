package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"isochrone/prober/wire/account"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

const remedyRole = "give the identity Storage Blob Data Contributor on the containers and Storage Table Data Reader on the tables, or use the account's own key; a role takes some minutes to be known"

// access asks for every container and table.
func (e *examination) access(ctx context.Context) error {
	places := append(e.Blobs.Access(ctx), e.Rows.Access(ctx, e.now)...)
	var missing []string
	readable, alike := 0, true
	for _, a := range places {
		alike = alike && a.Err != nil && a.Denied == places[0].Denied
	}
	if alike { // nothing is gained by saying it of each
		f := denied(places[0])
		f.Subject = fmt.Sprintf("%s and %d more", places[0].Place, len(places)-1)
		e.add(f)
		return nil
	}
	for _, a := range places {
		switch {
		case a.Missing:
			missing = append(missing, a.Place)
		case a.Err != nil:
			e.add(denied(a))
		default:
			readable++
		}
	}
	switch {
	case len(missing) == len(places):
		e.found(CheckAccess, "", Fault, fmt.Sprintf("the account holds nothing of environment %q", e.Environment),
			"see that the environment's name and the account are right; the app makes what it needs when it runs for the first time")
	case len(missing) > 0:
		// Tables of a month come with its first rows.
		e.found(CheckAccess, "", Warning, "not there yet: "+strings.Join(missing, ", "),
			"nothing where the environment or the month is new: the app makes them when they are needed")
	}
	if readable > 0 {
		e.ok(CheckAccess, "", "%s of the environment can be read", plural(readable, "container and table", "containers and tables"))
	}
	return nil
}

func denied(a account.Access) Finding {
	f := Finding{Check: CheckAccess, Subject: a.Place, State: Fault, Text: "it cannot be read", Err: a.Err, Remedy: "see that the storage account can be reached from here, and its firewall"}
	if a.Denied {
		f.Remedy = remedyRole
	}
	return f
}

// How far this machine's clock may be from the storage service's. The app closes nothing when its own is
// a minute off; heartbeats are compared to seconds.
const (
	clockNoticed = 5 * time.Second
	clockWrong   = time.Minute
)

func (e *examination) clock(ctx context.Context) error {
	before := e.Now()
	service, err := e.Rows.ServiceTime(ctx)
	if err != nil {
		return err
	}
	after := e.Now()
	// The service told its time, cut to a second, somewhere between the two.
	apart, side := before.Sub(service)-time.Second, "ahead of"
	if behind := service.Sub(after); behind > apart {
		apart, side = behind, "behind"
	}
	apart = max(apart, 0)
	f := Finding{Check: CheckClock, Text: fmt.Sprintf("this machine's clock is %s %s the storage service's", age(apart), side)}
	switch {
	case apart > clockWrong:
		f.State, f.Remedy = Fault, "set it right, with NTP: answers say how old things are by it"
	case apart > clockNoticed:
		f.State, f.Remedy = Warning, "set it right, with NTP"
	default:
		f.State, f.Text = OK, "this machine's clock and the storage service's agree to some seconds"
	}
	e.now = service.UTC()
	e.add(f)
	return nil
}

// configuration reads what the next sweep will run.
func (e *examination) configuration(ctx context.Context) error {
	body, found, err := e.Blobs.Config(ctx)
	if err != nil {
		return err
	}
	if !found {
		e.found(CheckConfiguration, "", Fault, "there is none: nothing is measured", "write one, check it, and store it with: sweep config push sweep.yaml")
		return nil
	}
	c, err := answers.ReadConfig(ctx, e.Blobs, e.Environment)
	var faults config.Faults
	switch {
	case errors.As(err, &faults):
		e.found(CheckConfiguration, "", Fault, fmt.Sprintf("%s; the first: %s", plural(len(faults), "fault", "faults"), faults[0]),
			"get it with sweep config show, repair it, see that sweep check finds nothing, and push it again")
		return nil
	case err != nil:
		e.found(CheckConfiguration, "", Fault, err.Error(), "push one that is for this environment")
		return nil
	}
	e.config, e.hash = c, answers.Hash(body)
	e.ok(CheckConfiguration, "", "%s and %s; SHA-256 %.12s…", plural(len(c.Probers), "prober", "probers"), plural(len(c.Probes), "probe", "probes"), e.hash)
	for i := range c.Probes {
		if c.Probes[i].Next(e.now).IsZero() {
			e.found(CheckConfiguration, "probe "+c.Probes[i].Name, Fault, fmt.Sprintf("its schedule %q is never due", c.Probes[i].Schedule), "correct the schedule")
		}
	}
	return nil
}
