package stamp

import (
	"bytes"
	"testing"
)

// packet is an unauthenticated base packet with the octets behind it.
func packet(t testing.TB, behind string) []byte {
	t.Helper()
	return append(make([]byte, UnauthenticatedBytes), octets(t, behind)...)
}

func TestTLVsAreGoneThroughToTheirEnd(t *testing.T) {
	for _, c := range []struct {
		name, behind string
		types        []Type
		malformedAt  int // 0: none
	}{
		{"none", "", nil, 0},
		{"one without a value", "80010000", []Type{1}, 0},
		{"one, filling", "800100020000", []Type{1}, 0},
		{"odd lengths", "80c8000155 80c900020000 00000000", []Type{200, 201, 0}, 0},
		{"one octet left", "8001000000", []Type{1}, 48},
		{"three octets", "800100", nil, 44},
		{"longer than the packet by one", "8001000155 80c8000200", []Type{1}, 49},
		{"the greatest length", "80c8ffff00", nil, 44},
		{"little-endian length", "80010400 00000000", nil, 44},
	} {
		w := Extensions(packet(t, c.behind), Unauthenticated)
		var types []Type
		for x, ok := w.Next(); ok; x, ok = w.Next() {
			types = append(types, x.Type)
		}
		if !bytes.Equal(asBytes(types), asBytes(c.types)) || w.Malformed() != (c.malformedAt > 0) {
			t.Errorf("%s: types %v, malformed %v; want %v, at %d", c.name, types, w.Malformed(), c.types, c.malformedAt)
		}
		if w.Malformed() && w.At() != c.malformedAt {
			t.Errorf("%s: malformed at %d, want %d", c.name, w.At(), c.malformedAt)
		}
		if _, ok := w.Next(); ok {
			t.Errorf("%s: it goes on after its end", c.name)
		}
	}
	w := Extensions(make([]byte, 20), Authenticated)
	if _, ok := w.Next(); ok || w.Malformed() {
		t.Error("a packet shorter than its base has TLVs")
	}
}

func asBytes(types []Type) (b []byte) {
	for _, x := range types {
		b = append(b, byte(x))
	}
	return b
}

func TestAValueCannotGrowIntoTheNextTLV(t *testing.T) {
	b := packet(t, "80c80001aa 80c90001bb")
	w := Extensions(b, Unauthenticated)
	x, _ := w.Next()
	_ = append(x.Value, 0xff)
	if y, _ := w.Next(); y.Type != 201 || y.Flags != Unrecognized || y.Value[0] != 0xbb {
		t.Errorf("the next TLV became %+v", y)
	}
}

func TestPaddingMakesExactlyTheSize(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 5, 100, 65539} {
		b := AppendPadding(make([]byte, AuthenticatedBytes), n)
		if len(b) != AuthenticatedBytes+n {
			t.Fatalf("padding of %d makes %d octets", n, len(b)-AuthenticatedBytes)
		}
		w := Extensions(b, Authenticated)
		x, ok := w.Next()
		if ok != (n >= HeaderBytes) || ok && (x.Type != TypeExtraPadding || x.Flags != Unrecognized || len(x.Value) != n-HeaderBytes) {
			t.Errorf("padding of %d: %v, type %d, flags %#x, value of %d", n, ok, x.Type, x.Flags, len(x.Value))
		}
		if _, more := w.Next(); more || w.Malformed() != (n > 0 && n < HeaderBytes) {
			t.Errorf("padding of %d: more %v, malformed %v", n, more, w.Malformed())
		}
		if a := NewAuthenticator([]byte(key1)); a.VerifyTLVs(b, Authenticated) != Absent {
			t.Errorf("padding of %d needs a digest", n)
		}
	}
}

func TestTheDigestOfTLVsCoversWhatRFC8972Says(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	// The content of Extra Padding before the digest is covered too, what follows it is not.
	b := packet(t, "")
	b = AppendTLV(b, TypeExtraPadding, []byte{1, 2, 3})
	b = AppendTLV(b, 200, []byte{4})
	end := len(b)
	b = a.AppendHMAC(b, Unauthenticated)
	b = AppendTLV(b, TypeExtraPadding, []byte{5, 6})
	if got := a.VerifyTLVs(b, Unauthenticated); got != Valid {
		t.Fatalf("protection %d, want valid", got)
	}
	for i := range b {
		covered := i < 4 || i >= UnauthenticatedBytes && i < end || i >= end+HeaderBytes && i < end+HeaderBytes+DigestBytes
		if i >= end && i < end+HeaderBytes || i >= end+HeaderBytes+DigestBytes && i < len(b)-2 {
			continue // headers: another length or type is another packet
		}
		b[i] ^= 1
		if forged := a.VerifyTLVs(b, Unauthenticated) != Valid; forged != covered {
			t.Errorf("octet %d changed: forged %v, want %v", i, forged, covered)
		}
		b[i] ^= 1
	}
}

func TestWhenTLVsAreForged(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	const padding, unknown = "8001000100", "80c8000100"
	signed := func(m Mode, before, after string) []byte {
		b := append(make([]byte, m.Bytes()), octets(t, before)...)
		return append(a.AppendHMAC(b, m), octets(t, after)...)
	}
	plain := func(m Mode, s string) []byte { return append(make([]byte, m.Bytes()), octets(t, s)...) }
	for _, c := range []struct {
		name string
		mode Mode
		b    []byte
		want Protection
	}{
		{"none", Authenticated, plain(Authenticated, ""), Absent},
		{"a lone padding", Authenticated, plain(Authenticated, padding), Absent},
		{"two paddings", Authenticated, plain(Authenticated, padding+padding), Forged},
		{"another without a digest", Authenticated, plain(Authenticated, unknown), Forged},
		{"another without a digest, unauthenticated", Unauthenticated, plain(Unauthenticated, unknown), Absent},
		{"the digest last", Authenticated, signed(Authenticated, unknown, ""), Valid},
		{"the digest alone", Unauthenticated, signed(Unauthenticated, "", ""), Valid},
		{"padding on both sides", Authenticated, signed(Authenticated, padding+unknown, padding), Valid},
		{"another behind the digest", Authenticated, signed(Authenticated, padding, unknown), Forged},
		{"a second digest", Unauthenticated, a.AppendHMAC(signed(Unauthenticated, unknown, ""), Unauthenticated), Forged},
		{"a digest of 15 octets", Unauthenticated, plain(Unauthenticated, unknown+"8008000f000000000000000000000000000000"), Forged},
		{"an empty digest", Unauthenticated, plain(Unauthenticated, "80080000"), Forged},
		{"an end before the digest", Authenticated, plain(Authenticated, unknown+"80c8ffff"), Forged},
	} {
		if got := a.VerifyTLVs(c.b, c.mode); got != c.want {
			t.Errorf("%s: protection %d, want %d", c.name, got, c.want)
		}
	}
	var none *Authenticator
	if got := none.VerifyTLVs(signed(Unauthenticated, unknown, ""), Unauthenticated); got != Forged {
		t.Errorf("without a key: protection %d, want forged", got)
	}
}
