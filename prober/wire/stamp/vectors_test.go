package stamp

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// The vectors were computed with Python's hmac and struct from the layouts of RFC 8762 and RFC
// 8972, not with this package. Each has a request, its reply, and what they say.
type vector struct {
	mode           Mode
	key            string
	request, reply string // hexadecimal; blanks are left out
	wantRequest    Request
	wantReply      Reply
	t1, t2, t3     int64 // Unix nanoseconds
}

const (
	newYear = int64(1767225600) * second // 2026-01-01T00:00:00Z
	key1    = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
)

var zeros = strings.Repeat("00", 68)

// Stateful reflector, both clocks synchronized, NTP.
var v1 = vector{
	mode: Authenticated, key: key1,
	request: "00000007000000000000000000000000ed0037801f9add378a100102" + zeros + "afc0cfdf4a63bb5d6c684f8fb9d5a119",
	reply: "00000004000000000000000000000000ed0037802230c7188820010200000000ed003780222a39600000000000000000" +
		"00000007000000000000000000000000ed0037801f9add378a10000000000000fd000000000000000000000000000000 ec621023386401aebbb4915d9397e031",
	wantRequest: Request{Sequence: 7, T1: 0xed0037801f9add37, Estimate: 0x8a10, SSID: 0x0102},
	wantReply: Reply{Sequence: 4, T3: 0xed0037802230c718, Estimate: 0x8820, SSID: 0x0102, T2: 0xed003780222a3960,
		SenderSequence: 7, T1: 0xed0037801f9add37, SenderEstimate: 0x8a10, TTL: 253},
	t1: newYear + 123456789, t2: newYear + 133456789, t3: newYear + 133556789,
}

// Stateless reflector; the sender writes PTPv2, the reflector NTP and is not synchronized.
var v2 = vector{
	mode: Authenticated, key: "stamp-test-key-2",
	request: "fffffffe0000000000000000000000006955b9003b9ac9ffc0010000" + zeros + "dbbb7d60380f3db9eadc2d1dfb41c925",
	reply: "fffffffe000000000000000000000000ed003781052f1a9f14ff000000000000ed003781051eb8510000000000000000" +
		"fffffffe0000000000000000000000006955b9003b9ac9ffc00100000000000040000000000000000000000000000000 58a972bc9c34d767c2d0583e07fd5853",
	wantRequest: Request{Sequence: 0xfffffffe, T1: 0x6955b9003b9ac9ff, Estimate: 0xc001},
	wantReply: Reply{Sequence: 0xfffffffe, T3: 0xed003781052f1a9f, Estimate: 0x14ff, T2: 0xed003781051eb851,
		SenderSequence: 0xfffffffe, T1: 0x6955b9003b9ac9ff, SenderEstimate: 0xc001, TTL: 64},
	t1: newYear + 999999999, t2: newYear + 1020000000, t3: newYear + 1020250000,
}

// Unauthenticated, with the TLVs 3, 200 (which nobody knows), 8, and 1 after it.
var v3 = vector{
	mode: Unauthenticated, key: key1,
	request: "00000001ed003780800000008a100001" + zeros[:56] +
		"8003000400000000 80c80004deadbeef 80080010f6a8f05fb184a830038c8f0da730bed3 800100080011223344556677",
	reply: "00000001ed003780800d1b7188200001ed00378080068db800000001ed003780800000008a100000ff000000" +
		"0003000401020102 80c80004deadbeef 000800105283c09e7204a035ac4ffbe6dcdbb1ee 000100080011223344556677",
	wantRequest: Request{Sequence: 1, T1: 0xed00378080000000, Estimate: 0x8a10, SSID: 1},
	wantReply: Reply{Sequence: 1, T3: 0xed003780800d1b71, Estimate: 0x8820, SSID: 1, T2: 0xed00378080068db8,
		SenderSequence: 1, T1: 0xed00378080000000, SenderEstimate: 0x8a10, TTL: 255},
	t1: newYear + 500000000, t2: newYear + 500100000, t3: newYear + 500200000,
}

var vectors = map[string]vector{"V1": v1, "V2": v2, "V3": v3}

func octets(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same fails unless two packets are equal; it names the first octet that differs.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s differs from octet %d:\n got %x\nwant %x", what, at, got, want)
}

func TestVectorsAreReadAsTheySay(t *testing.T) {
	for name, v := range vectors {
		request, reply := octets(t, v.request), octets(t, v.reply)
		q, ok := ParseRequest(request, v.mode)
		if !ok || q != v.wantRequest {
			t.Errorf("%s: request %+v, %v; want %+v", name, q, ok, v.wantRequest)
		}
		r, ok := ParseReply(reply, v.mode)
		if !ok || r != v.wantReply {
			t.Errorf("%s: reply %+v, %v; want %+v", name, r, ok, v.wantReply)
		}
		if !r.Answers(q) {
			t.Errorf("%s: the reply does not answer the request", name)
		}
		t1, t2, t3, ok := r.Times(newYear)
		if !ok || t1 != v.t1 || t2 != v.t2 || t3 != v.t3 {
			t.Errorf("%s: times %d %d %d, %v; want %d %d %d", name, t1, t2, t3, ok, v.t1, v.t2, v.t3)
		}
		a := NewAuthenticator([]byte(v.key))
		if v.mode == Authenticated && !(a.Verify(request) && a.Verify(reply)) {
			t.Errorf("%s: a digest does not verify", name)
		}
	}
}

func TestVectorsAreBuiltOctetForOctet(t *testing.T) {
	for name, v := range vectors {
		a := NewAuthenticator([]byte(v.key))
		wantRequest, wantReply := octets(t, v.request), octets(t, v.reply)
		request := dirty(len(wantRequest))[:v.mode.Bytes()]
		q := v.wantRequest
		q.T1 = q.Estimate.Stamp(v.t1)
		PutRequest(request, v.mode, q)
		if v.mode == Authenticated {
			a.Sign(request)
		} else {
			request = AppendTLV(request, TypeTimestampInformation, make([]byte, 4))
			request = AppendTLV(request, 200, []byte{0xde, 0xad, 0xbe, 0xef})
			request = a.AppendHMAC(request, v.mode)
			request = AppendTLV(request, TypeExtraPadding, []byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77})
		}
		same(t, name+"'s request", request, wantRequest)

		reply := dirty(len(wantReply))
		r := ReplyTo(q, v.wantReply.TTL)
		r.Sequence, r.Estimate = v.wantReply.Sequence, v.wantReply.Estimate
		r.T2, r.T3 = r.Estimate.Stamp(v.t2), r.Estimate.Stamp(v.t3)
		PutReply(reply, v.mode, r)
		o := a.Reflect(reply, request, v.mode, func(x TLV) Verdict {
			if x.SetTimestampInformation(TimestampInformation{SourceNTP, MethodSoftware, SourceNTP, MethodSoftware}) {
				return Understood
			}
			return Unknown
		})
		if v.mode == Authenticated {
			a.Sign(reply)
		} else if o != (Outcome{Protection: Valid}) {
			t.Errorf("%s: outcome %+v", name, o)
		}
		same(t, name+"'s reply", reply, wantReply)
	}
}

// dirty is a buffer that was used before.
func dirty(n int) []byte { return bytes.Repeat([]byte{0xa5}, n) }
