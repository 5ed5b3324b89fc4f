package stamp

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
)

// DigestBytes is the length of a digest: HMAC-SHA-256 cut to its first half (RFC 8762, section
// 4.4).
const DigestBytes = 16

const digestAt = AuthenticatedBytes - DigestBytes

// Authenticator makes and checks a session's digests. It is not for concurrent use: each
// goroutine has its own.
type Authenticator struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

// NewAuthenticator returns an Authenticator for a session's key, and panics without one: a
// digest under the empty key would look like protection.
func NewAuthenticator(key []byte) *Authenticator {
	if len(key) == 0 {
		panic("stamp: an authenticator needs a key")
	}
	a := &Authenticator{mac: hmac.New(sha256.New, key)}
	a.digest(nil, nil) // the first use of the hash allocates
	return a
}

// Sign writes the digest of an authenticated base packet, request or reply, into it. It panics
// if b is shorter than AuthenticatedBytes. TLVs are not covered: see AppendHMAC.
func (a *Authenticator) Sign(b []byte) {
	_ = b[AuthenticatedBytes-1] // not beyond its length, whatever its capacity
	copy(b[digestAt:AuthenticatedBytes], a.digest(b[:digestAt], nil))
}

// Verify says, in constant time, whether the holder of the key made the authenticated base
// packet at the beginning of b.
func (a *Authenticator) Verify(b []byte) bool {
	return len(b) >= AuthenticatedBytes && hmac.Equal(a.digest(b[:digestAt], nil), b[digestAt:AuthenticatedBytes])
}

// digest is valid until the next call.
func (a *Authenticator) digest(first, then []byte) []byte {
	a.mac.Reset()
	a.mac.Write(first)
	a.mac.Write(then)
	return a.mac.Sum(a.sum[:0])[:DigestBytes]
}
