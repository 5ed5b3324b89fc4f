package stamp

import (
	"bytes"
	"testing"
)

// knows understands Timestamp Information only.
func knows(x TLV) Verdict {
	if x.Type != TypeTimestampInformation {
		return Unknown
	}
	if !x.SetTimestampInformation(TimestampInformation{SourcePTP, MethodHardware, SourceFreeRunning, MethodControlPlane}) {
		return Unreadable
	}
	return Understood
}

func TestTLVsAreReflectedAsRFC8972Says(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	for _, c := range []struct {
		name, request, reply string
		want                 Outcome
	}{
		{"nothing", "", "", Outcome{}},
		{"padding keeps its content", "80010003112233", "00010003112233", Outcome{}},
		{"an unknown one keeps U, and the next is looked at", "80c80001aa 8003000400000000", "80c80001aa 0003000402010503", Outcome{}},
		{"U is set where the sender did not", "00c80001aa", "80c80001aa", Outcome{}},
		{"the sender's M, I and reserved bits are not kept", "ff010000 ffc80000", "00010000 80c80000", Outcome{}},
		{"a wrong length for the type ends it, the rest as it was", "80010000 8003000300 0000 80c80000 80010000", "00010000 c003000300 0000 80c80000 80010000", Outcome{Malformed: true}},
		{"longer than the packet", "80010000 80c80009aabb", "00010000 c0c80009aabb", Outcome{Malformed: true}},
		{"too short for flags", "80010000 800100", "00010000 800100", Outcome{Malformed: true}},
		{"an unknown digest: all with I, none understood", "8003000400000000 80010000 8008001000000000000000000000000000000000",
			"a003000400000000 a0010000 a008001000000000000000000000000000000000", Outcome{Protection: Forged}},
		{"a digest of another length, and an end", "8003000400000000 80080000 80c8ffff", "a003000400000000 a0080000 c0c8ffff", Outcome{Protection: Forged, Malformed: true}},
	} {
		request := packet(t, c.request)
		reply := dirty(len(request))
		PutReply(reply, Unauthenticated, Reply{})
		got := a.Reflect(reply, request, Unauthenticated, knows)
		if got != c.want {
			t.Errorf("%s: outcome %+v, want %+v", c.name, got, c.want)
		}
		same(t, c.name, reply, packet(t, c.reply))
		same(t, c.name+": the request", request, packet(t, c.request))
	}
}

func TestNothingForgedIsHandedOut(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	request := NewAuthenticator([]byte("another")).AppendHMAC(packet(t, "8003000400000000"), Unauthenticated)
	o := a.Reflect(make([]byte, len(request)), request, Unauthenticated, func(x TLV) Verdict {
		t.Errorf("type %d was handed out", x.Type)
		return Understood
	})
	if o.Protection != Forged {
		t.Errorf("outcome %+v", o)
	}
}

func TestTheReplysDigestIsOfTheReply(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	request := a.AppendHMAC(append(make([]byte, AuthenticatedBytes), octets(t, "8003000400000000 80c80001aa")...), Authenticated)
	reply := make([]byte, len(request))
	PutReply(reply, Authenticated, Reply{Sequence: 99}) // a stateful reflector: another sequence
	if o := a.Reflect(reply, request, Authenticated, knows); o != (Outcome{Protection: Valid}) {
		t.Fatalf("outcome %+v", o)
	}
	if got := a.VerifyTLVs(reply, Authenticated); got != Valid {
		t.Errorf("the sender finds protection %d, want valid", got)
	}
	if bytes.Equal(reply[len(reply)-16:], request[len(request)-16:]) {
		t.Error("the request's digest came back")
	}
}

func TestWithoutUnderstandingAllIsUnknown(t *testing.T) {
	request := packet(t, "8003000400000000 80010000")
	reply := make([]byte, len(request))
	var none *Authenticator
	if o := none.Reflect(reply, request, Unauthenticated, nil); o != (Outcome{}) {
		t.Errorf("outcome %+v", o)
	}
	same(t, "reply", reply, packet(t, "8003000400000000 00010000"))
}
