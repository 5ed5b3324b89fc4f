package stamp

import (
	"bytes"
	"testing"
)

// last is the follow-up in wantFollowedReply.
var last = FollowUp{Sequence: 3, At: NTP(newYear + 123_400_000), Method: MethodSoftware}

// follows understands a follow-up only, and fills it in.
func follows(x TLV) Verdict {
	if x.Type != TypeFollowUp {
		return Unknown
	}
	if !x.SetFollowUp(last) {
		return Unreadable
	}
	return Understood
}

// followed is V1 with a follow-up, and its reply.
func followed(a *Authenticator, bytes int) (request, reply []byte) {
	request, reply = NewFollowed(bytes), dirty(bytes)
	PutRequest(request, Authenticated, v1.wantRequest)
	a.SignFollowed(request)
	PutReply(reply, Authenticated, v1.wantReply)
	a.Reflect(reply, request, Authenticated, follows)
	a.Sign(reply)
	return request, reply
}

func TestFollowUpsAreBuiltOctetForOctet(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	request, reply := followed(a, 160)
	same(t, "request", request, octets(t, wantFollowedRequest))
	same(t, "reply", reply, octets(t, wantFollowedReply))
	if got, ok := a.FollowUp(reply, Authenticated); !ok || got != last {
		t.Errorf("read as %+v, %v; want %+v", got, ok, last)
	}
	if got, ok := a.FollowUp(request, Authenticated); ok {
		t.Errorf("the request says %+v", got)
	}
	a.SignFollowed(request) // as for the next packet
	same(t, "signed again", request, octets(t, wantFollowedRequest))
}

func TestOnlySomeLengthsHaveRoomForAFollowUp(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	for n := range 1453 {
		if want := n == 152 || n >= 156; HasFollowUp(n) != want {
			t.Errorf("%d octets: %t, want %t", n, HasFollowUp(n), want)
		} else if !want {
			continue
		}
		request, reply := followed(a, n)
		if got, ok := a.FollowUp(reply, Authenticated); len(request) != n || !ok || got != last || a.VerifyTLVs(request, Authenticated) != Valid {
			t.Errorf("%d octets: %d, follow-up %+v, %v", n, len(request), got, ok)
		}
	}
}

func TestWhatIsNotTheKeyHoldersFollowUpIsNotBelieved(t *testing.T) {
	a, other := NewAuthenticator([]byte(key1)), NewAuthenticator([]byte("another"))
	with := func(t Type, value []byte, by *Authenticator) []byte {
		b := AppendTLV(make([]byte, AuthenticatedBytes), t, value)
		b[AuthenticatedBytes] = 0
		b = by.AppendHMAC(b, Authenticated)
		b[len(b)-HeaderBytes-DigestBytes] = 0
		return b
	}
	value := func(change func(f *FollowUp)) []byte {
		f := last
		change(&f)
		b := make([]byte, followUpBytes)
		putFollowUp(b, f)
		return b
	}
	as := value(func(*FollowUp) {})
	flagged := func(f Flags) []byte {
		b := with(TypeFollowUp, as, a)
		b[AuthenticatedBytes] = byte(f)
		return a.AppendHMAC(b[:len(b)-HeaderBytes-DigestBytes], Authenticated)
	}
	for _, c := range []struct {
		name string
		b    []byte
		want bool
	}{
		{"as it should be", with(TypeFollowUp, as, a), true},
		{"stamped by the device", with(TypeFollowUp, value(func(f *FollowUp) { f.Method = MethodHardware }), a), true},
		{"by the control plane", with(TypeFollowUp, value(func(f *FollowUp) { f.Method = MethodControlPlane }), a), false},
		{"by nobody knows what", with(TypeFollowUp, value(func(f *FollowUp) { f.Method = 77 }), a), false},
		{"zero", with(TypeFollowUp, make([]byte, followUpBytes), a), false},
		{"another key's", with(TypeFollowUp, as, other), false},
		{"a wrong digest", func() []byte { b := with(TypeFollowUp, as, a); b[len(b)-1]++; return b }(), false},
		{"no digest", with(TypeFollowUp, as, a)[:AuthenticatedBytes+HeaderBytes+followUpBytes], false},
		{"one octet less", with(TypeFollowUp, as[:15], a), false},
		{"one more", with(TypeFollowUp, append(bytes.Clone(as), 0), a), false},
		{"of another type", with(TypeSession, as, a), false},
		{"not recognized", flagged(Unrecognized), false},
		{"malformed", flagged(Malformed), false},
		{"without integrity", flagged(Integrity), false},
		{"cut", with(TypeFollowUp, as, a)[:AuthenticatedBytes+10], false},
		{"nothing", nil, false},
	} {
		if got, ok := a.FollowUp(c.b, Authenticated); ok != c.want {
			t.Errorf("%s: %+v, %v; want %v", c.name, got, ok, c.want)
		}
	}
}

// A follow-up of another length cannot be read: it goes back with M, and the source stops there.
func TestAFollowUpOfAnotherLengthIsMalformed(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	for _, n := range []int{0, 15, 17} {
		request := a.AppendHMAC(AppendTLV(make([]byte, AuthenticatedBytes), TypeFollowUp, make([]byte, n)), Authenticated)
		reply := make([]byte, len(request))
		o := a.Reflect(reply, request, Authenticated, follows)
		if !o.Malformed || Flags(reply[AuthenticatedBytes])&Malformed == 0 {
			t.Errorf("%d octets: outcome %+v, flags %#x", n, o, reply[AuthenticatedBytes])
		}
		if got, ok := a.FollowUp(reply, Authenticated); ok {
			t.Errorf("%d octets: %+v is believed", n, got)
		}
	}
}
