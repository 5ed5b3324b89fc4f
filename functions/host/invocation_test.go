package host

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// quoted wraps a JSON text into a JSON string, as the host does with values that are no objects.
func quoted(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const plainTimer = `{"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"2026-11-30T10:10:00.0021234+00:00","Next":"2026-11-30T11:20:00+01:00","LastUpdated":"2026-11-30T10:10:00.5Z"},"IsPastDue":true}`

func TestTimerIsReadInEveryEncoding(t *testing.T) {
	once := quoted(t, plainTimer)
	for name, value := range map[string]string{"object": plainTimer, "string": once, "string in a string": quoted(t, once)} {
		t.Run(name, func(t *testing.T) {
			in, err := Decode([]byte(`{"Data":{"timer":` + value + `},"Metadata":{"sys":{"MethodName":"Sweep"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			timer, err := in.Timer("timer")
			if err != nil {
				t.Fatal(err)
			}
			if timer.Status == nil || !timer.PastDue {
				t.Fatalf("got %+v", timer)
			}
			if want := time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC); timer.Status.Next != want {
				t.Errorf("Next %s, want %s", timer.Status.Next, want)
			}
			if want := time.Date(2026, 11, 30, 10, 10, 0, 2123400, time.UTC); timer.Status.Last != want {
				t.Errorf("Last %s, want %s", timer.Status.Last, want)
			}
		})
	}
}

func TestTimerWithoutMonitoringHasNoStatus(t *testing.T) {
	for _, value := range []string{`{"ScheduleStatus":null,"IsPastDue":false}`, `{}`, `null`, `"{\"ScheduleStatus\":null}"`} {
		in, err := Decode([]byte(`{"Data":{"timer":` + value + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if timer, err := in.Timer("timer"); err != nil || timer.Status != nil || timer.PastDue {
			t.Errorf("%s: got %+v, %v", value, timer, err)
		}
	}
}

func TestTimesWithoutAnOffsetAreUTC(t *testing.T) {
	in, err := Decode([]byte(`{"Data":{"timer":{"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":"2026-11-30T10:20:00.25","LastUpdated":null}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	timer, err := in.Timer("timer")
	if err != nil {
		t.Fatal(err)
	}
	s := timer.Status
	if !s.Last.IsZero() || !s.LastUpdated.IsZero() || s.Next != time.Date(2026, 11, 30, 10, 20, 0, 250_000_000, time.UTC) {
		t.Errorf("got %+v", s)
	}
}

func TestWhatIsNoInvocationIsRefused(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{", `{"Data":null}`, `{"Data":[]}`, `{"Data":"x"}`, `{"Metadata":{}}`, "{\"Data\":{\"a\":\"\xff\"}}"} {
		if in, err := Decode([]byte(body)); err == nil {
			t.Errorf("%q was decoded to %+v", body, in)
		}
	}
}

func TestWhatIsNoTimerIsRefusedByName(t *testing.T) {
	for _, value := range []string{`1`, `[]`, `"later"`, `{"ScheduleStatus":{"Next":"tomorrow"}}`, `{"ScheduleStatus":{"Next":5}}`, `{"ScheduleStatus":"x"}`} {
		in, err := Decode([]byte(`{"Data":{"timer":` + value + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Timer("timer"); err == nil || !strings.Contains(err.Error(), `"timer"`) {
			t.Errorf("%s: error %v; want one that names the binding", value, err)
		}
		if _, err := in.Timer("other"); err == nil || !strings.Contains(err.Error(), "does not have it") {
			t.Errorf("a binding that is not there: %v", err)
		}
	}
}

func FuzzInvocation(f *testing.F) {
	f.Add([]byte(`{"Data":{"timer":` + plainTimer + `},"Metadata":{}}`))
	f.Add([]byte(`{"Data":{"timer":` + quoted(f, plainTimer) + `},"Metadata":{}}`))
	f.Add([]byte(`{"Data":{"timer":` + quoted(f, quoted(f, plainTimer)) + `}}`))
	f.Add([]byte(`{"Data":{"timer":{"ScheduleStatus":null,"IsPastDue":false}}}`))
	f.Add([]byte(`{"Data":{"timer":{"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":"2026-11-30T10:20:00+00:00"}}}}`))
	f.Add([]byte(`{"Data":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := Decode(body)
		if err != nil {
			return
		}
		if in.Data == nil {
			t.Fatal("decoded without Data")
		}
		timer, err := in.Timer("timer")
		if err == nil && timer.Status != nil && timer.Status.Next.Location() != time.UTC {
			t.Fatalf("Next %s is not UTC", timer.Status.Next)
		}
	})
}
