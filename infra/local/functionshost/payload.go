package functionshost

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"isochrone/functions/ncrontab"
)

// payload is the body of an invocation.
type payload struct {
	Data     map[string]any
	Metadata map[string]any
}

// systemData is in the Metadata of every invocation.
func systemData(f *function, now time.Time) (any, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	return struct{ MethodName, UtcNow, RandGuid string }{f.name, dotNetTime(now), id}, nil
}

// value is how the host encodes what is neither an object nor bytes: as a JSON document inside a
// JSON string. A string ends up with two pairs of quotes.
func value(v any) (string, error) {
	body, err := json.Marshal(v)
	return string(body), err
}

// newID makes a random UUID.
func newID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("making an id: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// dotNetTime writes a time as Json.NET does: up to seven digits of the second, and an offset. A
// time that was never set has no offset, as default(DateTime) has none.
func dotNetTime(t time.Time) string {
	if t.IsZero() {
		return "0001-01-01T00:00:00"
	}
	return t.UTC().Format("2006-01-02T15:04:05.9999999-07:00")
}

// parseDotNetTime reads what dotNetTime writes, and Z.
func parseDotNetTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			if t = t.UTC(); t.Year() < 2 { // the host takes the whole first year for "never"
				return time.Time{}, nil
			}
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", text)
}

// scheduleStatus is what is known of a timer's past and future; a zero time is one that is not
// known. While the timer is served, Next is the slot that is being served.
type scheduleStatus struct{ Last, Next, LastUpdated time.Time }

type scheduleStatusJSON struct{ Last, Next, LastUpdated string }

func (s scheduleStatus) MarshalJSON() ([]byte, error) {
	return json.Marshal(scheduleStatusJSON{dotNetTime(s.Last), dotNetTime(s.Next), dotNetTime(s.LastUpdated)})
}

func (s *scheduleStatus) UnmarshalJSON(body []byte) error {
	var text scheduleStatusJSON
	if err := json.Unmarshal(body, &text); err != nil {
		return err
	}
	for _, f := range []struct {
		into *time.Time
		text string
	}{{&s.Last, text.Last}, {&s.Next, text.Next}, {&s.LastUpdated, text.LastUpdated}} {
		*f.into = time.Time{}
		if f.text == "" {
			continue
		}
		t, err := parseDotNetTime(f.text)
		if err != nil {
			return err
		}
		*f.into = t
	}
	return nil
}

// timerInfo is a timer's Data: the host serializes its schedule object, which has one property.
type timerInfo struct {
	Schedule       struct{ AdjustForDST bool }
	ScheduleStatus *scheduleStatus // null when the timer is not monitored
	IsPastDue      bool
}

func newTimerInfo(status *scheduleStatus, pastDue bool) timerInfo {
	info := timerInfo{ScheduleStatus: status, IsPastDue: pastDue}
	info.Schedule.AdjustForDST = true
	return info
}

// monitored says whether a timer's status is kept: not if it fires more than once within the next
// minute, whatever function.json says.
func monitored(use bool, s ncrontab.Schedule, now time.Time) bool {
	second := s.Next(s.Next(now))
	return use && (second.IsZero() || !second.Before(now.Add(time.Minute)))
}

func timerPayload(f *function, info timerInfo, now time.Time) (*payload, error) {
	sys, err := systemData(f, now)
	if err != nil {
		return nil, err
	}
	return &payload{Data: map[string]any{f.timer.binding: info}, Metadata: map[string]any{"sys": sys}}, nil
}

// requestData is an HTTP request as an unforwarded invocation sees it.
type requestData struct {
	URL        string `json:"Url"`
	Method     string
	Query      map[string]string
	Headers    map[string][]string
	Params     map[string]any
	Identities []identity
	// Body is absent when the request's length is 0 or unknown, as chunked ones' is.
	Body *string `json:",omitempty"`
}

type identity struct {
	AuthenticationType string
	IsAuthenticated    bool
	Claims             []claim
}

type claim struct{ Type, Value string }

// httpPayload makes an HTTP trigger's invocation; body is what was read of the request.
func httpPayload(f *function, r *http.Request, params map[string]any, level authLevel, body []byte, now time.Time) (*payload, error) {
	data := requestData{
		URL: "http://" + r.Host + r.URL.EscapedPath(), Method: r.Method, Params: params,
		Query: map[string]string{}, Headers: map[string][]string{"Host": {r.Host}}, Identities: identities(level),
	}
	if r.URL.RawQuery != "" {
		data.URL += "?" + r.URL.RawQuery
	}
	for k, v := range r.URL.Query() {
		data.Query[k] = strings.Join(v, ",")
	}
	joined := map[string]string{}
	for k, v := range r.Header {
		data.Headers[k] = v
		joined[k] = strings.Join(v, ",")
	}
	if len(body) > 0 {
		text := string(body)
		if isBinary(r.Header.Get("Content-Type")) {
			text = base64.StdEncoding.EncodeToString(body)
		}
		data.Body = &text
	}
	sys, err := systemData(f, now)
	if err != nil {
		return nil, err
	}
	p := &payload{
		Data:     map[string]any{f.http.binding: data},
		Metadata: map[string]any{"sys": sys, "Query": data.Query, "Headers": joined},
	}
	for k, v := range data.Query {
		if p.Metadata[k], err = value(v); err != nil {
			return nil, err
		}
	}
	for k, v := range params {
		if v == nil {
			continue
		}
		if p.Metadata[k], err = value(v); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// isBinary says whether a body of that type is handed on as base64.
func isBinary(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/octet-stream" || strings.HasPrefix(t, "multipart/"))
}

func identities(level authLevel) []identity {
	name := map[authLevel]string{levelFunction: "Function", levelAdmin: "Admin"}[level]
	if name == "" {
		return []identity{{}}
	}
	return []identity{{AuthenticationType: "WebJobsAuthLevel", IsAuthenticated: true, Claims: []claim{
		{Type: "http://schemas.microsoft.com/2017/07/functions/claims/authlevel", Value: name},
	}}}
}
