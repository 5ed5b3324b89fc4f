package foreign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func TestJMeterSamples(t *testing.T) { testSamples(t, jmeter) }

func jmeterSample(t testing.TB, name string) *Document {
	t.Helper()
	return mustConvert(t, jmeter, readSample(t, "testdata/jmeter/"+name))
}

// labelled is the one finding of a label.
func labelled(t testing.TB, d *Document, label string) *Finding {
	t.Helper()
	var out *Finding
	for i := range d.Findings {
		if d.Findings[i].Variant == label {
			if out != nil {
				t.Fatalf("two findings of %q", label)
			}
			out = &d.Findings[i]
		}
	}
	if out == nil {
		t.Fatalf("no finding of %q", label)
	}
	return out
}

// jtl is XML around elements.
func jtl(elements ...string) string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n" + strings.Join(elements, "\n") + "\n</testResults>\n"
}

func TestJMeterTellsFailuresApart(t *testing.T) {
	d := jmeterSample(t, "nested.jtl")
	for label, want := range map[string]struct {
		failure wire.Failure
		detail  string
	}{
		"missing":   {wire.FailureHTTPStatus, "404: Not Found"},
		"broken":    {wire.FailureHTTPStatus, "500: Internal Server Error"},
		"refused":   {wire.FailureRefused, "Non HTTP response code: java.net.ConnectException: Non HTTP response message: Connection refused"},
		"no name":   {wire.FailureDNS, "Non HTTP response code: java.net.UnknownHostException: Non HTTP response message: nohost.invalid: Temporary failure in name resolution"},
		"slow":      {wire.FailureTimeout, "Non HTTP response code: java.net.SocketTimeoutException: Non HTTP response message: Read timed out"},
		"not liked": {wire.FailureProtocol, `200: OK: Test failed: text expected to contain /bye, "friend"/`},
	} {
		f := labelled(t, d, label)
		if f.Run.Failure != want.failure || f.Run.Detail != want.detail || f.Run.Counts.Lost != 9 || f.Summary.Failures[want.failure] != 9 || f.Bins != nil {
			t.Errorf("%s: %s %q, %+v, %v", label, f.Run.Failure, f.Run.Detail, f.Run.Counts, f.Bins)
		}
	}
}

func TestJMeterFailuresByWhatJavaSays(t *testing.T) {
	for _, c := range []struct {
		code, message string
		want          wire.Failure
	}{
		{"Non HTTP response code: java.net.SocketTimeoutException", "Read timed out", wire.FailureTimeout},
		{"Non HTTP response code: org.apache.http.conn.ConnectTimeoutException", "", wire.FailureTimeout},
		{"Non HTTP response code: org.apache.http.conn.HttpHostConnectException", "Connect to 192.0.2.1:443 failed: Connection timed out: connect", wire.FailureTimeout},
		{"Non HTTP response code: org.apache.http.conn.HttpHostConnectException", "Connect to 192.0.2.1:443 failed: Connection refused: connect", wire.FailureRefused},
		{"Non HTTP response code: java.net.NoRouteToHostException", "No route to host", wire.FailureUnreachable},
		{"Non HTTP response code: java.net.ConnectException", "Network is unreachable", wire.FailureUnreachable},
		{"Non HTTP response code: javax.net.ssl.SSLHandshakeException", "Remote host terminated the handshake", wire.FailureTLS},
		{"Non HTTP response code: javax.net.ssl.SSLException", "Unsupported or unrecognized SSL message", wire.FailureTLS},
		{"Non HTTP response code: javax.net.ssl.SSLException", "Connection reset", wire.FailureReset},
		{"Non HTTP response code: java.net.SocketException", "Socket closed", wire.FailureReset},
		{"Non HTTP response code: org.apache.http.NoHttpResponseException", "192.0.2.1:443 failed to respond", wire.FailureReset},
		{"Non HTTP response code: java.net.BindException", "Address already in use: connect", wire.FailureLocal},
		{"Non HTTP response code: java.net.URISyntaxException", "Illegal character in path", wire.FailureProtocol},
		{"500", "java.net.ConnectException: Connection refused", wire.FailureRefused}, // the TCP sampler
		{"504", "Gateway timed out", wire.FailureHTTPStatus},
		{"200", "OK", wire.FailureProtocol},
		{"", "", wire.FailureProtocol},
	} {
		d := mustConvert(t, jmeter, []byte(jtl(fmt.Sprintf(`<sample t="1" ts="1506543636891" s="false" lb="x" rc="%s" rm="%s"/>`, c.code, c.message))))
		if got := d.Findings[0].Run.Failure; got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.code, c.message, got, c.want)
		}
	}
}

// The page has a document and two images inside it, the transaction two steps.
func TestJMeterSamplesInsideASampleAreNotRequestsOfTheirOwn(t *testing.T) {
	d := jmeterSample(t, "nested.jtl")
	for label, inside := range map[string]string{`home, "first"`: "9 samples, and 27 inside them that are not counted", "checkout": "9 samples, and 18 inside them that are not counted"} {
		f := labelled(t, d, label)
		if f.Run.Counts.Sent != 9 || f.Bins.Len() != 9 || f.Explained[0].Original != inside {
			t.Errorf("%s: %+v, %d round trips, %q", label, f.Run.Counts, f.Bins.Len(), f.Explained[0].Original)
		}
	}
	if len(d.Findings) != 9 {
		t.Errorf("%d findings: what is inside others has some of its own", len(d.Findings))
	}
	if f := labelled(t, d, "plain"); f.From != "localhost" || f.To != "127.0.0.1" || *f.Summary.Bulk.Load.Users != 3 {
		t.Errorf("from %q to %q", f.From, f.To)
	}
}

func TestJMeterResponsesWithCharactersThatXMLHasNot(t *testing.T) {
	text := readSample(t, "testdata/jmeter/response-data.jtl")
	if !strings.Contains(string(text), "&#x0;") {
		t.Fatal("the sample has no &#x0;")
	}
	if d := mustConvert(t, jmeter, text); d.LeftCount != 0 || len(d.Findings) != 9 {
		t.Errorf("%d findings, left: %v", len(d.Findings), d.Left)
	}
}

func TestJMeterWithoutItsEndCountsWhatIsThere(t *testing.T) {
	d := jmeterSample(t, "cut.jtl")
	whole := jmeterSample(t, "nested.jtl")
	if d.LeftCount != 1 || d.Left[0].Line != 225 || d.Left[0].Offset != 20_000 {
		t.Errorf("left: %+v", d.Left)
	}
	if got, want := labelled(t, d, "broken").Run.Counts.Sent, labelled(t, whole, "broken").Run.Counts.Sent; got != 6 || want != 9 {
		t.Errorf("%d of %d", got, want)
	}
	unended := strings.Replace(jtl(`<sample t="1" ts="1506543636891" lb="x"/>`), "</testResults>\n", "", 1)
	if d = mustConvert(t, jmeter, []byte(unended)); d.LeftCount != 1 || d.Findings[0].Run.Counts.Sent != 1 {
		t.Errorf("%+v", d)
	}
}

// lt is up to 9,770 ms and t at most 10.
func TestJMeterLatencyOverElapsedChangesNothing(t *testing.T) {
	d := jmeterSample(t, "latency-over-elapsed.jtl")
	if f := labelled(t, d, "Ant"); *f.Bins.Summary().Min != 3e6 || *f.Bins.Summary().Max != 9e6 || d.LeftCount != 0 || f.Summary.HTTP != nil {
		t.Errorf("%+v, %v", f.Bins, d.Left)
	}
}

func TestJMeterNamesOfVersion20(t *testing.T) {
	f := labelled(t, jmeterSample(t, "version-2.0.jtl"), "HTTP Request #1") // encoded as in a URL
	if c := f.Run.Counts; c.Sent != 2 || c.Received != 1 || c.Lost != 1 || f.Summary.Failures[wire.FailureHTTPStatus] != 1 {
		t.Errorf("%+v", c)
	}
	start, end := time.UnixMilli(1144365463297), time.UnixMilli(1144365465700)
	if f.Bins.Len() != 1 || f.Bins[0].Value != 1502e6 || !f.Run.Start.Equal(start) || !f.Run.End.Equal(end) || *f.Summary.Bulk.Load.Users != 2 {
		t.Errorf("%v, %s to %s", f.Bins, f.Run.Start, f.Run.End)
	}
	old := mustConvert(t, jmeter, []byte(jtl(`<httpSample t="1" ts="1144365463297" s="false" lb="x" rs="404"/>`)))
	if old.Findings[0].Run.Failure != wire.FailureHTTPStatus {
		t.Errorf("rs of 2.1: %s", old.Findings[0].Run.Failure)
	}
}

// Rows of a StatisticalSampleResult are sums over sc requests: 1,650 ms over 15 of them.
func TestJMeterSumsAreNoRoundTrips(t *testing.T) {
	d := jmeterSample(t, "sums.jtl")
	f := labelled(t, d, "all good")
	if f.Bins != nil || *f.Summary.Mean != 110e6 || f.Run.Counts.Sent != 15 || *f.Summary.Bulk.Load.Users != 1 || f.Summary.Bulk.MovedBytes != 7200 {
		t.Errorf("%v, %+v", f.Bins, f.Run.Counts)
	}
	if f = labelled(t, d, "some failed"); f.Bins != nil || f.Summary.Mean != nil || f.Run.Counts.Lost != 2 || f.Run.Counts.Received != 7 || f.Run.Failure != "" {
		t.Errorf("%v, %+v", f.Summary.Mean, f.Run.Counts)
	}
}

func TestJMeterStackTracesAreNoPayload(t *testing.T) {
	d := mustConvert(t, jmeter, []byte(jtl(`<httpSample t="1" ts="1506543636891" s="true" lb="x" rc="200" by="500" sby="100"/>`,
		`<httpSample t="1" ts="1506543636899" s="false" lb="x" rc="Non HTTP response code: java.net.ConnectException" by="2014" sby="0"/>`,
		`<httpSample t="1" ts="1506543636899" s="false" lb="x" rc="404" by="30" sby="100"/>`)))
	if got := d.Findings[0].Summary.Bulk.MovedBytes; got != 730 {
		t.Errorf("%d bytes moved, want 730", got)
	}
	one := mustConvert(t, jmeter, []byte(jtl(`<httpSample t="1" ts="1506543636891" s="true" lb="x" rc="200" by="500"/>`)))
	if b := one.Findings[0].Summary.Bulk; b.MovedBytes != 0 { // RequestsPerS is there
		t.Errorf("%d bytes moved, of which those sent are not told", b.MovedBytes)
	}
}

func TestJMeterHours(t *testing.T) {
	hour := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC).UnixMilli()
	row := func(at int64, elapsed int) string {
		return fmt.Sprintf(`<sample t="%d" it="5" ts="%d" s="true" lb="x"/>`, elapsed, at)
	}
	d := mustConvert(t, jmeter, []byte(jtl(row(hour, 10), row(hour-1, 40), row(hour+3_599_999, 20), row(hour-1000, 30))))
	if len(d.Findings) != 2 {
		t.Fatalf("%d findings", len(d.Findings))
	}
	first, second := d.Findings[0], d.Findings[1]
	if first.Run.Counts.Sent != 2 || !first.Run.Start.Equal(time.UnixMilli(hour-1000)) || !first.Run.End.Equal(time.UnixMilli(hour+44)) {
		t.Errorf("%+v", first.Run)
	}
	if second.Run.Counts.Sent != 2 || !second.Run.Start.Equal(time.UnixMilli(hour)) || *second.Summary.Bulk.Load.RequestsPerS != 2/3600.024 {
		t.Errorf("%+v %v", second.Run, *second.Summary.Bulk.Load.RequestsPerS)
	}
}

func TestJMeterLeavesOutSamplesThatCannotBeRead(t *testing.T) {
	d := mustConvert(t, jmeter, []byte(jtl(`<sample t="1" ts="1506543636891" s="true" lb="x"/>`,
		`<sample t="-3" ts="1506543636891" s="true" lb="x"/>`, `<sample ts="1506543636891" s="true" lb="x"/>`, `<sample t="1" ts="0" lb="x"/>`,
		`<sample t="1" ts="soon" lb="x"/>`, `<sample t="1" ts="1506543636891" s="maybe" lb="x"/>`, `<sample t="86400001" ts="1506543636891" lb="x"/>`,
		`<sample t="1" ts="1506543636891" sc="1" by="many" lb="x"/>`, `<sample t="1" ts="1506543636891" sc="2" ec="3" lb="x"/>`)))
	var got []string
	for _, f := range d.Left {
		got = append(got, fmt.Sprintf("%d %s", f.Line, f.Reason))
	}
	want := []string{`4 elapsed time "-3" is no whole number`, `5 a sample without its elapsed time`, `6 time stamp "0" is not to be believed`,
		`7 time stamp "soon" is no time`, `8 success "maybe" is neither true nor false`, `9 elapsed time "86400001" is not to be believed`,
		`10 size "many" is no whole number`, `11 3 errors of 2 samples`}
	if diff := cmp.Diff(want, got); diff != "" || d.Findings[0].Run.Counts.Sent != 1 || d.LeftCount != 8 {
		t.Errorf("%d samples (-want +got):\n%s", d.Findings[0].Run.Counts.Sent, diff)
	}
}

func FuzzJMeter(f *testing.F) {
	fuzz(f, jmeter, 13+6,
		"timeStamp\telapsed\tlabel\n1506543636891\t1\t\"a\tb\"\"c\nd\"\r\n",
		"elapsed|label|responseCode|URL\n1|x|200|http://user@[2001:db8::1]:80/?\n",
		"1506543636891,1,x,200,OK,t 1-1,text,true,\"\"\n1,\"\n",
		"timeStamp,elapsed,success\n2017/09/27 20:20:36,5,TRUE\n22:59:55,6,false\ntimeStamp,elapsed,label\n1506543636891,7,y\n",
		`<testResults version="1.0"><a t="1" lb="%41+%zz" sc="3" ec="1"><b t="1" lb=""/><url>x://</url>`,
		jtl(`<sample t="1" ts="1506543636891"><x><failureMessage>no</failureMessage></x></sample>`)+"<testResults><sample t=\"2\" lb=\"&#x0;\"/></testResults>")
}
