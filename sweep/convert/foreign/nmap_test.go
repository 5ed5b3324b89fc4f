package foreign

import (
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestNmap(t *testing.T) { testSamples(t, nmap) }

func FuzzNmap(f *testing.F) { fuzz(f, nmap, 7+len(nmapAttacks), nmapAttacks...) }

func nmapSample(t *testing.T, name string, findings int) []Finding {
	t.Helper()
	d := mustConvert(t, nmap, readSample(t, "testdata/nmap/"+name))
	if len(d.Findings) != findings {
		t.Fatalf("%d findings (%v), want %d", len(d.Findings), d.Left, findings)
	}
	return d.Findings
}

// srtt is a smoothed mean: it is neither the smallest round trip, nor a quantile, nor TCP_INFO's.
func TestNmapTheSmoothedRoundTripIsAMean(t *testing.T) {
	f := nmapSample(t, "up.xml", 2)
	for i, want := range []float64{26_475_000, 18_818_000} {
		s := f[i].Summary
		if s.Mean == nil || *s.Mean != want || s.Min != nil || s.Max != nil || s.Stddev != nil || s.Jitter != nil || s.P50.Value != nil || f[i].Run.TCPInfo != nil || len(f[i].RTT) > 0 {
			t.Errorf("%+v", s)
		}
		if f[i].Run.Kind != wire.KindICMP || f[i].Counted != (Counted{}) || !f[i].Run.Start.Equal(time.Unix(1796069164, 0)) || f[i].Tool != "nmap 7.93" {
			t.Errorf("%+v", f[i])
		}
	}
	if f[0].To != "198.51.100.2" || f[1].To != "198.51.100.4" {
		t.Errorf("%q %q", f[0].To, f[1].To)
	}
}

// The probes of a port scan are TCP's, even where nmap was told that the host is up.
func TestNmapAPortScanMeasuresConnections(t *testing.T) {
	if f := nmapSample(t, "ports.xml", 1); f[0].Run.Kind != wire.KindConnect || *f[0].Summary.Mean != 35_000 {
		t.Errorf("%+v", f[0])
	}
}

func TestNmapAHostThatIsDownIsAFailure(t *testing.T) {
	f := nmapSample(t, "mixed-v.xml", 3)
	wantFailure(t, f[1], wire.FailureTimeout, "no-response")
	if f[1].To != "198.51.100.6" || f[1].Summary.Mean != nil {
		t.Errorf("%+v", f[1])
	}
	f = nmapSample(t, "down.xml", 1) // without -v it is counted, and not named
	wantFailure(t, f[0], wire.FailureTimeout, "the only host is down")
	unreachable := strings.Replace(string(readSample(t, "testdata/nmap/mixed-v.xml")), `"no-response"`, `"host-unreach"`, 1)
	if d := mustConvert(t, nmap, []byte(unreachable)); d.Findings[1].Run.Failure != wire.FailureUnreachable {
		t.Errorf("%+v", d.Findings[1].Run)
	}
}

func TestNmapHostsThatAreDownAndNotNamed(t *testing.T) {
	text := strings.Replace(string(readSample(t, "testdata/nmap/up.xml")), `<hosts up="2" down="0" total="2"/>`, `<hosts up="2" down="3" total="5"/>`, 1)
	d := mustConvert(t, nmap, []byte(text))
	if len(d.Findings) != 2 || d.LeftCount != 1 || !strings.Contains(d.Left[0].Reason, "3 hosts are down") {
		t.Errorf("%v", d.Left)
	}
}

// -sU and -sS at once: an element each says of which ports, and the round trips are of both.
func TestNmapAScanOfTCPAndUDPIsOfNeither(t *testing.T) {
	scan := func(protocols ...string) string {
		text := `<nmaprun scanner="nmap" start="1796069164" version="7.93" xmloutputversion="1.05">`
		for _, p := range protocols {
			text += `<scaninfo type="x" protocol="` + p + `" numservices="1" services="53"/>`
		}
		return text + `<host><status state="up" reason="reset"/><address addr="192.0.2.1" addrtype="ipv4"/><times srtt="1000" rttvar="1" to="1"/></host></nmaprun>`
	}
	for want, text := range map[wire.Kind]string{"rtt": scan("tcp", "udp"), wire.KindUDP: scan("udp"), wire.KindConnect: scan("tcp", "tcp")} {
		if f := mustConvert(t, nmap, []byte(text)).Findings[0]; f.Run.Kind != want {
			t.Errorf("kind %s, want %s", f.Run.Kind, want)
		}
	}
}

// nmap takes no round trip of its own host: that it is up is all that is known.
func TestNmapOfItsOwnHostTellsThatItIsUp(t *testing.T) {
	f := mustConvert(t, nmap, readSample(t, "testdata/nmap/own-host.xml")).Findings
	if len(f) != 1 || f[0].Run.Failure != "" || f[0].Summary.Mean != nil || f[0].Run.Start == nil || !strings.Contains(f[0].Run.Detail, "no round trip is told") {
		t.Errorf("%+v", f)
	}
}

const nmapBody = `<nmaprun scanner="nmap" args="&x;" start="1796069164" version="7.93" xmloutputversion="1.05"><host><status state="up" reason="&x;"/><address addr="192.0.2.1" addrtype="ipv4"/><times srtt="1000" rttvar="1" to="1"/></host></nmaprun>`

// nmapAttacks are texts that would make a reader of DTDs grow, or open what it should not.
var nmapAttacks = []string{
	`<!DOCTYPE nmaprun [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY x "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>` + nmapBody,
	`<!DOCTYPE nmaprun [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + nmapBody,
	`<!DOCTYPE nmaprun [<!ENTITY % p SYSTEM "http://192.0.2.1/p.dtd"> %p;]>` + nmapBody,
	`<!DOCTYPE nmaprun SYSTEM "http://192.0.2.1/nmap.dtd">` + nmapBody,
	`<!DOCTYPE nmaprun PUBLIC "-//IDN nmap.org//DTD Nmap XML 1.04//EN" "https://svn.nmap.org/nmap/docs/nmap.dtd">` + nmapBody,
	`<!DOCTYPE nmaprun>` + nmapBody, // an entity that nothing declares
}

func TestNmapDeclarationsAndEntitiesAreRefused(t *testing.T) {
	for _, text := range nmapAttacks {
		d, err := nmap.Read(strings.NewReader(text))
		fault, ok := err.(*Fault)
		if !ok || fault.Reason == "" || fault.Line != 1 {
			t.Errorf("%.80s: %+v, %v", text, d, err)
			continue
		}
		if s := err.Error(); strings.Contains(s, "haha") || strings.Contains(s, "root:") {
			t.Errorf("%.80s was expanded: %s", text, s)
		}
		if f := Recognise([]byte(text)); f != nil && !strings.HasPrefix(text, "<!DOCTYPE nmaprun>") {
			t.Errorf("%.80s is recognised as %s", text, f.Name)
		}
	}
}
