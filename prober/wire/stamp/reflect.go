package stamp

// Verdict is what a reflector makes of one TLV.
type Verdict uint8

const (
	Unknown    Verdict = iota // sent back as it came, with U set
	Understood                // sent back with U cleared
	Unreadable                // sent back with M set, and none after it is looked at
)

// Outcome is what became of a request's TLVs.
type Outcome struct {
	Protection Protection // Forged: none was handed out
	Malformed  bool       // one could not be read, or octets were left that are no TLV
}

// Reflect does a reflector's work on TLVs (RFC 8972, section 4): it writes those of the request
// behind the base packet of the reply, which PutReply has written, has the same mode and is as
// long as the request. The two must not overlap. To set T3 as late as can be, PutSent may write it
// afterwards.
//
// Extra Padding and the HMAC TLV are understood here; any other is handed to understand, whose
// TLV is part of the reply, so that it can write its answer into the value, over the request's.
// A TLV whose type it knows and whose length is wrong is Unreadable to it. A nil understand
// knows none. It sees nothing of a request whose TLVs are forged.
//
// After an unreadable TLV the rest goes back untouched, a digest with it, which then no longer
// verifies: the sender stops at the flag M before it gets there.
func (a *Authenticator) Reflect(reply, request []byte, m Mode, understand func(TLV) Verdict) Outcome {
	base := m.Bytes()
	copy(reply[min(base, len(reply)):], request[min(base, len(request)):])
	o := Outcome{Protection: a.VerifyTLVs(request, m)}
	w := Extensions(reply, m)
	for t, ok := w.Next(); ok; t, ok = w.Next() {
		flags := &reply[w.At()]
		if o.Protection == Forged {
			*flags |= byte(Integrity)
			continue
		}
		switch a.understand(reply, m, w.At(), t, understand) {
		case Unknown:
			*flags = byte(Unrecognized)
		case Understood:
			*flags = 0
		default:
			*flags |= byte(Malformed)
			o.Malformed = true
			return o
		}
	}
	if w.Malformed() {
		o.Malformed = true
		if len(reply)-w.At() >= HeaderBytes { // else there are no flags
			reply[w.At()] |= byte(Malformed)
		}
	}
	return o
}

func (a *Authenticator) understand(reply []byte, m Mode, at int, t TLV, other func(TLV) Verdict) Verdict {
	switch {
	case t.Type == TypeExtraPadding:
		return Understood
	case t.Type == TypeHMAC: // verified: else the TLVs were forged
		copy(t.Value, a.digest(reply[:sequenceBytes], reply[m.Bytes():at]))
		return Understood
	case other == nil:
		return Unknown
	default:
		return other(t)
	}
}
