package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestConnectionMonitorSamples(t *testing.T) { testSamples(t, connectionMonitor) }

func FuzzConnectionMonitor(f *testing.F) {
	fuzz(f, connectionMonitor, 13, "", connMonitorFew, connMonitorFew+"\"3/4/2026, 1:00:00 am\",a,b,1,2,1\n", `{"tables":[{"columns":[{"name":"TimeGenerated"}],"rows":[[1]]}]}`,
		`{"tables":[{"rows":[]}]}`, `[{"TimeGenerated":"2026-11-30T10:00:00Z","ChecksTotal":1,"ChecksFailed":1,"SourceName":"a","DestinationName":"b"}] x`)
}

// connMonitorFew is the header of an export with few columns.
const connMonitorFew = "TimeGenerated [UTC],SourceName,DestinationName,AvgRoundTripTimeMs,ChecksTotal,ChecksFailed\n"

func connMonitorSample(t *testing.T, name string) *Document {
	t.Helper()
	return mustConvert(t, connectionMonitor, readSample(t, filepath.Join("testdata", "connmonitor", name)))
}

// connMonitorStarts are when the findings began.
func connMonitorStarts(d *Document) (out []string) {
	for _, f := range d.Findings {
		out = append(out, f.Run.Start.Format(time.RFC3339Nano))
	}
	return out
}

func TestConnectionMonitorTimesAsAmericansWriteThem(t *testing.T) {
	want := []string{"2026-11-30T10:00:00Z", "2026-11-30T00:05:00.25Z", "2026-11-30T12:10:00Z", "2026-12-01T13:15:00Z"}
	if got := connMonitorStarts(connMonitorSample(t, "export-us.csv")); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The row of the 30th shows that the day stands first, also for the row in front of which 01/12 stands.
func TestConnectionMonitorTimesAsTheBritishWriteThem(t *testing.T) {
	want := []string{"2026-11-30T10:00:00Z", "2026-12-01T00:05:00.25Z", "2026-12-01T12:10:00Z", "2026-12-01T13:15:00Z"}
	if got := connMonitorStarts(connMonitorSample(t, "export-uk.csv")); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestConnectionMonitorTimesWithAnOffset(t *testing.T) {
	want := []string{"2026-11-30T10:00:00Z", "2026-11-30T10:05:00.25Z", "2026-11-30T10:10:00Z", "2026-11-30T10:15:00Z"}
	if got := connMonitorStarts(connMonitorSample(t, "query-few-columns.csv")); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	d := mustConvert(t, connectionMonitor, []byte(strings.Replace(connMonitorFew, "UTC", "UTC+05:30", 1)+"2026-11-30 10:00:00.5,a,b,1,2,1\n\"30/11/2026, 10:00:00\",a,b,1,2,1\n"))
	if got, want := connMonitorStarts(d), []string{"2026-11-30T04:30:00.5Z"}; !slices.Equal(got, want) || d.LeftCount != 1 {
		t.Errorf("%v, left out %v: want %v, and the row of the same second left out", got, d.Left, want)
	}
}

func TestConnectionMonitorTimesThatNobodyCanTell(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"day or month":     {connMonitorFew + "\"03/04/2026, 10:00:00.000\",a,b,1,2,1\n", "whether 3 or 4 is the day"},
		"small letters":    {connMonitorFew + "\"3/04/2026, 10:00:00.000 am\",a,b,1,2,1\n", "whether 3 or 4 is the day"},
		"both orders":      {connMonitorFew + "\"13/04/2026, 10:00:00\",a,b,1,2,1\n\"04/13/2026, 11:00:00\",a,b,1,2,1\n", "some the month"},
		"local time":       {strings.Replace(connMonitorFew, "UTC", "Local Time", 1) + "\"30/11/2026, 10:00:00\",a,b,1,2,1\n", "UTC"},
		"local time, ISO":  {strings.Replace(connMonitorFew, "UTC", "Local Time", 1) + "2026-11-30T10:00:00,a,b,1,2,1\n", "UTC"},
		"no zone":          {strings.Replace(connMonitorFew, " [UTC]", "", 1) + "\"30/11/2026, 10:00:00\",a,b,1,2,1\n", "UTC"},
		"no such day":      {connMonitorFew + "\"31/02/2026, 10:00:00\",a,b,1,2,1\n", "no such day"},
		"no such month":    {connMonitorFew + "\"31/13/2026, 10:00:00\",a,b,1,2,1\n", "no such time"},
		"thirteen o'clock": {connMonitorFew + "\"30/11/2026, 13:00:00 PM\",a,b,1,2,1\n", "no such time"},
		"a number":         {connMonitorFew + "45991.5,a,b,1,2,1\n", "no time that is known"},
	} {
		_, err := convert(t, connectionMonitor, []byte(c.text))
		if fault, ok := errors.AsType[*Fault](err); !ok || !strings.Contains(fault.Error(), c.says) {
			t.Errorf("%s: %v; want a refusal that says %q", name, err, c.says)
		}
	}
	d := mustConvert(t, connectionMonitor, []byte(connMonitorFew+"\"3/4/2026, 10:00:00.000 PM\",a,b,1,2,1\n\"3/3/2026, 10:00:00.000 PM\",a,b,1,2,1\n"))
	if got, want := connMonitorStarts(d), []string{"2026-03-04T22:00:00Z", "2026-03-03T22:00:00Z"}; !slices.Equal(got, want) {
		t.Errorf("PM in capitals is American: %v, want %v", got, want)
	}
}

func TestConnectionMonitorFiguresAndFailures(t *testing.T) {
	for _, name := range []string{"export-us.csv", "export-uk.csv", "query.json", "az.json"} {
		d := connMonitorSample(t, name)
		if len(d.Findings) != 4 || d.LeftCount != 0 {
			t.Fatalf("%s: %d findings, left out %v", name, len(d.Findings), d.Left)
		}
		pass, some, all, none := &d.Findings[0], &d.Findings[1], &d.Findings[2], &d.Findings[3]
		perfsonarIs(t, "smallest", pass.Summary.Min, 19.52e6)
		perfsonarIs(t, "mean", pass.Summary.Mean, 20.412e6)
		perfsonarIs(t, "largest", pass.Summary.Max, 23.75e6)
		if pass.From != "vm-a(example)" || pass.To != "host-b.example" || pass.Run.Address != "198.51.100.7:443" || pass.Run.Kind != wire.KindConnect || pass.Variant != "tcp-443" {
			t.Errorf("%s: %+v", name, pass)
		}
		if c := some.Run.Counts; some.Run.Failure != "" || c.Sent != 10 || c.Lost != 3 || c.Received != 7 {
			t.Errorf("%s: three of ten checks failed: %q %+v", name, some.Run.Failure, c)
		}
		if all.Run.Failure != wire.FailureTimeout || all.Summary.Min != nil || all.Summary.Mean != nil || all.Run.Counts.Lost != 10 || !strings.Contains(all.Run.Detail, "Fail: ChecksFailedPercent") {
			t.Errorf("%s: all failed, so 0 ms is none: %q %q %+v", name, all.Run.Failure, all.Run.Detail, all.Summary)
		}
		if none.Run.Failure != wire.FailureCanceled || none.Run.Kind != wire.KindICMP || none.Run.Address != "198.51.100.7" || none.Variant != "icmp" {
			t.Errorf("%s: no check was made: %q %+v", name, none.Run.Failure, none.Run)
		}
	}
}

// JitterMs is a mean deviation, and no column of ours.
func TestConnectionMonitorMeanDeviationIsNoJitter(t *testing.T) {
	f := connMonitorSample(t, "query.json").Findings[0]
	if f.Summary.Jitter != nil || f.Summary.Stddev != nil || f.Summary.PDV != nil {
		t.Errorf("%+v", f.Summary)
	}
}

func TestConnectionMonitorRowsThatAreThereTwice(t *testing.T) {
	d := connMonitorSample(t, "export.ndjson")
	if len(d.Findings) != 5 || d.LeftCount != 0 {
		t.Fatalf("%d findings, left out %v", len(d.Findings), d.Left)
	}
	if f := d.Findings[4]; f.Variant != "tcp-443 path" {
		t.Errorf("a row of the path table is of the test %q", f.Variant)
	}
}

func TestConnectionMonitorOneTestNeedsNoName(t *testing.T) {
	d := mustConvert(t, connectionMonitor, []byte("TimeGenerated,SourceName,DestinationName,AvgRoundTripTimeMs,TestGroupName,TestConfigurationName\n2026-11-30T10:00:00Z,a,b,1,g,c\n"))
	if f := perfsonarOne(t, d); f.Variant != "" || f.Counted.Sent || f.Run.Failure != "" || f.Run.Kind != "check" {
		t.Errorf("%+v", f)
	}
	d = mustConvert(t, connectionMonitor, []byte("TimeGenerated,SourceName,DestinationName,AvgRoundTripTimeMs,TestGroupName,TestConfigurationName\n2026-11-30T10:00:00Z,a,b,1,g,c\n2026-11-30T10:00:00Z,a,b,1,h,c\n"))
	if len(d.Findings) != 2 || d.Findings[0].Variant != "g/c" || d.Findings[1].Variant != "h/c" {
		t.Errorf("one configuration in two groups: %+v", d.Findings)
	}
}

func TestConnectionMonitorDamage(t *testing.T) {
	d := connMonitorSample(t, "query-cut.json")
	if len(d.Findings) != 2 || d.LeftCount != 1 || !strings.Contains(d.Left[0].Reason, "too early") || d.Left[0].Offset <= 0 {
		t.Errorf("cut off in the third row: %d findings, left out %v", len(d.Findings), d.Left)
	}
	for name, c := range map[string]struct {
		text     string
		findings int
		says     string
	}{
		"too few fields":    {connMonitorFew + "2026-11-30T10:00:00Z,a,b,1,2\n2026-11-30T10:01:00Z,a,b,1,2,1\n", 1, "line 2: it has 5 fields"},
		"a decimal comma":   {connMonitorFew + "2026-11-30T10:00:00Z,a,b,\"1,5\",2,1\n2026-11-30T10:01:00Z,a,b,1,2,1\n", 1, "AvgRoundTripTimeMs, line 2"},
		"more than all":     {connMonitorFew + "2026-11-30T10:00:00Z,a,b,1,2,3\n2026-11-30T10:01:00Z,a,b,1,2,1\n", 1, "3 of 2 checks failed"},
		"a quote":           {connMonitorFew + "2026-11-30T10:00:00Z,a,b\"b,1,2,1\n2026-11-30T10:01:00Z,a,b,1,2,1\n", 1, "line 2"},
		"no time":           {connMonitorFew + ",a,b,1,2,1\n2026-11-30T10:01:00Z,a,b,1,2,1\n", 1, "no time"},
		"text behind":       {`[{"TimeGenerated":"2026-11-30T10:01:00Z","AvgRoundTripTimeMs":1,"SourceName":"a","DestinationName":"b"}] junk`, 1, "invalid character"},
		"an error":          {`{"tables":[{"name":"PrimaryResult","columns":[{"name":"TimeGenerated"},{"name":"AvgRoundTripTimeMs"},{"name":"SourceName"},{"name":"DestinationName"}],"rows":[["2026-11-30T10:01:00Z",1,"a","b"]]}],"error":{"code":"PartialError"}}`, 1, "rows are missing"},
		"a column twice":    {`[{"TimeGenerated":"2026-11-30T10:01:00Z","AvgRoundTripTimeMs":1,"SourceName":"a","DestinationName":"b"},{"TimeGenerated":"2026-11-30T10:02:00Z","TimeGenerated":"2026-11-30T10:01:00Z"}]`, 1, "twice"},
		"a contradiction":   {"TimeGenerated,SourceName,DestinationName,AvgRoundTripTimeMs,MinRoundTripTimeMs,MaxRoundTripTimeMs\n2026-11-30T10:00:00Z,a,b,5,6,7\n2026-11-30T10:01:00Z,a,b,6.5,6,7\n", 1, "contradict"},
		"a foreign tabling": {connMonitorFew + "2026-11-30T10:01:00Z,a,b,1,2,1\n\n\nSource,x\n", 1, "2 fields"},
	} {
		d, err := convert(t, connectionMonitor, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(d.Findings) != c.findings || d.LeftCount == 0 || !strings.Contains(d.Left[0].Error(), c.says) {
			t.Errorf("%s: %d findings, left out %v; want one that says %q", name, len(d.Findings), d.Left, c.says)
		}
	}
}

// connMonitorRepeated is a text of a head, a part many times over, and a tail.
func connMonitorRepeated(head, part string, n int) io.Reader {
	readers := []io.Reader{strings.NewReader(head)}
	block := strings.Repeat(part, 1000)
	for range n / 1000 {
		readers = append(readers, strings.NewReader(block))
	}
	return io.MultiReader(readers...)
}

func TestConnectionMonitorHasALimitOfRuns(t *testing.T) {
	_, err := connectionMonitor.Read(connMonitorRepeated(connMonitorFew, "2026-11-30T10:00:00Z,a,b,1,2,1\n", 11_000))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxFindings)) || !strings.Contains(err.Error(), "split") {
		t.Errorf("%v", err)
	}
}

// A text of 64 MiB that never ends a row takes the memory of a row.
func TestConnectionMonitorReadsAnySizeInLittleMemory(t *testing.T) {
	row := `{"TimeGenerated":"2026-11-30T10:01:00Z","AvgRoundTripTimeMs":1,"SourceName":"a","DestinationName":"b","x":"`
	for name, in := range map[string]io.Reader{
		"a quoted field":    connMonitorRepeated(connMonitorFew+"2026-11-30T10:01:00Z,a,b,1,2,1\n\"", "aaaaaaaaaaaaaaa\n", 4<<20),
		"a line":            connMonitorRepeated(connMonitorFew+"2026-11-30T10:01:00Z,a,b,1,2,1\n", "aaaaaaaaaaaaaaaa", 4<<20),
		"a string":          connMonitorRepeated(row+`"}`+row, "aaaaaaaaaaaaaaaa", 4<<20),
		"blanks":            connMonitorRepeated("["+row+`"},`, "                ", 4<<20),
		"a list of columns": connMonitorRepeated(`{"tables":[{"columns":[`, `{"name":"a0123"},`, 4<<20),
		"junk":              connMonitorRepeated(connMonitorFew+"2026-11-30T10:01:00Z,a,b,1,2,1\n", "junk\n", 13<<20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := connectionMonitor.Read(in)
		runtime.ReadMemStats(&after)
		if err == nil && (len(d.Findings) != 1 || d.LeftCount == 0) {
			t.Errorf("%s: %d findings, %d left out", name, len(d.Findings), d.LeftCount)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: %d MiB are allocated", name, used>>20)
		}
	}
}

func TestConnectionMonitorSaysWhereAFigureStands(t *testing.T) {
	f := connMonitorSample(t, "export-us.csv").Findings[0]
	want := Explanation{Column: "rtt_mean_us", Original: "20.412", Unit: "ms", Where: "line 2, AvgRoundTripTimeMs"}
	if !slices.Contains(f.Explained, want) {
		t.Errorf("%+v: want %+v", f.Explained, want)
	}
	if bytes.Contains(described(t, connMonitorSample(t, "query.json"), nil), []byte("line")) {
		t.Error("the rows of a query's answer have no lines")
	}
}
