package foreign

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func TestJMeterTableUnderTheNameOfAnother(t *testing.T) {
	d := jmeterSample(t, "no-header.jtl") // 2.13's twelve columns
	if f := labelled(t, d, `home, "first"`); f.Bins.Len() != 3 || *f.Bins.Summary().Min != 199e6 || *f.Bins.Summary().Max != 249e6 {
		t.Errorf("%v", f.Bins)
	}
	if f := labelled(t, d, "refused"); f.Run.Failure != wire.FailureRefused || f.Run.Counts.Lost != 3 {
		t.Errorf("%+v", f.Run)
	}
}

// The file begins with rows of three users; JMeter 2.13 says of each label in which column.
func TestJMeterTableWithHeader(t *testing.T) {
	d := jmeterSample(t, "header.csv")
	f := labelled(t, d, "not liked")
	if f.Run.Failure != wire.FailureProtocol || f.Run.Detail != `200: OK: Test failed: text expected to contain /bye, "friend"/` {
		t.Errorf("%s %q", f.Run.Failure, f.Run.Detail)
	}
	if f = labelled(t, d, "plain"); f.Run.Counts.Received != 9 || f.To != "127.0.0.1" || *f.Summary.Bulk.Load.Users != 3 || d.LeftCount != 0 {
		t.Errorf("%+v to %q", f.Run.Counts, f.To)
	}
	if f = labelled(t, d, "checkout"); f.To != "" || f.Run.Counts.Received != 9 { // its URL reads null
		t.Errorf("to %q", f.To)
	}
}

// A date without a zone tells how long the run took, and not when it was.
func TestJMeterDatesWithoutAZoneAreNoStart(t *testing.T) {
	f := labelled(t, jmeterSample(t, "dates.csv"), "plain")
	if f.Run.Start != nil || f.Run.End != nil || f.Summary.Bulk.Load.RequestsPerS == nil {
		t.Errorf("%+v", f.Run)
	}
	for stamp, rate := range map[string]string{"2026/11/30 20:12:38": "2/1.007", "11/30/26 20:12:38": "2/1.007", "20:12:38": "", "2026-11-30 20:12:38": "2/1.007"} {
		next := strings.Replace(stamp, ":38", ":39", 1)
		d := mustConvert(t, jmeter, []byte("timeStamp,elapsed,label,success\n"+stamp+",5,x,true\n"+next+",7,x,true\n"))
		got := ""
		if b := d.Findings[0].Summary.Bulk; b != nil && b.Load.RequestsPerS != nil {
			got = fmt.Sprintf("2/%.3f", 2 / *b.Load.RequestsPerS)
		}
		if got != rate || d.LeftCount != 0 || d.Findings[0].Run.Counts.Sent != 2 {
			t.Errorf("%s: rate %s, left %v", stamp, got, d.Left)
		}
	}
	zone := mustConvert(t, jmeter, []byte("timeStamp,elapsed,label\n2026-11-30T20:12:38.500+01:00,5,x\n"))
	if s := zone.Findings[0].Run.Start; s == nil || s.String() != "2026-11-30 19:12:38.5 +0000 UTC" {
		t.Errorf("with a zone: %v", s)
	}
}

func TestJMeterTableColumnsInAnyOrder(t *testing.T) {
	const want = `{"a,b;c	d":2}`
	for _, sep := range []string{",", ";", "\t", "|"} {
		text := strings.ReplaceAll("success,\"label\",elapsed,ignored,timeStamp\r\ntrue,\"a§b;c\td\",7,,1506543636891\r\nTRUE,\"a§b;c\td\",9,\"x\"\"\ny\",1506543636999\r\n", ",", sep)
		d := mustConvert(t, jmeter, []byte(strings.ReplaceAll(text, "§", ",")))
		f := d.Findings[0]
		if got := fmt.Sprintf("{%q:%d}", f.Variant, f.Run.Counts.Received); strings.ReplaceAll(got, `\t`, "\t") != want || d.LeftCount != 0 || *f.Bins.Summary().Max != 9e6 {
			t.Errorf("separated by %q: %s, left %v", sep, got, d.Left)
		}
	}
}

// JMeter appends to a file that is there, with a header again, which need not be the same.
func TestJMeterTableWithAHeaderInTheMiddle(t *testing.T) {
	d := mustConvert(t, jmeter, []byte("timeStamp,elapsed,label\n1506543636891,7,x\ntimeStamp,label,elapsed\n1506543636892,x,8\n"))
	if f := d.Findings[0]; f.Run.Counts.Sent != 2 || *f.Bins.Summary().Max != 8e6 || d.LeftCount != 0 {
		t.Errorf("%+v, left %v", f.Run.Counts, d.Left)
	}
}

func TestJMeterTableWithoutSuccessJudgesByTheCode(t *testing.T) {
	d := mustConvert(t, jmeter, []byte("timeStamp,elapsed,label,responseCode\n1506543636891,7,x,200\n1506543636892,8,x,503\n1506543636893,9,x,Non HTTP response code: java.net.ConnectException\n"))
	if f := d.Findings[0]; f.Run.Counts.Received != 1 || f.Run.Counts.Lost != 2 || !f.Counted.Lost || f.Summary.Failures[wire.FailureRefused] != 1 {
		t.Errorf("%+v", f.Run.Counts)
	}
	d = mustConvert(t, jmeter, []byte("timeStamp,elapsed,label\n1506543636891,7,x\n"))
	if f := d.Findings[0]; f.Counted.Lost || f.Counted.Received || !f.Counted.Sent || f.Bins.Len() != 1 || f.Summary.Bulk != nil {
		t.Errorf("%+v", f.Counted)
	}
}

// What a row has too many or too few of, and a quote that nobody closes, costs that row alone.
func TestJMeterTableGoesOnBehindABadRow(t *testing.T) {
	d := mustConvert(t, jmeter, []byte("timeStamp,elapsed,label,success\n1506543636891,1,x,true\n1506543636892,2,x, y,true\n1506543636893,3\n\n"+
		"1506543636894,4,\"x,true\n1506543636895,5,\"x\"y,true\n1506543636896,x6,x,true\n1506543636897,7,x,true\n1506543636898,8,\"open,true\n1506543636899,9,x,true"))
	var got []string
	for _, f := range d.Left {
		got = append(got, fmt.Sprintf("%d %d %.30s", f.Line, f.Offset, f.Reason))
	}
	want := []string{"3 55 a row of 5 fields where 4 are ", "4 81 a row of 2 fields where 4 are ", "6 98 something follows a quote that", "7 122 something follows a quote that",
		`8 148 elapsed time "x6" is no whole `, "10 195 a quote is not closed, or the "}
	if diff := cmp.Diff(want, got); diff != "" || d.Findings[0].Run.Counts.Sent != 3 {
		t.Errorf("%d samples (-want +got):\n%s", d.Findings[0].Run.Counts.Sent, diff)
	}
}

func TestJMeterRecordsAreTheSameHoweverTheyCome(t *testing.T) {
	text := "a,\"b\"\"\",\"c\nd\"\r\n\r\n,\n\"x\"\r\n" + strings.Repeat("long,", 900) + "\n" + "last\"s,\"\""
	want := [][]string{{"a", `b"`, "c\nd"}, {"", ""}, {"x"}, append(strings.Split(strings.Repeat("long ", 900), " "), "")[:901], {`last"s`, ""}}
	for name, in := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text))} {
		r := newJTLRecords(in, ',')
		var got [][]string
		for {
			_, _, err := r.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range r.fields {
				fields = append(fields, string(f))
			}
			got = append(got, fields)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	broken := errors.New("broken")
	if _, err := jmeter.Read(io.MultiReader(strings.NewReader("timeStamp,elapsed,label\n1506543636891,7,x\n"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestJMeterIsNotTakenForOthers(t *testing.T) {
	for _, text := range []string{"elapsed\n1\n", "time,elapsed,name\n1,2,x\n", "1,2,3,4,5,6,7,8\n", "1506543636891,1,x,200,OK,t,text,maybe\n", "<testResults/>", "<testResults><suite/></testResults>",
		"<testresults version=\"1.2\"/>", "timeStamp,label,success\n1506543636891,x,true\n"} {
		if f := Recognise([]byte(text)); f != nil {
			t.Errorf("%q is taken for %s", text, f.Name)
		}
	}
}
