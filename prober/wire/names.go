package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ForeignPrefix begins the probe name of everything that did not come from a planned
// assignment. sweep.yaml refuses probe names that begin with it.
const ForeignPrefix = "ext."

var (
	nameForm        = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	environmentForm = regexp.MustCompile(`^[a-z][a-z0-9]{1,11}$`)
	idForm          = regexp.MustCompile(`^[0-9a-f]{32}$`)
	attemptForm     = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

// ValidateName returns an error unless s can name a prober, a path or a probe: a lower-case
// letter, then up to 39 lower-case letters, digits and hyphens. what is the word to use in the error.
func ValidateName(what, s string) error {
	if !nameForm.MatchString(s) {
		return fmt.Errorf("%s %q: want a lower-case letter, then up to 39 lower-case letters, digits and hyphens", what, s)
	}
	return nil
}

// ValidateEnvironment returns an error unless s can name an environment. The name becomes part
// of table names, which are alphanumeric.
func ValidateEnvironment(s string) error {
	if !environmentForm.MatchString(s) {
		return fmt.Errorf("environment %q: want a lower-case letter, then 1 to 11 lower-case letters and digits", s)
	}
	return nil
}

// Series is one line on a chart.
type Series struct {
	Environment string
	Source      string // prober id
	Target      string // prober id
	Path        string // public, peering, vpn, expressroute
	Probe       string // the probe's name in sweep.yaml, or ext.… for foreign documents
}

// String joins the parts with "|", as the tables' keys do.
func (s Series) String() string {
	return strings.Join([]string{s.Environment, s.Source, s.Target, s.Path, s.Probe}, "|")
}

// Validate returns an error that names the first part that is not valid.
func (s Series) Validate() error {
	if err := ValidateEnvironment(s.Environment); err != nil {
		return err
	}
	for _, p := range []struct{ what, name string }{
		{"source", s.Source}, {"target", s.Target}, {"path", s.Path}, {"probe", strings.TrimPrefix(s.Probe, ForeignPrefix)},
	} {
		if err := ValidateName(p.what, p.name); err != nil {
			return err
		}
	}
	return nil
}

const slotForm = "20060102T1504"

// Slot truncates t to the minute in UTC: the instant that a sweep serves, and its identity.
func Slot(t time.Time) time.Time { return t.UTC().Truncate(time.Minute) }

// SlotName formats a slot as yyyymmddThhmm.
func SlotName(slot time.Time) string { return slot.UTC().Format(slotForm) }

// ParseSlotName is the inverse of SlotName.
func ParseSlotName(s string) (time.Time, error) {
	t, err := time.ParseInLocation(slotForm, s, time.UTC)
	if err != nil || t.Format(slotForm) != s {
		return time.Time{}, fmt.Errorf("slot %q: want yyyymmddThhmm in UTC, such as 20261130T1020", s)
	}
	return t, nil
}

// AssignmentID names the runs of one probe that one source makes at one slot; a probe with
// more samples than a document may hold has several parts. 32 lower-case hexadecimal digits.
func AssignmentID(environment string, slot time.Time, source, probe string, part int) string {
	h := sha256.Sum256([]byte(strings.Join([]string{"assignment", environment, SlotName(slot), source, probe, strconv.Itoa(part)}, "|")))
	return hex.EncodeToString(h[:16])
}

// ValidateAssignmentID returns an error unless s has the form of an assignment id.
func ValidateAssignmentID(s string) error {
	if !idForm.MatchString(s) {
		return fmt.Errorf("assignment id %q: want 32 lower-case hexadecimal digits", s)
	}
	return nil
}

// The containers of an environment that app and probers share.
func ProbersContainer(environment string) string     { return "probers-" + environment }
func AssignmentsContainer(environment string) string { return "assignments-" + environment }
func InboxContainer(environment string) string       { return "inbox-" + environment }

// RegistrationBlob is the name of a prober's registration in the probers container.
func RegistrationBlob(prober string) string { return prober + "/registration.json" }

// CurrentBlob is the name of a prober's assignments in the assignments container.
func CurrentBlob(prober string) string { return prober + "/current.json" }

// InboxForeignFolder is the folder of the inbox that the Results function writes to. No prober
// can have this name.
const InboxForeignFolder = "_http"

// InboxBlob is the name under which a prober delivers an assignment's document. attempt is
// eight hexadecimal digits, drawn anew each time the assignment is taken.
func InboxBlob(prober string, slot time.Time, assignment, attempt string) string {
	return fmt.Sprintf("%s/%s_%s_%s.json.gz", prober, slot.UTC().Format("1504"), assignment, attempt)
}

// InboxName is what the name of a prober's inbox blob says.
type InboxName struct {
	Prober     string
	HHMM       string // the slot's hour and minute, UTC
	Assignment string
	Attempt    string
}

// ParseInboxBlob is the inverse of InboxBlob.
func ParseInboxBlob(name string) (InboxName, error) {
	bad := func(why string) (InboxName, error) {
		return InboxName{}, fmt.Errorf("inbox blob %q: %s; want <prober>/<HHmm>_<assignment id>_<attempt>.json.gz", name, why)
	}
	prober, file, ok := strings.Cut(name, "/")
	if !ok {
		return bad("no folder")
	}
	if err := ValidateName("prober", prober); err != nil {
		return bad(err.Error())
	}
	stem, ok := strings.CutSuffix(file, ".json.gz")
	if !ok {
		return bad("wrong ending")
	}
	parts := strings.Split(stem, "_")
	if len(parts) != 3 {
		return bad("not three parts")
	}
	if t, err := time.Parse("1504", parts[0]); err != nil || t.Format("1504") != parts[0] {
		return bad("no time of day in front")
	}
	if err := ValidateAssignmentID(parts[1]); err != nil {
		return bad(err.Error())
	}
	if !attemptForm.MatchString(parts[2]) {
		return bad("attempt is not eight hexadecimal digits")
	}
	return InboxName{Prober: prober, HHMM: parts[0], Assignment: parts[1], Attempt: parts[2]}, nil
}
