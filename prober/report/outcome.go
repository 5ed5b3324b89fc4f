package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"isochrone/prober/wire"
)

// Outcome is what the documents of bulk runs begin with. Absent is null in JSON and no
// element in XML.
type Outcome struct {
	Format        string `json:"format" xml:"-"`
	Version       int    `json:"version" xml:"version,attr"`
	ProberVersion string `json:"prober_version" xml:"prober_version"`

	Target  string    `json:"target" xml:"target"` // as it was asked for
	Address string    `json:"address,omitempty" xml:"address,omitempty"`
	Kind    wire.Kind `json:"kind" xml:"kind"`

	Started *time.Time `json:"started" xml:"started,omitempty"`
	Ended   *time.Time `json:"ended" xml:"ended,omitempty"`
	// Interrupted says that somebody stopped it before it was done.
	Interrupted bool `json:"interrupted" xml:"interrupted"`

	// Failure is set exactly when nothing was moved; Detail is a text for people.
	Failure wire.Failure `json:"failure,omitempty" xml:"failure,omitempty"`
	Detail  string       `json:"detail,omitempty" xml:"detail,omitempty"`

	MaxBytes      int64    `json:"max_bytes" xml:"max_bytes"` // the run's budget
	MovedBytes    int64    `json:"moved_bytes" xml:"moved_bytes"`
	BudgetReached bool     `json:"budget_reached" xml:"budget_reached"`
	CPUStealRatio *float64 `json:"cpu_steal_ratio" xml:"cpu_steal_ratio,omitempty"`
}

func outcomeOf(in Input, format string) Outcome {
	run := in.Run
	o := Outcome{
		Format: format, Version: Version, ProberVersion: in.Provenance.ProberVersion,
		Target: Target(in.Target), Address: run.Address, Kind: in.Spec.Kind,
		Started: run.Start, Ended: run.End, Interrupted: in.Interrupted,
		Failure: run.Failure, Detail: Visible(run.Detail),
		MaxBytes: in.Spec.Bulk.MaxBytes, CPUStealRatio: in.Provenance.CPUStealRatio,
	}
	if run.Bulk != nil {
		o.MovedBytes, o.BudgetReached = run.Bulk.Bytes, run.Bulk.BudgetReached
	}
	return o
}

// title begins the text, up to what the run came to.
func (o Outcome) title(w *bytes.Buffer) {
	fmt.Fprintf(w, "--- %s of %s", o.Kind, Visible(o.Target))
	if o.Address != "" && o.Address != o.Target {
		fmt.Fprintf(w, " (%s)", Visible(o.Address))
	}
	w.WriteString(" ---\n")
	if o.Failure != "" {
		fmt.Fprintf(w, "failed: %s\n", FailureText(o.Failure))
	}
	if o.Detail != "" {
		fmt.Fprintf(w, "%s\n", Visible(o.Detail))
	}
}

// encodeJSON writes a document, with a table of columns at its end that has a line for each.
func encodeJSON(document any, name string, columns any) ([]byte, error) {
	b, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	if name == "" {
		return append(b, '\n'), nil
	}
	table, err := json.Marshal(columns)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	var out bytes.Buffer
	out.Write(bytes.TrimSuffix(b, []byte("\n}")))
	fmt.Fprintf(&out, ",\n  %q: ", name)
	out.Write(bytes.ReplaceAll(table, []byte("],\""), []byte("],\n    \"")))
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}

func encodeXML(document any) ([]byte, error) {
	b, err := xml.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing XML: %w", err)
	}
	return append(append([]byte(xml.Header), b...), '\n'), nil
}

// grid writes rows whose columns line up on their right.
func grid(w *bytes.Buffer, rows [][]string) {
	var text bytes.Buffer
	tabs := tabwriter.NewWriter(&text, 0, 1, 3, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintln(tabs, strings.Join(r, "\t")+"\t")
	}
	_ = tabs.Flush() // writes to memory
	for line := range strings.Lines(text.String()) {
		w.WriteString(strings.TrimRight(line, " \n"))
		w.WriteByte('\n')
	}
}

// Bytes shows a number of bytes in the largest decimal unit that leaves at least 1 before the point.
func Bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= unit.size {
			text := strings.TrimRight(strconv.FormatFloat(float64(n)/unit.size, 'f', 3, 64), "0")
			return strings.TrimSuffix(text, ".") + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// mbit shows bits/s in Mbit/s.
func mbit(bps float64) string { return strconv.FormatFloat(bps/1e6, 'f', 2, 64) }

// DescribeBulk says how a saturate or stream run measures, with its budget.
func DescribeBulk(s wire.Spec) string {
	b := s.Bulk
	parts := []string{fmt.Sprintf("%d bytes a transfer", s.RequestBytes), fmt.Sprintf("%d %% read", b.ReadPercent),
		fmt.Sprintf("up to %d outstanding", b.Outstanding), fmt.Sprintf("%s a level", b.Duration)}
	if s.Kind == wire.KindStream {
		parts = []string{fmt.Sprintf("%d messages of %d bytes", b.Messages, s.RequestBytes), fmt.Sprintf("%d/s", b.MessageRate)}
		if b.Batch > 1 {
			parts = append(parts, fmt.Sprintf("batches of %d", b.Batch))
		}
		if b.SinkRate > 0 {
			parts = append(parts, fmt.Sprintf("the target takes %d/s at most", b.SinkRate))
		}
	}
	return strings.Join(append(parts, "at most "+Bytes(b.MaxBytes)), ", ")
}
