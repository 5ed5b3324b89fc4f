package wire

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Key is a session's 256-bit key, or the seed that session keys are derived from. It prints as
// a placeholder, so that no log or error can give it away; only JSON carries it.
type Key [32]byte

// SessionID names a session at its reflector.
type SessionID [16]byte

// NewSeed draws a key at random.
func NewSeed() (k Key) {
	_, _ = rand.Read(k[:]) // never fails: crypto/rand ends the program instead
	return k
}

// String hides the key.
func (Key) String() string { return "[key]" }

// Format hides the key from every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText writes the key in hexadecimal, for JSON.
func (k Key) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(k[:])), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (k *Key) UnmarshalText(b []byte) error { return unhex(k[:], b, "key") }

// IsZero says whether the key is absent.
func (k Key) IsZero() bool { return k == Key{} }

func (s SessionID) String() string { return hex.EncodeToString(s[:]) }

// MarshalText writes 32 hexadecimal digits.
func (s SessionID) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads 32 hexadecimal digits.
func (s *SessionID) UnmarshalText(b []byte) error { return unhex(s[:], b, "session id") }

// IsZero says whether the id is absent.
func (s SessionID) IsZero() bool { return s == SessionID{} }

// SSID is the session's identifier in STAMP packets (RFC 8972, section 3): the first two octets of
// the id, 1 where they are zero.
func (s SessionID) SSID() uint16 { return max(binary.BigEndian.Uint16(s[:]), 1) }

func unhex(to, from []byte, what string) error {
	if len(from) != 2*len(to) {
		return fmt.Errorf("%s of %d characters: want %d hexadecimal digits", what, len(from), 2*len(to))
	}
	if _, err := hex.Decode(to, from); err != nil {
		return fmt.Errorf("%s is not hexadecimal", what) // without the text: it may be a secret
	}
	return nil
}

// DeriveSession derives the id and key of a series' session at a slot from a sweep's seed
// (HKDF-SHA-256, RFC 5869; info = what is derived | environment | slot | source | target |
// path | probe). Source and target agree whoever dispatched.
func DeriveSession(seed Key, s Series, slot time.Time) (SessionID, Key, error) {
	info := strings.Join([]string{s.Environment, SlotName(slot), s.Source, s.Target, s.Path, s.Probe}, "|")
	var id SessionID
	var key Key
	for _, d := range []struct {
		what string
		to   []byte
	}{{"isochrone session id|", id[:]}, {"isochrone session key|", key[:]}} {
		b, err := hkdf.Key(sha256.New, seed[:], nil, d.what+info, len(d.to))
		if err != nil {
			return SessionID{}, Key{}, fmt.Errorf("deriving the session of %s: %w", s, err)
		}
		copy(d.to, b)
	}
	return id, key, nil
}

// The TCP handshake of a session. The client speaks first; a reflector that does not accept
// closes without a byte; one that does proves that it knows the key too, and only then payload
// flows:
//
//	client -> reflector   session id (16), client nonce (16), HMAC-SHA-256(key, "isochrone client 1|" kind "|" id client-nonce) (32)
//	reflector -> client   reflector nonce (16), HMAC-SHA-256(key, "isochrone reflector 1|" kind "|" id client-nonce reflector-nonce) (32)
const (
	ClientHelloBytes    = 64
	ReflectorHelloBytes = 48
	NonceBytes          = 16
)

// Nonce is drawn anew for every handshake. A reflector keeps those it saw until the session's
// deadline, and refuses them a second time.
type Nonce [NonceBytes]byte

// NewNonce draws a nonce at random.
func NewNonce() (n Nonce) {
	_, _ = rand.Read(n[:])
	return n
}

// ClientHello is the first message of a session.
func ClientHello(key Key, kind Kind, id SessionID, nonce Nonce) [ClientHelloBytes]byte {
	var b [ClientHelloBytes]byte
	copy(b[:16], id[:])
	copy(b[16:32], nonce[:])
	copy(b[32:], mac(key, "isochrone client 1", kind, id[:], nonce[:]))
	return b
}

// ReadClientHello splits a first message. The session id says which key must have made it;
// VerifyClientHello says whether it did.
func ReadClientHello(b [ClientHelloBytes]byte) (SessionID, Nonce) {
	return SessionID(b[:16]), Nonce(b[16:32])
}

// VerifyClientHello says, in constant time, whether the holder of key made the message.
func VerifyClientHello(b [ClientHelloBytes]byte, key Key, kind Kind) bool {
	return subtle.ConstantTimeCompare(b[32:], mac(key, "isochrone client 1", kind, b[:16], b[16:32])) == 1
}

// ReflectorHello is the reflector's answer to an accepted first message.
func ReflectorHello(key Key, kind Kind, id SessionID, client, reflector Nonce) [ReflectorHelloBytes]byte {
	var b [ReflectorHelloBytes]byte
	copy(b[:16], reflector[:])
	copy(b[16:], mac(key, "isochrone reflector 1", kind, id[:], client[:], reflector[:]))
	return b
}

// VerifyReflectorHello says, in constant time, whether the holder of key answered this client's
// nonce.
func VerifyReflectorHello(b [ReflectorHelloBytes]byte, key Key, kind Kind, id SessionID, client Nonce) bool {
	return subtle.ConstantTimeCompare(b[16:], mac(key, "isochrone reflector 1", kind, id[:], client[:], b[:16])) == 1
}

func mac(key Key, label string, kind Kind, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(label + "|" + string(kind) + "|"))
	for _, p := range parts { // fixed lengths: no separator is needed
		h.Write(p)
	}
	return h.Sum(nil)
}

// The messages of the tcp kind, after the handshake. Big-endian; the rest of the agreed size is
// zero and is not looked at.
//
//	request    sequence number (8) | zero (8) | …
//	response   sequence number (8) | nanoseconds that the reflector held the request (8) | …

// PutRequest writes a request's header.
func PutRequest(b []byte, sequence uint64) {
	binary.BigEndian.PutUint64(b, sequence)
	binary.BigEndian.PutUint64(b[8:], 0)
}

// RequestSequence reads a request's header.
func RequestSequence(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// PutResponse writes a response's header. held is how long the reflector had the whole request.
func PutResponse(b []byte, sequence uint64, held time.Duration) {
	binary.BigEndian.PutUint64(b, sequence)
	binary.BigEndian.PutUint64(b[8:], uint64(max(held, 0)))
}

// Response reads a response's header.
func Response(b []byte) (sequence uint64, held time.Duration) {
	return binary.BigEndian.Uint64(b), time.Duration(binary.BigEndian.Uint64(b[8:]))
}
