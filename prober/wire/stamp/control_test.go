package stamp

import "testing"

var (
	controlSession = [16]byte{0xaa, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xbb}
	controlReport  = Report{Received: 1000, Duplicates: 2, Reordered: 3, Replies: 0xfffffffe}
	controlLast    = FollowUp{Sequence: 0x01020304, At: NTP(newYear + 7), Method: MethodSoftware}
	controlRequest = Request{Sequence: 0xffffff00, T1: NTP(newYear), Estimate: 0x8a10, SSID: 0xaa01}
)

func control(t testing.TB) (a *Authenticator, request, reply []byte) {
	t.Helper()
	a = NewAuthenticator([]byte(key1))
	request, reply = dirty(ControlBytes), dirty(ControlBytes)
	a.PutControl(request, controlRequest, controlSession)
	r := ReplyTo(controlRequest, 254)
	r.T2, r.T3, r.Estimate = NTP(newYear+5), NTP(newYear+9), 0x8820
	a.PutControlReply(reply, r, controlSession, controlReport, controlLast)
	return a, request, reply
}

// The digests were computed with Python's hmac.
func TestControlPacketsAreBuiltOctetForOctet(t *testing.T) {
	_, request, reply := control(t)
	same(t, "request", request, octets(t, wantControlRequest))
	same(t, "reply", reply, octets(t, wantControlReply))
}

func TestControlPacketsAreRead(t *testing.T) {
	a, request, reply := control(t)
	if c, ok := ParseControl(request); !ok || c != (Control{Session: controlSession}) {
		t.Errorf("request %+v, %v", c, ok)
	}
	if q, _ := ParseRequest(request, Authenticated); q != controlRequest {
		t.Errorf("request's base %+v", q)
	}
	if c, ok := ParseControl(reply); !ok || c != (Control{controlSession, controlReport, controlLast, true}) {
		t.Errorf("reply %+v, %v", c, ok)
	}
	if r, _ := ParseReply(reply, Authenticated); !r.Answers(controlRequest) || r.Sequence != controlRequest.Sequence || r.TTL != 254 {
		t.Errorf("reply's base %+v", r)
	}
	if !a.VerifyControl(request) || !a.VerifyControl(reply) {
		t.Error("they do not verify")
	}
}

func TestAnyChangedOctetBreaksAControlPacket(t *testing.T) {
	a, request, reply := control(t)
	for _, b := range [][]byte{request, reply} {
		for i := range b {
			if i == ControlBytes-DigestBytes-HeaderBytes {
				continue // the flags of the digest's TLV: Recognized says it
			}
			b[i] ^= 1
			if _, ok := ParseControl(b); ok && a.VerifyControl(b) {
				t.Errorf("octet %d changed, and it verifies", i)
			}
			b[i] ^= 1
		}
	}
	if NewAuthenticator([]byte("another")).VerifyControl(request) {
		t.Error("it verifies under another key")
	}
	for _, b := range [][]byte{nil, request[:ControlBytes-1], append(request[:ControlBytes:ControlBytes], 0)} {
		if _, ok := ParseControl(b); ok || a.VerifyControl(b) {
			t.Errorf("%d octets pass for a control packet", len(b))
		}
	}
}

// An answer must come from a reflector that understood: an echo verifies, being the sender's own.
func TestAnEchoedControlPacketIsNoAnswer(t *testing.T) {
	a, request, _ := control(t)
	c, ok := ParseControl(request)
	r, _ := ParseReply(request, Authenticated)
	if !ok || !a.VerifyControl(request) || c.Recognized || r.Answers(controlRequest) {
		t.Errorf("control %+v, reply %+v", c, r)
	}
	// A reflector that has the key, and does not know the types.
	reply := make([]byte, ControlBytes)
	PutReply(reply, Authenticated, ReplyTo(controlRequest, 255))
	a.Reflect(reply, request, Authenticated, nil)
	a.Sign(reply)
	if c, ok := ParseControl(reply); !ok || !a.VerifyControl(reply) || c.Recognized {
		t.Errorf("control %+v, %v", c, ok)
	}
}

func TestAControlReplyIsWhatReflectWrites(t *testing.T) {
	a, request, want := control(t)
	r, _ := ParseReply(want, Authenticated)
	reply := dirty(ControlBytes)
	PutReply(reply, Authenticated, r)
	o := a.Reflect(reply, request, Authenticated, func(x TLV) Verdict {
		if session, ok := x.Session(); ok && session == controlSession || x.SetReport(controlReport) || x.SetFollowUp(controlLast) {
			return Understood
		}
		return Unknown
	})
	a.Sign(reply)
	if o != (Outcome{Protection: Valid}) {
		t.Errorf("outcome %+v", o)
	}
	same(t, "reply", reply, want)
}

func TestAccessorsRefuseAnotherTypeOrLength(t *testing.T) {
	for _, x := range []TLV{{Type: 200, Value: make([]byte, 16)}, {Type: TypeSession, Value: make([]byte, 15)}, {Type: TypeReport, Value: make([]byte, 17)}, {Type: TypeFollowUp, Value: make([]byte, 15)}, {Type: TypeTimestampInformation}} {
		_, session := x.Session()
		_, report := x.Report()
		_, followUp := x.FollowUp()
		_, information := x.TimestampInformation()
		if session || report || followUp || information || x.SetFollowUp(FollowUp{}) || x.SetReport(Report{}) || x.SetTimestampInformation(TimestampInformation{}) {
			t.Errorf("type %d with %d octets is accepted", x.Type, len(x.Value))
		}
	}
}
