package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// The vectors below were computed with Python 3.11, hashlib and hmac alone: HKDF-SHA-256 as in
// RFC 5869 written out, with the seed 00 01 … 1f, no salt, and the info that DeriveSession
// documents; client nonce 10 11 … 1f, reflector nonce 20 21 … 2f.
const (
	vectorID        = "430f95f6987e478d46405cd4944a2884"
	vectorKey       = "756c5d1e3a2961678cccd359892726484c1081aec5a602e373703081d92c1314"
	vectorClient    = vectorID + "101112131415161718191a1b1c1d1e1f" + "54a3b9c78987db3398b19a428e8972787e621074a7be32804463d7444d4f10fa"
	vectorReflector = "202122232425262728292a2b2c2d2e2f" + "8090f277f216246124494b37ea2fef74e43eed2861ecd7f0216124df1300f79f"
)

var vectorSeries = Series{Environment: "dev", Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"}

func ascending[T ~[16]byte](first byte) (n T) {
	for i := range n {
		n[i] = first + byte(i)
	}
	return n
}

func vectorSession(t *testing.T) (SessionID, Key) {
	t.Helper()
	var seed Key
	for i := range seed {
		seed[i] = byte(i)
	}
	id, key, err := DeriveSession(seed, vectorSeries, goldenSlot)
	if err != nil {
		t.Fatal(err)
	}
	return id, key
}

func TestSessionsAreDerivedAsTheVectorsSay(t *testing.T) {
	id, key := vectorSession(t)
	if id.String() != vectorID || hex.EncodeToString(key[:]) != vectorKey {
		t.Errorf("id %s, key %x; want %s, %s", id, key[:], vectorID, vectorKey)
	}
	// The slot is an instant, whatever zone it is written in.
	var seed Key
	for i := range seed {
		seed[i] = byte(i)
	}
	other, _, err := DeriveSession(seed, vectorSeries, goldenSlot.In(time.FixedZone("", 3600)))
	if err != nil || other != id {
		t.Errorf("in another zone the id is %s (%v)", other, err)
	}
}

func TestEveryPartOfASeriesMakesAnotherSession(t *testing.T) {
	seen := map[SessionID]string{}
	keys := map[Key]bool{}
	add := func(what string, seed Key, s Series, slot time.Time) {
		id, key, err := DeriveSession(seed, s, slot)
		if err != nil {
			t.Fatal(err)
		}
		if was, ok := seen[id]; ok || keys[key] {
			t.Errorf("%s has the session of %s", what, was)
		}
		seen[id], keys[key] = what, true
	}
	s := vectorSeries
	add("the series", Key{}, s, goldenSlot)
	add("another seed", Key{1}, s, goldenSlot)
	add("another slot", Key{}, s, goldenSlot.Add(time.Minute))
	add("another environment", Key{}, Series{"test", s.Source, s.Target, s.Path, s.Probe}, goldenSlot)
	add("the way back", Key{}, Series{s.Environment, s.Target, s.Source, s.Path, s.Probe}, goldenSlot)
	add("another path", Key{}, Series{s.Environment, s.Source, s.Target, "vpn", s.Probe}, goldenSlot)
	add("another probe", Key{}, Series{s.Environment, s.Source, s.Target, s.Path, "tcp-65"}, goldenSlot)
}

func TestTheHandshakeIsAsTheVectorsSay(t *testing.T) {
	id, key := vectorSession(t)
	client, reflector := ascending[Nonce](0x10), ascending[Nonce](0x20)
	hello := ClientHello(key, KindTCP, id, client)
	if got := hex.EncodeToString(hello[:]); got != vectorClient {
		t.Errorf("client hello\n%s, want\n%s", got, vectorClient)
	}
	answer := ReflectorHello(key, KindTCP, id, client, reflector)
	if got := hex.EncodeToString(answer[:]); got != vectorReflector {
		t.Errorf("reflector hello\n%s, want\n%s", got, vectorReflector)
	}
	if gotID, gotNonce := ReadClientHello(hello); gotID != id || gotNonce != client {
		t.Errorf("read back id %s, nonce %x", gotID, gotNonce)
	}
	if !VerifyClientHello(hello, key, KindTCP) || !VerifyReflectorHello(answer, key, KindTCP, id, client) {
		t.Error("right messages are not accepted")
	}
}

func TestEveryBitOfTheHandshakeCounts(t *testing.T) {
	id, key := vectorSession(t)
	client, reflector := ascending[Nonce](0x10), ascending[Nonce](0x20)
	hello := ClientHello(key, KindTCP, id, client)
	for bit := range 8 * len(hello) {
		h := hello
		h[bit/8] ^= 1 << (bit % 8)
		if VerifyClientHello(h, key, KindTCP) {
			t.Fatalf("a client hello with bit %d flipped is accepted", bit)
		}
	}
	answer := ReflectorHello(key, KindTCP, id, client, reflector)
	for bit := range 8 * len(answer) {
		a := answer
		a[bit/8] ^= 1 << (bit % 8)
		if VerifyReflectorHello(a, key, KindTCP, id, client) {
			t.Fatalf("a reflector hello with bit %d flipped is accepted", bit)
		}
	}
	otherKey := key
	otherKey[31] ^= 1
	if VerifyClientHello(hello, otherKey, KindTCP) || VerifyClientHello(hello, key, "udp") {
		t.Error("a client hello of another key or kind is accepted")
	}
	if VerifyReflectorHello(answer, key, KindTCP, id, reflector) || VerifyReflectorHello(answer, key, KindTCP, SessionID{}, client) ||
		VerifyReflectorHello(answer, key, "udp", id, client) {
		t.Error("a reflector hello to another nonce, session or kind is accepted")
	}
	// What the client said, said back to it, proves nothing.
	if VerifyReflectorHello([ReflectorHelloBytes]byte(hello[16:]), key, KindTCP, id, client) {
		t.Error("an echo is accepted as the reflector's answer")
	}
}

func TestNoncesAndSeedsAreNotRepeated(t *testing.T) {
	nonces, seeds := map[Nonce]bool{}, map[Key]bool{}
	for range 1000 {
		nonces[NewNonce()], seeds[NewSeed()] = true, true
	}
	if len(nonces) != 1000 || len(seeds) != 1000 {
		t.Errorf("%d nonces and %d seeds of 1000 draws", len(nonces), len(seeds))
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	_, key := vectorSession(t)
	holder := AssignedRun{Target: "x", Key: key}
	session := &Session{Key: key}
	var out strings.Builder
	for _, v := range []any{key, &key, holder, &holder, session, []Key{key}, map[string]Key{"k": key}, struct{ K any }{key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%08b", "%c", "%U", "%o"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
	}
	assignment := Assignment{ID: "a", Runs: []AssignedRun{holder}}
	current := &Current{Assignments: []Assignment{assignment}, Sessions: []Session{*session}}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("x", "key", key, "pointer", &key, "run", holder, "session", session, "assignment", assignment, "current", current)
	}
	fmt.Fprintln(&out, fmt.Errorf("with %v: %w", key, errors.New("y")))
	bad := hex.EncodeToString(key[:])
	var k Key
	for _, s := range []string{bad + "0", bad[:63] + "x", strings.ToUpper(bad) + "aa"} { // a key that was mistyped is still one
		if err := k.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%d characters were read as a key", len(s))
		} else {
			fmt.Fprintln(&out, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"key":"`+bad+`zz"}`), &AssignedRun{}); err == nil {
		t.Error("a key of 33 bytes was read")
	} else {
		fmt.Fprintln(&out, err)
	}
	printed := strings.ToLower(out.String())
	raw := fmt.Sprintf("%d", [32]byte(key))
	for what, secret := range map[string]string{
		"hexadecimal": bad, "spaced hexadecimal": fmt.Sprintf("% x", [32]byte(key)), "numbers": raw[1 : len(raw)-1], "bytes": strings.ToLower(string(key[:])),
		"half of it": bad[:32], "Go syntax": strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", [32]byte(key)), "[32]uint8{"), "}")),
	} {
		if strings.Contains(printed, secret) {
			t.Errorf("the key was printed as %s", what)
		}
	}
	if !strings.Contains(printed, "[key]") {
		t.Error("nothing was printed in the key's place: this test looks at nothing")
	}
}

func TestKeysAndIDsTravelInJSON(t *testing.T) {
	id, key := vectorSession(t)
	b, err := json.Marshal(AssignedRun{Session: id, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(`"session":"`+vectorID+`","key":"`+vectorKey+`"`)) {
		t.Errorf("encoded as %s", b)
	}
	var back AssignedRun
	if err := json.Unmarshal(b, &back); err != nil || back.Session != id || back.Key != key {
		t.Errorf("read back as %s (%v)", back.Session, err)
	}
	if b, err := json.Marshal(AssignedRun{}); err != nil || bytes.Contains(b, []byte("key")) || bytes.Contains(b, []byte("session")) {
		t.Errorf("an absent session is encoded as %s (%v)", b, err)
	}
	if !(Key{}).IsZero() || key.IsZero() || !(SessionID{}).IsZero() || id.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestMessagesHaveTheirHeaders(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, 20)
	PutRequest(b, 0x0102030405060708)
	if want, _ := hex.DecodeString("01020304050607080000000000000000ffffffff"); !bytes.Equal(b, want) {
		t.Errorf("request % x, want % x", b, want)
	}
	if got := RequestSequence(b); got != 0x0102030405060708 {
		t.Errorf("sequence %x", got)
	}
	PutResponse(b, 7, 258*time.Nanosecond)
	if want, _ := hex.DecodeString("00000000000000070000000000000102ffffffff"); !bytes.Equal(b, want) {
		t.Errorf("response % x, want % x", b, want)
	}
	if s, held := Response(b); s != 7 || held != 258 {
		t.Errorf("read back %d, %s", s, held)
	}
	PutResponse(b, 7, -time.Second) // a clock that stepped back
	if _, held := Response(b); held != 0 {
		t.Errorf("a negative dwell travels as %s", held)
	}
}
