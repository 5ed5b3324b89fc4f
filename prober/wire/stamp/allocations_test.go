package stamp

import "testing"

func TestNothingAllocates(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	request, reply := make([]byte, 0, 1400), make([]byte, 1400)
	controlPacket, controlReply := make([]byte, ControlBytes), make([]byte, ControlBytes)
	received := AppendPadding(make([]byte, AuthenticatedBytes), 1400-AuthenticatedBytes)
	withTLVs := octets(t, v3.request)
	understand := func(x TLV) Verdict { return knows(x) }
	bound := int64(12345)
	now := newYear
	followed := NewFollowed(1400)
	followedReply := make([]byte, 1400)
	for what, f := range map[string]func(){
		"a sender's packet": func() {
			now++
			b := request[:AuthenticatedBytes]
			e := EstimateOf(&bound)
			PutRequest(b, Authenticated, Request{Sequence: uint32(now), T1: e.Stamp(now), Estimate: e, SSID: 1})
			b = AppendPadding(b, 1400-AuthenticatedBytes)
			a.Sign(b)
		},
		"a reflector's packet": func() {
			a.Verify(received)
			q, _ := ParseRequest(received, Authenticated)
			PutReply(reply, Authenticated, ReplyTo(q, 64))
			a.Reflect(reply, received, Authenticated, understand)
			a.Sign(reply)
		},
		"a reply": func() {
			a.Verify(reply)
			r, _ := ParseReply(reply, Authenticated)
			_, _, _, _ = r.Times(now)
			_, _ = r.Estimate.BoundNS()
		},
		"TLVs with a digest": func() { a.Reflect(reply[:len(withTLVs)], withTLVs, Unauthenticated, understand) },
		"TLVs appended":      func() { a.AppendHMAC(AppendTLV(request[:AuthenticatedBytes], 200, received[:9]), Authenticated) },
		"a follow-up": func() {
			a.SignFollowed(followed)
			a.Reflect(followedReply, followed, Authenticated, follows)
			_, _ = a.FollowUp(followedReply, Authenticated)
		},
		"control packets": func() {
			a.PutControl(controlPacket, controlRequest, controlSession)
			c, _ := ParseControl(controlPacket)
			a.VerifyControl(controlPacket)
			a.PutControlReply(controlReply, ReplyTo(controlRequest, 64), c.Session, controlReport, controlLast)
		},
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations a call", what, n)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	a, p := NewAuthenticator([]byte(key1)), make([]byte, AuthenticatedBytes)
	b.ReportAllocs()
	for b.Loop() {
		a.Sign(p)
	}
}

func BenchmarkReflect(b *testing.B) {
	a := NewAuthenticator([]byte(key1))
	request := AppendPadding(make([]byte, AuthenticatedBytes), 200-AuthenticatedBytes)
	reply := make([]byte, len(request))
	a.Sign(request)
	b.ReportAllocs()
	for b.Loop() {
		if !a.Verify(request) {
			b.Fatal("it does not verify")
		}
		q, _ := ParseRequest(request, Authenticated)
		PutReply(reply, Authenticated, ReplyTo(q, 64))
		a.Reflect(reply, request, Authenticated, nil)
		a.Sign(reply)
	}
}
