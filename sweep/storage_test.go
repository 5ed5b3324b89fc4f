package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire/account"
)

func TestEndpointsAreReadFromBothKindsOfSettings(t *testing.T) {
	for _, c := range []struct {
		account account.Account
		want    endpoints
	}{
		{account.Account{Name: "iso1"}, endpoints{"iso1", "https://iso1.blob.core.windows.net/", "https://iso1.table.core.windows.net/"}},
		{account.Account{ConnectionString: "AccountName=iso2;AccountKey=a2V5==;EndpointSuffix=core.usgovcloudapi.net"},
			endpoints{"iso2", "https://iso2.blob.core.usgovcloudapi.net", "https://iso2.table.core.usgovcloudapi.net"}},
		{account.Account{ConnectionString: "DefaultEndpointsProtocol=http;AccountName=a;BlobEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:2/a;"},
			endpoints{"a", "http://127.0.0.1:1/a", "http://127.0.0.1:2/a"}},
		{account.Account{ConnectionString: "nonsense"}, endpoints{}},
	} {
		if got := endpointsOf(c.account); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.account, got, c.want)
		}
	}
	sas := endpoints{"a", "https://h.example.com/?sig=SECRET", ""}
	if got, want := sas.describe(), `storage account "a" (h.example.com)`; got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
}

func TestAKnockTellsARefusalFromAnAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := "http://" + l.Addr().String() + "/acc"
	if slow, err := knock(t.Context(), open, ""); slow != nil || err != nil {
		t.Errorf("somebody listens: %v, %v", slow, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	slow, err := knock(t.Context(), open)
	if slow != nil || err == nil || !strings.HasSuffix(err.Error(), "connection refused") {
		t.Errorf("nobody listens: %v, %v; want a refusal", slow, err)
	}
	if took := time.Since(begun); took > knockTime {
		t.Errorf("a refusal took %s", took)
	}
	ctx, cancel := context.WithDeadline(t.Context(), begun)
	defer cancel()
	if slow, err := knock(ctx, open); slow == nil || err != nil {
		t.Errorf("no time: %v, %v; want it to be left to the tries", slow, err)
	}
}

func TestAStorageErrorNamesTheAccountFirstAndTheCauseLastWithoutFilters(t *testing.T) {
	s := &session{account: `storage account "acc" (h:1)`, slow: errors.New(`connecting to "h:1": i/o timeout`)}
	err := fmt.Errorf("reading the last sweeps: %w", fmt.Errorf("reading table %q where %s: %w", "sweepsdev202611",
		"PartitionKey eq 'sw:eep''s' and RowKey lt '2026'", context.DeadlineExceeded))
	var p *problem
	if !errors.As(unreachable(err), &p) {
		t.Fatal("no problem")
	}
	want := `storage account "acc" (h:1): reading the last sweeps: reading table "sweepsdev202611": context deadline exceeded: connecting to "h:1": i/o timeout`
	if got := s.storageText(p); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p.err = errors.New("x"); s.storageText(p) != `storage account "acc" (h:1): x` {
		t.Errorf("an error that is no deadline's: %s", s.storageText(p))
	}
}
