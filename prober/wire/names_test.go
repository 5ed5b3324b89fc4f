package wire

import (
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"westeurope": true, "tcp-64": true, "a": true, "a" + strings.Repeat("b", 39): true,
		"": false, "a" + strings.Repeat("b", 40): false, "1a": false, "-a": false, "A": false, "a_b": false, "a.b": false, "a|b": false,
		"a/b": false, "..": false, "ä": false, "a\n": false, "a ": false, "_http": false,
	} {
		if err := ValidateName("thing", name); (err == nil) != ok {
			t.Errorf("name %q: %v, want accepted = %v", name, err, ok)
		}
	}
	for name, ok := range map[string]bool{
		"dev": true, "p1": true, "abcdefghijkl": true, "d": false, "abcdefghijklm": false, "de-v": false, "Dev": false, "1dev": false, "": false, "dev\n": false,
	} {
		if err := ValidateEnvironment(name); (err == nil) != ok {
			t.Errorf("environment %q: %v, want accepted = %v", name, err, ok)
		}
	}
	for id, ok := range map[string]bool{
		"a3d73642a3ba17a290e8e15488696aff": true, "A3d73642a3ba17a290e8e15488696aff": false, "a3d73642": false, "": false,
		"a3d73642a3ba17a290e8e15488696aff0": false, "../73642a3ba17a290e8e15488696aff00": false,
	} {
		if err := ValidateAssignmentID(id); (err == nil) != ok {
			t.Errorf("assignment id %q: %v, want accepted = %v", id, err, ok)
		}
	}
}

func TestSeries(t *testing.T) {
	s := vectorSeries
	if got := s.String(); got != "dev|westeurope|northeurope|public|tcp-64" {
		t.Errorf("%q", got)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.Probe = "ext.iperf3"
	if err := s.Validate(); err != nil {
		t.Errorf("a foreign probe: %v", err)
	}
	for part, bad := range map[string]Series{
		"environment": {"D", "a", "b", "p", "q"}, "source": {"dev", "A", "b", "p", "q"}, "target": {"dev", "a", "B", "p", "q"},
		"path": {"dev", "a", "b", "P", "q"}, "probe": {"dev", "a", "b", "p", "ext.ext.q"},
	} {
		if err := bad.Validate(); err == nil || !strings.HasPrefix(err.Error(), part) {
			t.Errorf("%+v: %v, want an error about the %s", bad, err, part)
		}
	}
}

func TestSlots(t *testing.T) {
	at := time.Date(2026, 11, 30, 11, 20, 59, 999, time.FixedZone("CET", 3600))
	if got := Slot(at); !got.Equal(goldenSlot) || got.Location() != time.UTC {
		t.Errorf("the slot of %s is %s", at, got)
	}
	if got := SlotName(at); got != "20261130T1020" {
		t.Errorf("its name is %q", got)
	}
	back, err := ParseSlotName("20261130T1020")
	if err != nil || !back.Equal(goldenSlot) {
		t.Errorf("read back as %s, %v", back, err)
	}
	for _, bad := range []string{"", "2026113T1020", "20261130T1060", "20261131T1020", "20261130T1020Z", "20261130 1020", " 20261130T1020", "20261130T10:20"} {
		if got, err := ParseSlotName(bad); err == nil {
			t.Errorf("%q is read as %s", bad, got)
		}
	}
}

// The ids were computed with Python's hashlib: the first 16 bytes of
// SHA-256("assignment|dev|20261130T1020|westeurope|tcp-64|<part>").
func TestAssignmentIDs(t *testing.T) {
	for part, want := range []string{"a3d73642a3ba17a290e8e15488696aff", "cb0ee95694fd35d2e08252206cd15c32"} {
		if got := AssignmentID("dev", goldenSlot, "westeurope", "tcp-64", part); got != want {
			t.Errorf("part %d: %s, want %s", part, got, want)
		}
	}
}

func TestBlobsAndContainers(t *testing.T) {
	for got, want := range map[string]string{
		ProbersContainer("dev"): "probers-dev", AssignmentsContainer("dev"): "assignments-dev", InboxContainer("dev"): "inbox-dev",
		RegistrationBlob("westeurope"): "westeurope/registration.json", CurrentBlob("westeurope"): "westeurope/current.json",
		InboxBlob("westeurope", goldenSlot.In(time.FixedZone("", 7200)), "a3d73642a3ba17a290e8e15488696aff", "0a1b2c3d"): "westeurope/1020_a3d73642a3ba17a290e8e15488696aff_0a1b2c3d.json.gz",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if ValidateName("prober", InboxForeignFolder) == nil {
		t.Error("a prober can be named as the folder of foreign documents")
	}
}

func TestInboxNamesAreReadBack(t *testing.T) {
	const id, attempt = "a3d73642a3ba17a290e8e15488696aff", "0a1b2c3d"
	got, err := ParseInboxBlob(InboxBlob("westeurope", goldenSlot, id, attempt))
	if want := (InboxName{"westeurope", "1020", id, attempt}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{
		"", "westeurope", "westeurope/", "_http/1020_" + id + "_" + attempt + ".json.gz", "westeurope/x/1020_" + id + "_" + attempt + ".json.gz",
		"westeurope/1020_" + id + "_" + attempt + ".json", "westeurope/2460_" + id + "_" + attempt + ".json.gz", "westeurope/920_" + id + "_" + attempt + ".json.gz",
		"westeurope/1020_" + id[1:] + "_" + attempt + ".json.gz", "westeurope/1020_" + id + "_" + attempt + "0.json.gz",
		"westeurope/1020_" + id + "_0A1B2C3D.json.gz", "westeurope/1020_" + id + ".json.gz", "westeurope/1020_" + id + "_" + attempt + "_x.json.gz",
	} {
		if got, err := ParseInboxBlob(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		} else if !strings.Contains(err.Error(), "want <prober>/<HHmm>_<assignment id>_<attempt>.json.gz") {
			t.Errorf("%q: the error does not say what is wanted: %v", bad, err)
		}
	}
}
