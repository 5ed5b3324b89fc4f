package wire

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Sessions with a shared secret: source and target agree without an app, because whoever opens a
// session writes into its id what the target has to know, and its key follows from the id and the
// secret. Big-endian:
//
//	id    random (6) | Unix seconds when it was made (4) | request bytes (3) | response bytes (3)
//	key   HKDF-SHA-256 (RFC 5869) of the secret, no salt, info "isochrone shared session key|" id in hexadecimal
//
// The id is as public as any; only who holds the secret can prove the key that belongs to it.
const (
	// MinSecretBytes and MaxSecretBytes bound a shared secret. A shorter one could be found by
	// trying, as every hello that passes by lets anyone try without asking the target.
	MinSecretBytes = 16
	MaxSecretBytes = 4096

	maxUint24 = 1<<24 - 1
)

// Shared is what the id of a session with a shared secret says, with the key that belongs to it.
type Shared struct {
	Key           Key
	Made          time.Time // by the source's clock, to the second
	RequestBytes  int
	ResponseBytes int
}

// SharedSession makes the id and key of a new session of the holder of a secret. The sizes are
// bytes; both have to fit into 24 bits.
func SharedSession(secret []byte, now time.Time, requestBytes, responseBytes int) (SessionID, Key, error) {
	var id SessionID
	seconds := now.Unix()
	if seconds < 0 || seconds > math.MaxUint32 {
		return SessionID{}, Key{}, fmt.Errorf("making a session at %s: its id holds times from 1970 to 2106", now.UTC().Format(time.RFC3339))
	}
	if requestBytes < 0 || requestBytes > maxUint24 || responseBytes < 0 || responseBytes > maxUint24 {
		return SessionID{}, Key{}, fmt.Errorf("making a session of %d and %d bytes: its id holds sizes from 0 to %d", requestBytes, responseBytes, maxUint24)
	}
	_, _ = rand.Read(id[:6]) // never fails: crypto/rand ends the program instead
	binary.BigEndian.PutUint32(id[6:], uint32(seconds))
	putUint24(id[10:], requestBytes)
	putUint24(id[13:], responseBytes)
	s, err := ReadSharedSession(id, secret)
	if err != nil {
		return SessionID{}, Key{}, err
	}
	return id, s.Key, nil
}

// ReadSharedSession reads what a session id says, if the session is one of the secret's holders.
// Whether it is, only a proof of the key can tell. An error means that the secret is too short or
// too long.
func ReadSharedSession(id SessionID, secret []byte) (Shared, error) {
	if n := len(secret); n < MinSecretBytes || n > MaxSecretBytes {
		return Shared{}, fmt.Errorf("shared secret of %d bytes: want %d to %d", n, MinSecretBytes, MaxSecretBytes)
	}
	b, err := hkdf.Key(sha256.New, secret, nil, "isochrone shared session key|"+id.String(), len(Key{}))
	if err != nil {
		return Shared{}, fmt.Errorf("deriving the key of session %s: %w", id, err)
	}
	return Shared{
		Key:          Key(b),
		Made:         time.Unix(int64(binary.BigEndian.Uint32(id[6:])), 0).UTC(),
		RequestBytes: uint24(id[10:]), ResponseBytes: uint24(id[13:]),
	}, nil
}

func putUint24(b []byte, v int) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }

func uint24(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }
