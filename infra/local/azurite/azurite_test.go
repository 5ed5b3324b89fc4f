package azurite_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/azurite/azuritetest"
)

func TestStartServesAndStopLeavesNothing(t *testing.T) {
	root, err := azuritetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := azurite.Start(ctx, azurite.Options{Root: root, Location: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(s.BlobURL + "?comp=list")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "AuthorizationFailure") {
		t.Errorf("an unsigned request got %s: %s; want 403 from the blob service", resp.Status, body)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after Stop, signalling the server gives %v; want no such process", err)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	_, err := azurite.Start(t.Context(), azurite.Options{Root: t.TempDir(), Location: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "make deps installs it") {
		t.Errorf("without Azurite: %v; want an error that names the remedy", err)
	}
}
