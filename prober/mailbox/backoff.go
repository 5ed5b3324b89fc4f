package mailbox

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before another attempt: a random time up to a bound that begins
// at First and doubles to Most. The randomness keeps sixty probers from coming back to a storage
// account that recovers all at once.
type Backoff struct {
	First, Most time.Duration
	failures    int
}

// Next is the time to wait after one more failure; never less than a tenth of First, so that a
// lucky draw does not become a loop.
func (b *Backoff) Next() time.Duration {
	bound := b.First
	for range b.failures {
		if bound = 2 * bound; bound >= b.Most {
			break
		}
	}
	bound = min(bound, b.Most)
	b.failures++
	return max(rand.N(bound), b.First/10)
}

// Reset begins anew after a success.
func (b *Backoff) Reset() { b.failures = 0 }
