package tables

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var alert0 = Alert{Kind: AlertDeviation, Subject: "westeurope|eastus|public|tcp-64", Since: slot0.Truncate(time.Hour), Raised: slot0.Add(3 * time.Hour), Message: "slower than usual",
	Simulated: true, P50US: new(90_000.0), ExpectedUS: new(80_000.0), Score: new(12.5)}

func TestAnAlertIsRaisedOnceAndEndsOnce(t *testing.T) {
	s, ctx := newStore(t), background(t)
	for range 2 {
		if over, err := s.PutAlert(ctx, alert0); err != nil || over {
			t.Fatalf("over %t, %v", over, err)
		}
	}
	other := alert0
	other.Message, other.P50US = "another's", new(1.0)
	if over, err := s.PutAlert(ctx, other); err != nil || over { // the first stays
		t.Fatalf("over %t, %v", over, err)
	}
	end := alert0
	end.Ended, end.EndMessage = slot0.Add(9*time.Hour), "as usual again"
	late := end
	late.Ended = slot0.Add(10 * time.Hour)
	for _, a := range []Alert{end, late} {
		if err := s.EndAlert(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	got, err := collect(s.Alerts(ctx, AlertQuery{Kind: AlertDeviation}))
	if diff := cmp.Diff([]Alert{end}, got); err != nil || diff != "" {
		t.Errorf("%v, stored (-want +got):\n%s", err, diff)
	}
	if over, err := s.PutAlert(ctx, alert0); err != nil || !over {
		t.Errorf("raised again: over %t, %v", over, err)
	}
}

func TestAlertsAreReadByKindAndTime(t *testing.T) {
	s, ctx := newStore(t), background(t)
	for i := range 4 {
		a := Alert{Kind: AlertKinds()[i%2], Subject: "westeurope", Since: slot0.Add(time.Duration(i) * time.Hour), Message: "m"}
		if _, err := s.PutAlert(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		q    AlertQuery
		want []int // hours after slot0
	}{
		{AlertQuery{}, []int{2, 0, 3, 1}},
		{AlertQuery{Kind: AlertChange}, []int{3, 1}},
		{AlertQuery{Since: slot0.Add(time.Hour)}, []int{2, 3, 1}},
		{AlertQuery{Since: slot0.Add(time.Hour + time.Second)}, []int{2, 3}},
		{AlertQuery{Until: slot0.Add(2 * time.Hour)}, []int{0, 1}},
		{AlertQuery{Kind: AlertCoverage}, nil},
	} {
		as, err := collect(s.Alerts(ctx, c.q))
		var got []int
		for _, a := range as {
			got = append(got, int(a.Since.Sub(slot0)/time.Hour))
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", c.q, err, diff)
		}
	}
	if _, err := collect(s.Alerts(ctx, AlertQuery{Kind: "open"})); !errors.Is(err, ErrRefused) {
		t.Errorf("kind open: %v", err)
	}
}

func TestAlertsThatWouldNotBeFoundAreRefused(t *testing.T) {
	s, ctx := newStore(t), background(t)
	for name, change := range map[string]func(*Alert){
		"kind":    func(a *Alert) { a.Kind = "open" },
		"subject": func(a *Alert) { a.Subject = "westeurope|a/b" },
		"empty":   func(a *Alert) { a.Subject = "" },
		"time":    func(a *Alert) { a.Since = a.Since.Add(time.Millisecond) },
		"past":    func(a *Alert) { a.Since = time.Unix(-1, 0) },
	} {
		a := alert0
		change(&a)
		if _, err := s.PutAlert(ctx, a); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAClaimHasOneOwner(t *testing.T) {
	s, ctx := newStore(t), background(t)
	mine := Claim{Alert: alert0, State: ClaimRaising, Owner: "a", At: slot0.Add(123456789 * time.Nanosecond)}
	theirs := mine
	theirs.Owner = "b"
	claim := func(was *Claim, is Claim, want bool) {
		t.Helper()
		if got, err := s.Claim(ctx, was, is); err != nil || got != want {
			t.Errorf("claiming as %s of %s: %t, %v", is.State, is.Owner, got, err)
		}
	}
	claim(nil, mine, true)
	claim(nil, mine, true) // the answer to the first was lost
	claim(nil, theirs, false)
	there, err := s.Claims(ctx)
	if err != nil || len(there) != 1 || there[0].Owner != "a" || there[0].State != ClaimRaising || *there[0].Score != 12.5 {
		t.Fatalf("claims are %+v, %v", there, err)
	}
	open := there[0]
	open.State = ClaimOpen
	claim(&there[0], open, true)
	ending := theirs
	ending.State = ClaimEnding
	claim(&there[0], ending, false) // it is open by now
	claim(&open, ending, true)
	for _, c := range []Claim{open, ending, ending} { // the first is not what is there, the last is gone
		if err := s.ReleaseClaim(ctx, c); err != nil {
			t.Error(err)
		}
	}
	if there, err := s.Claims(ctx); err != nil || len(there) != 0 {
		t.Errorf("claims are %+v, %v", there, err)
	}
}
