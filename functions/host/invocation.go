package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// Invocation is one call of a function whose trigger is not HTTP.
type Invocation struct {
	// ID is the host's name for the call, from a header; empty when there was none that can
	// be logged.
	ID string
	// Function is the name that was called, from the path.
	Function string
	// Data are the bindings' values by name, each as the host sent it.
	Data map[string]json.RawMessage
	// Metadata says what the host knows of the trigger, in the same encoding.
	Metadata map[string]json.RawMessage
	// Log carries the invocation's id and the function's name.
	Log *slog.Logger
}

// The headers by which the host names an invocation.
const (
	HeaderInvocationID = "X-Azure-Functions-InvocationId"
	contentTypeJSON    = "application/json"
)

// Decode reads the body of an invocation. Members beside Data and Metadata are left alone: the
// host may grow them.
func Decode(body []byte) (*Invocation, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("decoding an invocation: the body is not UTF-8")
	}
	var envelope struct {
		Data     map[string]json.RawMessage
		Metadata map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, fmt.Errorf("decoding an invocation: %w", err)
	}
	if envelope.Data == nil {
		return nil, errors.New("decoding an invocation: it has no Data object")
	}
	return &Invocation{Data: envelope.Data, Metadata: envelope.Metadata}, nil
}

// maxEncodings is how often a value may be wrapped into a JSON string: the host wraps once, and
// its own JSON strings make it twice.
const maxEncodings = 2

// value reads the named binding into to. The host sends objects as they are and everything else
// as JSON inside a JSON string; which of the two depends on its version and on the binding, so
// both are read: a string is unwrapped for as long as to does not accept the value.
func (i *Invocation) value(name string, to any) error {
	raw, ok := i.Data[name]
	if !ok {
		return fmt.Errorf("reading binding %q of %q: the invocation does not have it", name, i.Function)
	}
	var first error
	for range maxEncodings + 1 {
		err := json.Unmarshal(raw, to)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		var inner string
		if json.Unmarshal(raw, &inner) != nil {
			break
		}
		raw = json.RawMessage(inner)
	}
	return fmt.Errorf("reading binding %q of %q: %w", name, i.Function, first)
}

// Timer is a timer trigger's value.
type Timer struct {
	// Status is nil when the host does not monitor the schedule.
	Status *ScheduleStatus
	// PastDue says that the host itself considers the tick late.
	PastDue bool
}

// ScheduleStatus is what the host keeps of a timer, in UTC. During an invocation that a timer
// caused, Next is the due time being served; during one on demand it is the next due time.
// Zero times are those that the host does not know.
type ScheduleStatus struct {
	Last, Next, LastUpdated time.Time
}

// Timer reads the named binding as a timer's.
func (i *Invocation) Timer(name string) (Timer, error) {
	var value struct {
		ScheduleStatus *struct{ Last, Next, LastUpdated instant }
		IsPastDue      bool
	}
	if err := i.value(name, &value); err != nil {
		return Timer{}, err
	}
	t := Timer{PastDue: value.IsPastDue}
	if s := value.ScheduleStatus; s != nil {
		t.Status = &ScheduleStatus{Last: s.Last.Time, Next: s.Next.Time, LastUpdated: s.LastUpdated.Time}
	}
	return t, nil
}

// instant reads .NET's JSON times: RFC 3339, but without an offset where the time's kind is
// unspecified, as the zero time's is. Those are taken as UTC.
type instant struct{ time.Time }

func (t *instant) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if v, err = time.ParseInLocation("2006-01-02T15:04:05.999999999", s, time.UTC); err != nil {
			return fmt.Errorf("time %.40q: want RFC 3339, or the same without an offset", s)
		}
	}
	t.Time = v.UTC()
	return nil
}

// invocationID is the header's value, if it can be logged as it is.
func invocationID(r *http.Request) string {
	id := r.Header.Get(HeaderInvocationID)
	if len(id) > 64 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ""
	}
	return id
}
