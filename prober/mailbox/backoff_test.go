package mailbox

import (
	"testing"
	"time"
)

func TestBackoffGrowsToItsBoundAndIsRandom(t *testing.T) {
	const first, most = time.Second, 10 * time.Second
	bounds := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, most, most, most}
	largest := make([]time.Duration, len(bounds))
	for range 500 {
		b := Backoff{First: first, Most: most}
		for i, bound := range bounds {
			d := b.Next()
			if d < first/10 || d > bound {
				t.Fatalf("wait %d is %s, want %s to %s", i, d, first/10, bound)
			}
			largest[i] = max(largest[i], d)
		}
	}
	for i, bound := range bounds { // 500 draws, all in the lower three quarters: (3/4)^500
		if largest[i] < bound*3/4 {
			t.Errorf("the largest of 500 waits %d is %s, of a bound of %s", i, largest[i], bound)
		}
	}
}

func TestBackoffBeginsAnewAfterASuccess(t *testing.T) {
	b := Backoff{First: time.Millisecond, Most: time.Hour}
	for range 200 { // far beyond what a doubled duration could hold
		if d := b.Next(); d < 0 || d > time.Hour {
			t.Fatalf("wait of %s", d)
		}
	}
	b.Reset()
	if d := b.Next(); d > time.Millisecond {
		t.Errorf("after a success the first wait is %s", d)
	}
}
