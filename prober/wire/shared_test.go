package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

var secret = []byte("sixteen bytes or more")

// The expected key was computed with Python: hmac.new(b"\0"*32, secret), then one round of expand.
func TestASharedSessionSaysInItsIDWhatTheTargetNeeds(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 20, 30, 999, time.UTC)
	id, key, err := SharedSession(secret, now, 1<<20, 16)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadSharedSession(id, secret)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Shared{Key: key, Made: now.Truncate(time.Second), RequestBytes: 1 << 20, ResponseBytes: 16}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if want := []byte{0x10, 0, 0, 0, 0, 0x10}; !bytes.Equal(id[10:], want) {
		t.Errorf("sizes in the id: % x, want % x", id[10:], want)
	}
	known := SessionID{1, 2, 3, 4, 5, 6, 0x6a, 0x8b, 0, 0, 0, 0, 64, 0, 0, 16}
	got, err = ReadSharedSession(known, secret)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := got.Key.MarshalText()
	if want := "b033dac5cf0baeb75eb3bbe0c0142847e444eca88cc693714e308f1feff2346b"; string(text) != want {
		t.Errorf("key of %s: %s, want %s", known, text, want)
	}
}

func TestTwoSharedSessionsOfOneSecondDiffer(t *testing.T) {
	now := time.Now()
	a, keyA, errA := SharedSession(secret, now, 64, 16)
	b, keyB, errB := SharedSession(secret, now, 64, 16)
	if errA != nil || errB != nil || a == b || keyA == keyB {
		t.Errorf("%s and %s (%v, %v)", a, b, errA, errB)
	}
	other, err := ReadSharedSession(a, append(secret[:len(secret):len(secret)], '!'))
	if err != nil || other.Key == keyA {
		t.Errorf("another secret gives the same key (%v)", err)
	}
}

func TestWhatASharedSessionCannotBe(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		secret            []byte
		now               time.Time
		request, response int
		want              string
	}{
		"short secret":     {secret[:15], now, 64, 16, "secret of 15 bytes: want 16 to 4096"},
		"long secret":      {make([]byte, 4097), now, 64, 16, "secret of 4097 bytes"},
		"large request":    {secret, now, 1 << 24, 16, "sizes from 0 to 16777215"},
		"negative":         {secret, now, 64, -1, "sizes from 0"},
		"before the epoch": {secret, time.Unix(-1, 0), 64, 16, "times from 1970 to 2106"},
		"after 2106":       {secret, time.Unix(1<<32, 0), 64, 16, "times from 1970 to 2106"},
	} {
		if _, _, err := SharedSession(c.secret, c.now, c.request, c.response); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		} else if bytes.Contains([]byte(err.Error()), secret[:15]) {
			t.Errorf("%s: the error gives the secret away", name)
		}
	}
}
