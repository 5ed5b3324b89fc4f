package stamp

import (
	"bytes"
	"testing"
)

// The seeds of each target: the vectors, and what parsers stumble over. Counted by a test, so
// that none vanishes unnoticed.
func packetSeeds(t testing.TB) [][]byte {
	seeds := [][]byte{nil, make([]byte, 14), make([]byte, 38), make([]byte, 41), make([]byte, 44), make([]byte, 112), dirty(200)}
	for _, name := range []string{"V1", "V2", "V3"} {
		seeds = append(seeds, octets(t, vectors[name].request), octets(t, vectors[name].reply))
	}
	return append(seeds, octets(t, wantFollowedRequest), octets(t, wantFollowedReply))
}

func tlvSeeds(t testing.TB) [][]byte {
	var seeds [][]byte
	for _, behind := range []string{"", "80", "800100", "80010000", "80c8ffff", "80010400 00000000", "8003000300 0000", "ffff0000 ffff0000",
		"80080000", "80080010" + zeros[:32] + "80080010" + zeros[:32], "80c80001aa 80010000 800300040000", zeros} {
		seeds = append(seeds, packet(t, behind))
	}
	return append(seeds, octets(t, v3.request), octets(t, v3.reply))
}

func controlSeeds(t testing.TB) [][]byte {
	_, request, reply := control(t)
	return [][]byte{nil, request, reply, request[:191], make([]byte, ControlBytes), dirty(ControlBytes)}
}

func TestNoSeedIsMissing(t *testing.T) {
	for name, c := range map[string][2]int{
		"packets": {len(packetSeeds(t)), 15}, "TLVs": {len(tlvSeeds(t)), 14}, "control": {len(controlSeeds(t)), 6},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d seeds, want %d", name, c[0], c[1])
		}
	}
}

func add(f *testing.F, seeds [][]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
}

func FuzzRequest(f *testing.F) {
	add(f, packetSeeds(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []Mode{Unauthenticated, Authenticated} {
			q, ok := ParseRequest(b, m)
			if ok != (len(b) >= m.Bytes()) {
				t.Fatalf("%d octets in mode %d: %v", len(b), m, ok)
			}
			if !ok {
				continue
			}
			again := make([]byte, m.Bytes())
			PutRequest(again, m, q)
			if got, ok := ParseRequest(again, m); !ok || got != q {
				t.Fatalf("written and read again: %+v, want %+v", got, q)
			}
		}
	})
}

func FuzzReply(f *testing.F) {
	add(f, packetSeeds(f))
	a := NewAuthenticator([]byte(key1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []Mode{Unauthenticated, Authenticated} {
			r, ok := ParseReply(b, m)
			if !ok {
				continue
			}
			again := make([]byte, m.Bytes())
			PutReply(again, m, r)
			if got, ok := ParseReply(again, m); !ok || got != r {
				t.Fatalf("written and read again: %+v, want %+v", got, r)
			}
			const reach = (1<<31 + 6) * second // nanoseconds can carry some seconds
			if t1, t2, t3, ok := r.Times(newYear); ok {
				for _, at := range []int64{t1, t2, t3} {
					if at < newYear-reach || at > newYear+reach {
						t.Fatalf("%+v: %d is not near %d", r, at, newYear)
					}
				}
			}
			if bound, ok := r.Estimate.BoundNS(); ok != (bound > 0) {
				t.Fatalf("%#04x: bound %d, %v", uint16(r.Estimate), bound, ok)
			}
		}
		a.Verify(b)
		if _, ok := a.FollowUp(b, Authenticated); ok && a.VerifyTLVs(b, Authenticated) != Valid {
			t.Fatal("a follow-up that the key's holder has not made is believed")
		}
	})
}

func FuzzTLVs(f *testing.F) {
	add(f, tlvSeeds(f))
	a := NewAuthenticator([]byte(key1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []Mode{Unauthenticated, Authenticated} {
			w, n, end := Extensions(b, m), 0, min(m.Bytes(), len(b))
			for x, ok := w.Next(); ok; x, ok = w.Next() {
				if w.At() != end {
					t.Fatalf("a TLV at %d, want %d", w.At(), end)
				}
				end += HeaderBytes + len(x.Value)
				n++
			}
			if end > len(b) || n > len(b)/HeaderBytes || w.Malformed() == (end == len(b)) {
				t.Fatalf("%d TLVs up to %d of %d octets, malformed %v", n, end, len(b), w.Malformed())
			}
			reflects(t, a, b, m)
		}
	})
}

// reflects checks what must be true of any reply: only flags, digests and understood values
// change; nothing forged is handed out; and what was valid is valid for the sender too.
func reflects(t *testing.T, a *Authenticator, request []byte, m Mode) {
	before, handed := bytes.Clone(request), 0
	reply := make([]byte, len(request))
	o := a.Reflect(reply, request, m, func(x TLV) Verdict { handed++; return knows(x) })
	if !bytes.Equal(before, request) {
		t.Fatal("the request was changed")
	}
	if o.Protection == Forged && handed > 0 {
		t.Fatalf("%d forged TLVs were handed out", handed)
	}
	w, v := Extensions(request, m), Extensions(reply, m)
	for x, ok := w.Next(); ok; x, ok = w.Next() {
		y, ok := v.Next()
		if !ok || x.Type != y.Type || len(x.Value) != len(y.Value) {
			t.Fatalf("TLV %+v became %+v", x, y)
		}
		if x.Type != TypeHMAC && x.Type != TypeTimestampInformation && !bytes.Equal(x.Value, y.Value) {
			t.Fatalf("the value of type %d was changed", x.Type)
		}
		if o.Protection == Forged && y.Flags&Integrity == 0 {
			t.Fatalf("type %d was forged, and has no flag I", x.Type)
		}
	}
	if o.Protection == Valid && !o.Malformed && a.VerifyTLVs(reply, m) != Valid {
		t.Fatal("the reply's digest does not verify")
	}
}

func FuzzControl(f *testing.F) {
	add(f, controlSeeds(f))
	a := NewAuthenticator([]byte(key1))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := ParseControl(b)
		if ok && len(b) != ControlBytes {
			t.Fatalf("%d octets pass for a control packet", len(b))
		}
		a.VerifyControl(b)
		if !ok {
			return
		}
		r, _ := ParseReply(b, Authenticated)
		again := make([]byte, ControlBytes)
		a.PutControlReply(again, r, c.Session, c.Report, c.FollowUp)
		c.Recognized = true
		if got, ok := ParseControl(again); !ok || got != c || !a.VerifyControl(again) {
			t.Fatalf("written and read again: %+v, %v; want %+v", got, ok, c)
		}
	})
}
