package stamp

import "testing"

func TestWhatMustBeZeroIsNotLookedAt(t *testing.T) {
	for name, v := range vectors {
		q, r := octets(t, v.request), octets(t, v.reply)
		// Gaps by layout: in requests and in replies.
		requestGaps := map[Mode][][2]int{Unauthenticated: {{16, 44}}, Authenticated: {{4, 16}, {28, 96}}}[v.mode]
		replyGaps := map[Mode][][2]int{
			Unauthenticated: {{38, 40}, {41, 44}}, // some reflectors repeat the SSID at 38
			Authenticated:   {{4, 16}, {28, 32}, {40, 48}, {52, 64}, {74, 80}, {81, 96}},
		}[v.mode]
		fill(q, requestGaps)
		fill(r, replyGaps)
		if got, ok := ParseRequest(q, v.mode); !ok || got != v.wantRequest {
			t.Errorf("%s: request %+v, want %+v", name, got, v.wantRequest)
		}
		if got, ok := ParseReply(r, v.mode); !ok || got != v.wantReply {
			t.Errorf("%s: reply %+v, want %+v", name, got, v.wantReply)
		}
		if v.mode == Authenticated { // but the digest covers them as sent
			a := NewAuthenticator([]byte(v.key))
			if a.Verify(q) || a.Verify(r) {
				t.Errorf("%s: a changed packet verifies", name)
			}
			a.Sign(q)
			if !a.Verify(q) {
				t.Errorf("%s: a signed packet with such octets set does not verify", name)
			}
		}
	}
}

func fill(b []byte, gaps [][2]int) {
	for _, g := range gaps {
		for i := g[0]; i < g[1]; i++ {
			b[i] = 0xff
		}
	}
}

func TestShortPacketsAreRefused(t *testing.T) {
	long := make([]byte, 200)
	for _, c := range []struct {
		mode           Mode
		request, reply int // the shortest that is read
	}{
		{Unauthenticated, 44, 38}, // 14 would be TWAMP-Light's: a reply three times as long
		{Authenticated, 112, 112},
	} {
		for n := range long {
			if _, ok := ParseRequest(long[:n], c.mode); ok != (n >= c.request) {
				t.Errorf("mode %d: a request of %d octets: %v", c.mode, n, ok)
			}
			if _, ok := ParseReply(long[:n], c.mode); ok != (n >= c.reply) {
				t.Errorf("mode %d: a reply of %d octets: %v", c.mode, n, ok)
			}
		}
	}
}

func TestTWAMPLightRepliesAreRead(t *testing.T) {
	reply := octets(t, v3.reply)
	want := v3.wantReply
	if got, ok := ParseReply(reply[:41], Unauthenticated); !ok || got != want {
		t.Errorf("41 octets: %+v, %v; want %+v", got, ok, want)
	}
	want.TTL = 0 // not told
	if got, ok := ParseReply(reply[:38], Unauthenticated); !ok || got != want {
		t.Errorf("38 octets: %+v, %v; want %+v", got, ok, want)
	}
	reply[14], reply[15] = 0, 0 // a reflector without RFC 8972 has no SSID
	if got, _ := ParseReply(reply, Unauthenticated); !got.Answers(v3.wantRequest) {
		t.Error("a reply without an SSID does not answer")
	}
}

func TestAnEchoIsNoAnswer(t *testing.T) {
	for name, v := range vectors {
		echo, _ := ParseReply(octets(t, v.request), v.mode)
		if echo.Answers(v.wantRequest) {
			t.Errorf("%s: the request itself passes for its reply", name)
		}
		for what, change := range map[string]func(*Reply){
			"sequence": func(r *Reply) { r.SenderSequence++ },
			"T1":       func(r *Reply) { r.T1++ },
			"estimate": func(r *Reply) { r.SenderEstimate++ },
			"SSID":     func(r *Reply) { r.SSID = v.wantRequest.SSID + 1 },
		} {
			r := v.wantReply
			change(&r)
			if r.Answers(v.wantRequest) {
				t.Errorf("%s: a reply with another %s passes", name, what)
			}
		}
	}
}

func TestAnyChangedOctetBreaksTheDigest(t *testing.T) {
	a := NewAuthenticator([]byte(v1.key))
	b := octets(t, v1.reply)
	for i := range b {
		b[i] ^= 1
		if a.Verify(b) {
			t.Errorf("octet %d changed, and it verifies", i)
		}
		b[i] ^= 1
	}
	if !a.Verify(b) || !a.Verify(append(b, 1, 2, 3)) { // TLVs are not covered
		t.Error("unchanged, and it does not verify")
	}
	if a.Verify(b[:111]) || a.Verify(nil) {
		t.Error("a short packet verifies")
	}
	if NewAuthenticator([]byte("another")).Verify(b) {
		t.Error("it verifies under another key")
	}
}

func TestWritingStopsAtTheLengthNotTheCapacity(t *testing.T) {
	a := NewAuthenticator([]byte(key1))
	room := make([]byte, 4096)
	for what, write := range map[string]func(){
		"PutRequest":       func() { PutRequest(room[:43], Unauthenticated, Request{}) },
		"PutReply":         func() { PutReply(room[:111], Authenticated, Reply{}) },
		"Sign":             func() { a.Sign(room[:111]) },
		"PutControl":       func() { a.PutControl(room[:191], Request{}, [16]byte{}) },
		"PutControlReply":  func() { a.PutControlReply(room[:191], Reply{}, [16]byte{}, Report{}, FollowUp{}) },
		"a TLV of 65536":   func() { AppendTLV(nil, TypeExtraPadding, make([]byte, 65536)) },
		"padding of 65540": func() { AppendPadding(nil, 65540) },
		"an empty key":     func() { NewAuthenticator(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			write()
		}()
	}
}
