package foreign

import (
	"strings"
	"testing"

	"isochrone/prober/wire"
)

func TestMtr(t *testing.T) { testSamples(t, mtr) }

func FuzzMtr(f *testing.F) {
	fuzz(f, mtr, 19, `{"report":{"mtr":{"src":"a","dst":"b","tests":1},"hubs":[{"host":"b","Loss%":"x","Snt":-1}]}}`,
		`<MTR SRC="a" DST="b" TESTS="1"><HUB HOST="b"><Loss%>1e9%</Loss%></HUB></MTR><MTR DST="c"/>`)
}

func mtrSample(t *testing.T, name string) Finding {
	t.Helper()
	return mtrText(t, string(readSample(t, "testdata/mtr/"+name)))
}

func mtrText(t *testing.T, text string) Finding {
	t.Helper()
	d := mustConvert(t, mtr, []byte(text))
	if len(d.Findings) != 1 || d.LeftCount != 0 {
		t.Fatalf("%d findings, left out: %v", len(d.Findings), d.Left)
	}
	return d.Findings[0]
}

// wantFigures checks min, mean, max and standard deviation, in ms.
func wantFigures(t *testing.T, f Finding, least, mean, most, stddev float64) {
	t.Helper()
	s := f.Summary
	for i, v := range []*float64{s.Min, s.Mean, s.Max, s.Stddev} {
		if want := []float64{least, mean, most, stddev}[i] * 1e6; v == nil || !within(*v, want, 1e-9) {
			t.Errorf("figure %d is %v, want %v", i, v, want)
		}
	}
}

func TestMtrTakesTheLastHub(t *testing.T) {
	f := mtrSample(t, "hops.json")
	wantFigures(t, f, 16.768, 27.48, 49.294, 14.811)
	wantCounts(t, f, 4, 4, 0)
	if f.To != "198.51.100.100" || f.From != "vm" || f.Run.Address != "198.51.100.100" || f.Run.Start != nil {
		t.Errorf("%+v", f)
	}
	wantFigures(t, mtrSample(t, "hops.xml"), 15.9, 28.6, 48.5, 14.3)
	wantFigures(t, mtrSample(t, "all-fields.json"), 17.749, 20.579, 24.218, 3.309)
}

func TestMtrASilentHubOnTheWayIsNoLoss(t *testing.T) {
	wantCounts(t, mtrSample(t, "hole.json"), 4, 4, 0)
	wantCounts(t, mtrSample(t, "hole.xml"), 4, 4, 0)
}

func TestMtrThatDidNotReachTheDestination(t *testing.T) {
	for _, name := range []string{"hops-silent.json", "hops-silent.xml"} {
		f := mtrSample(t, name)
		wantFailure(t, f, wire.FailureTimeout, "the last hub that did is 198.51.100.12 (hub 2)")
		wantCounts(t, f, 4, 0, 4)
		if f.Summary.Mean != nil {
			t.Errorf("%s: a mean of %v", name, *f.Summary.Mean)
		}
	}
	f := mtrSample(t, "refused.json") // the last hub is a router that refuses, with times of its own
	wantFailure(t, f, wire.FailureUnreachable, "198.51.100.254")
	wantCounts(t, f, 4, 0, 4)
	if f.Summary.Mean != nil || f.Run.Address != "198.51.100.120" {
		t.Errorf("%+v", f)
	}
}

func TestMtrWithoutHubs(t *testing.T) {
	for _, name := range []string{"no-route.json", "silent.xml", "v0.87-no-hubs.json"} {
		f := mtrSample(t, name)
		wantFailure(t, f, wire.FailureTimeout, "no hub answered")
		if f.Counted != (Counted{}) {
			t.Errorf("%s: counts %+v", name, f.Counted)
		}
	}
}

// Strings and numbers, by version; the loss counts packets of Snt.
func TestMtrOldVersions(t *testing.T) {
	f := mtrSample(t, "v0.87.json")
	wantCounts(t, f, 10, 7, 3)
	wantFigures(t, f, 23.07, 24.35, 26.91, 1.25)
	f = mtrSample(t, "v0.85.xml") // <Loss%> 40.0%</Loss%>
	wantCounts(t, f, 5, 3, 2)
	wantFigures(t, f, 23.1, 24.4, 26.9, 1.9)
}

// 0.1 % of 20,000 is 20, and so is all from 10 to 30: how many were lost is not told.
func TestMtrARoundedLossDoesNotCount(t *testing.T) {
	f := mtrText(t, `<MTR SRC="a" DST="192.0.2.1" TESTS="20000"><HUB COUNT="1" HOST="192.0.2.1"><Loss>  0.1%</Loss><Snt> 20000</Snt><Avg> 1.0</Avg></HUB></MTR>`)
	if f.Counted.Lost || f.Counted.Received || !f.Counted.Sent || f.Summary.LossRatio == nil || !within(*f.Summary.LossRatio, 0.001, 1e-9) {
		t.Errorf("%+v, loss %v", f.Counted, f.Summary.LossRatio)
	}
}

// Below a twentieth of a millisecond the XML says 0.0; and of one reply there is no deviation.
func TestMtrZeroIsNoTime(t *testing.T) {
	f := mtrText(t, `<MTR SRC="a" DST="192.0.2.1" TESTS="1"><HUB COUNT="1" HOST="192.0.2.1"><Loss>  0.0%</Loss><Snt>     1</Snt><Avg>   0.0</Avg><Best>   0.0</Best><Wrst>   0.1</Wrst><StDev>   0.0</StDev></HUB></MTR>`)
	s := f.Summary
	if s.Min != nil || s.Mean != nil || s.Stddev != nil || s.Max == nil || *s.Max != 100_000 || f.Run.Failure != "" {
		t.Errorf("%+v", s)
	}
}

func TestMtrNamesAndAddresses(t *testing.T) {
	hub := func(dst, host string) Finding {
		return mtrText(t, `{"report":{"mtr":{"src":"a","dst":"`+dst+`","tests":2},"hubs":[{"count":1,"host":"`+host+`","Loss%":0.0,"Snt":2,"Best":1.0,"Avg":1.5,"Wrst":2.0,"StDev":0.7}]}}`)
	}
	for _, c := range []struct{ dst, host, address string }{
		{"127.0.0.1", "localhost", "127.0.0.1"}, {"b.example.net", "192.0.2.7", "192.0.2.7"}, {"192.0.2.7", "b.example.net (192.0.2.7)", "192.0.2.7"},
		{"2001:DB8::7", "2001:db8::7", "2001:db8::7"}, {"b.example.net", "c.example.net", ""},
	} {
		if f := hub(c.dst, c.host); f.Run.Failure != "" || f.Run.Address != c.address || f.To != c.dst {
			t.Errorf("%s by %s: %q, address %q", c.dst, c.host, f.Run.Detail, f.Run.Address)
		}
	}
	wantFailure(t, hub("192.0.2.7", "gw.example.net (192.0.2.1)"), wire.FailureUnreachable, "gw.example.net")
}

func TestMtrSeveralReports(t *testing.T) {
	one := string(readSample(t, "testdata/mtr/hops.json"))
	d := mustConvert(t, mtr, []byte(one+string(readSample(t, "testdata/mtr/plain.json"))))
	if len(d.Findings) != 2 || d.Findings[1].To != "198.51.100.2" {
		t.Errorf("%+v", d.Findings)
	}
	d = mustConvert(t, mtr, []byte(one+strings.Repeat(" ", 10)+one[:400]))
	if len(d.Findings) != 1 || d.LeftCount == 0 {
		t.Errorf("%d findings, left out: %v", len(d.Findings), d.Left)
	}
}

// A list that is cut ends with any hub.
func TestMtrThatWasCutHasNoLastHub(t *testing.T) {
	for _, name := range []string{"cut.json", "cut.xml"} {
		if d, err := convert(t, mtr, readSample(t, "testdata/mtr/"+name)); err == nil {
			t.Errorf("%s: %+v", name, d.Findings)
		}
	}
}
