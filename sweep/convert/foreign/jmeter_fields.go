package foreign

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"isochrone/prober/wire"
)

// digits reads a whole number that is not negative.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// number is a field that must not exceed most; absent is what it is where the file does not tell it.
func (s *jtlSample) number(c jtlColumn, what string, absent, most int64) (int64, *Fault) {
	b := s.field[c]
	if b == nil {
		return absent, nil
	}
	n, ok := digits(b)
	if !ok {
		return 0, s.fault("%s %.40q is no whole number", what, b)
	}
	if n > most {
		return 0, s.fault("%s %.40q is not to be believed", what, b)
	}
	return n, nil
}

func (s *jtlSample) fault(format string, args ...any) *Fault {
	return &Fault{Line: s.line, Offset: s.offset, Reason: fmt.Sprintf(format, args...)}
}

// jtlClock reads time stamps: milliseconds since 1970, or dates in the forms that JMeter itself reads
// back. Those have no zone: they tell how much later one sample is than another, and no more.
type jtlClock struct{ layout string }

var jtlLayouts = []string{"2006/01/02 15:04:05", "2006-01-02 15:04:05", "01/02/06 15:04:05", "2006-01-02T15:04:05", time.RFC3339}

// jtlNoTime is a time stamp that cannot be read.
const jtlNoTime = math.MinInt64

// read gives milliseconds since 1970, if the stamp has a zone: otherwise as if it were UTC.
func (k *jtlClock) read(b []byte) (ms int64, zone bool) {
	if ms, ok := digits(b); ok {
		if ms < epoch.UnixMilli() || ms >= horizon.UnixMilli() {
			return jtlNoTime, true
		}
		return ms, true
	}
	if len(b) < len("01/02/06 15:04:05") || len(b) > 40 {
		return jtlNoTime, false
	}
	text := string(b)
	if at, err := time.Parse(k.layout, text); err == nil && k.layout != "" {
		return at.UnixMilli(), k.layout == time.RFC3339
	}
	for _, k.layout = range jtlLayouts {
		if at, err := time.Parse(k.layout, text); err == nil && !at.Before(epoch) && at.Before(horizon) {
			return at.UnixMilli(), k.layout == time.RFC3339
		}
	}
	return jtlNoTime, false
}

// verdict says whether the sample was answered as it should be; told is false where the file leaves
// that open, which JMeter takes for yes.
func (s *jtlSample) verdict() (good, told bool, fault *Fault) {
	if b := s.field[jtlSuccess]; b != nil {
		if !isTruth(b) {
			return false, false, s.fault("success %.40q is neither true nor false", b)
		}
		return len(b) == len("true"), true, nil
	}
	code := s.field[jtlCode]
	return !isHTTPFailure(code) && !bytes.HasPrefix(code, []byte("Non HTTP response code")), code != nil, nil
}

func isHTTPFailure(code []byte) bool {
	return len(code) == 3 && (code[0] == '4' || code[0] == '5')
}

// jtlExceptions are what Java says when a request fails, and what that means; the first that fits
// holds. A connection that timed out is a ConnectException too, and one that was cut an SSLException.
var jtlExceptions = []struct {
	says  []byte
	means wire.Failure
}{
	{[]byte("SSLHandshakeException"), wire.FailureTLS},
	{[]byte("SSLPeerUnverifiedException"), wire.FailureTLS},
	{[]byte("CertificateException"), wire.FailureTLS},
	{[]byte("ConnectionPoolTimeoutException"), wire.FailureLocal},
	{[]byte("TimeoutException"), wire.FailureTimeout},
	{[]byte("UnknownHostException"), wire.FailureDNS},
	{[]byte("NoRouteToHostException"), wire.FailureUnreachable},
	{[]byte("etwork is unreachable"), wire.FailureUnreachable},
	{[]byte("o route to host"), wire.FailureUnreachable},
	{[]byte("BindException"), wire.FailureLocal},
	{[]byte("oo many open files"), wire.FailureLocal},
	{[]byte("timed out"), wire.FailureTimeout},
	{[]byte("ConnectException"), wire.FailureRefused},
	{[]byte("onnection refused"), wire.FailureRefused},
	{[]byte("onnection reset"), wire.FailureReset},
	{[]byte("SSL"), wire.FailureTLS},
	{[]byte("SocketException"), wire.FailureReset},
	{[]byte("NoHttpResponseException"), wire.FailureReset},
	{[]byte("ConnectionClosedException"), wire.FailureReset},
	{[]byte("EOFException"), wire.FailureReset},
}

// failure is why a sample failed: by the exception that its code or message names, as samplers
// without HTTP have it too, or else by its status. What is left are answers that an assertion did not
// like.
func (s *jtlSample) failure() wire.Failure {
	code, message := s.field[jtlCode], s.field[jtlMessage]
	if s.excepted() {
		for _, e := range jtlExceptions {
			if bytes.Contains(code, e.says) || bytes.Contains(message, e.says) {
				return e.means
			}
		}
		return wire.FailureProtocol
	}
	if isHTTPFailure(code) {
		return wire.FailureHTTPStatus
	}
	return wire.FailureProtocol
}

// excepted says whether the sampler failed, so that what it got is no answer.
func (s *jtlSample) excepted() bool {
	exception := []byte("Exception")
	return bytes.Contains(s.field[jtlCode], exception) || bytes.Contains(s.field[jtlMessage], exception)
}

// words are what the file says of a sample that failed.
func (s *jtlSample) words() string {
	return detailOf(detailOf(detailOf("", s.field[jtlCode]), s.field[jtlMessage]), s.field[jtlReason])
}

// detailOf is words and what they go on with, cut to what is kept.
func detailOf(words string, more []byte) string {
	if len(more) == 0 || len(words) >= wire.MaxDetailBytes {
		return words
	}
	if words != "" {
		words += ": "
	}
	words += string(bytes.ToValidUTF8(more[:min(len(more), wire.MaxDetailBytes)], []byte("\uFFFD")))
	return wire.CutDetail(words)
}
