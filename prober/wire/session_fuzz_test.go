package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"
)

// The seeds of each target: what the writers here write, and what is nearly that.

var fuzzKey = Key{1, 2, 3}

// near is b, and b with one octet changed at each of the places.
func near(b []byte, places ...int) [][]byte {
	out := [][]byte{b}
	for _, at := range places {
		changed := bytes.Clone(b)
		changed[at] ^= 0x80
		out = append(out, changed)
	}
	return out
}

func clientHelloSeeds() [][]byte {
	tcp := ClientHello(fuzzKey, KindTCP, ascending[SessionID](0), ascending[Nonce](16))
	udp := ClientHello(fuzzKey, KindUDP, SessionID{}, Nonce{})
	other := ClientHello(Key{9}, KindTCP, ascending[SessionID](0), ascending[Nonce](16))
	return append(near(tcp[:], 0, 15, 16, 31, 32, 63), udp[:], other[:], nil, make([]byte, ClientHelloBytes), bytes.Repeat([]byte{0xFF}, ClientHelloBytes))
}

func reflectorHelloSeeds() [][]byte {
	tcp := ReflectorHello(fuzzKey, KindTCP, ascending[SessionID](0), ascending[Nonce](16), ascending[Nonce](32))
	other := ReflectorHello(fuzzKey, KindTCP, ascending[SessionID](0), Nonce{}, ascending[Nonce](32)) // to another client
	return append(near(tcp[:], 0, 15, 16, 47), other[:], nil, make([]byte, ReflectorHelloBytes))
}

func responseSeeds() [][]byte {
	b := make([]byte, MinMessageBytes)
	PutResponse(b, 7, 30*time.Microsecond)
	return append(near(b, 0, 7, 8, 15), make([]byte, MinMessageBytes), bytes.Repeat([]byte{0xFF}, MinMessageBytes))
}

func sharedSeeds() (ids, secrets [][]byte) {
	id := ascending[SessionID](1)
	return append(near(id[:], 0, 6, 10, 15), make([]byte, 16), bytes.Repeat([]byte{0xFF}, 16)),
		[][]byte{nil, make([]byte, MinSecretBytes-1), make([]byte, MinSecretBytes), make([]byte, MaxSecretBytes), make([]byte, MaxSecretBytes+1)}
}

func TestTheSeedsOfSessionsAreAllThere(t *testing.T) {
	ids, secrets := sharedSeeds()
	for _, c := range []struct {
		target string
		got    [][]byte
		want   int
	}{
		{"FuzzClientHello", clientHelloSeeds(), 12}, {"FuzzReflectorHello", reflectorHelloSeeds(), 8}, {"FuzzResponse", responseSeeds(), 7},
		{"FuzzSharedSession, ids", ids, 7}, {"FuzzSharedSession, secrets", secrets, 5},
	} {
		if len(c.got) != c.want {
			t.Errorf("%s: %d seeds, want %d", c.target, len(c.got), c.want)
		}
	}
}

// signed computes a proof of a key anew, without the code that is tested.
func signed(label string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, fuzzKey[:])
	h.Write([]byte(label))
	h.Write(bytes.Join(parts, nil))
	return h.Sum(nil)
}

// FuzzClientHello holds a first message to this: it is accepted exactly where it ends in the proof of
// the key over what it says, and for no other kind.
func FuzzClientHello(f *testing.F) {
	for _, b := range clientHelloSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var hello [ClientHelloBytes]byte
		copy(hello[:], b)
		id, nonce := ReadClientHello(hello)
		if !bytes.Equal(id[:], hello[:16]) || !bytes.Equal(nonce[:], hello[16:32]) {
			t.Fatalf("%x reads as id %s, nonce %x", hello, id, nonce)
		}
		for _, kind := range []Kind{KindTCP, KindUDP} {
			want := bytes.Equal(hello[32:], signed("isochrone client 1|"+string(kind)+"|", hello[:32]))
			if got := VerifyClientHello(hello, fuzzKey, kind); got != want {
				t.Fatalf("%x is accepted for %s: %v, want %v", hello, kind, got, want)
			}
		}
		if again := ClientHello(fuzzKey, KindTCP, id, nonce); !VerifyClientHello(again, fuzzKey, KindTCP) {
			t.Fatalf("written again it is not accepted: %x", again)
		}
	})
}

// FuzzReflectorHello holds an answer to this: it is accepted exactly where it ends in the proof of the
// key over this session, this client's nonce and its own.
func FuzzReflectorHello(f *testing.F) {
	for _, b := range reflectorHelloSeeds() {
		f.Add(b)
	}
	id, nonce := ascending[SessionID](0), ascending[Nonce](16)
	f.Fuzz(func(t *testing.T, b []byte) {
		var hello [ReflectorHelloBytes]byte
		copy(hello[:], b)
		want := bytes.Equal(hello[16:], signed("isochrone reflector 1|tcp|", id[:], nonce[:], hello[:16]))
		if got := VerifyReflectorHello(hello, fuzzKey, KindTCP, id, nonce); got != want {
			t.Fatalf("%x is accepted: %v, want %v", hello, got, want)
		}
		if want && VerifyReflectorHello(hello, fuzzKey, KindTCP, id, Nonce{}) {
			t.Fatalf("%x is accepted as an answer to another client", hello)
		}
	})
}

// FuzzResponse: every header reads as the two numbers that are in it, and one that PutResponse could
// have written comes back the same.
func FuzzResponse(f *testing.F) {
	for _, b := range responseSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		header := make([]byte, MinMessageBytes)
		copy(header, b)
		sequence, held := Response(header)
		if sequence != binary.BigEndian.Uint64(header) || uint64(held) != binary.BigEndian.Uint64(header[8:]) || RequestSequence(header) != sequence {
			t.Fatalf("%x reads as sample %d, held for %d ns", header, sequence, held)
		}
		again := make([]byte, MinMessageBytes)
		PutResponse(again, sequence, held)
		if s, h := Response(again); s != sequence || h != max(held, 0) {
			t.Fatalf("%x written again is %x", header, again)
		}
	})
}

// FuzzSharedSession: any id reads as sizes and a time that it can hold, under any secret of a
// permitted length, and no two secrets give one key.
func FuzzSharedSession(f *testing.F) {
	ids, secrets := sharedSeeds()
	for _, id := range ids {
		for _, secret := range secrets {
			f.Add(id, secret)
		}
	}
	f.Fuzz(func(t *testing.T, b, secret []byte) {
		var id SessionID
		copy(id[:], b)
		got, err := ReadSharedSession(id, secret)
		if permitted := len(secret) >= MinSecretBytes && len(secret) <= MaxSecretBytes; permitted != (err == nil) {
			t.Fatalf("a secret of %d bytes: %v", len(secret), err)
		}
		if err != nil {
			if !got.Key.IsZero() {
				t.Fatalf("a key beside the error %q", err)
			}
			return
		}
		var again SessionID
		copy(again[:6], id[:6])
		binary.BigEndian.PutUint32(again[6:], uint32(got.Made.Unix()))
		putUint24(again[10:], got.RequestBytes)
		putUint24(again[13:], got.ResponseBytes)
		if again != id || got.Key.IsZero() {
			t.Fatalf("%s reads as %+v, which is %s", id, got, again)
		}
		other := bytes.Clone(secret)
		other[0] ^= 1
		if changed, err := ReadSharedSession(id, other); err != nil || changed.Key == got.Key {
			t.Fatalf("another secret gives the same key (%v)", err)
		}
	})
}
