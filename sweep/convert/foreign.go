package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/result"
)

// Names is what the caller says of a document of another tool, which does not know our names.
type Names struct {
	// Source and Target name the probers at the two ends: one name for all, or HOST=NAME, several
	// with commas between, for documents with more than one. HOST is what the document calls it.
	Source, Target string
	// Path is the path that was measured, and Probe the probe's name, without "ext."; empty: the tool's.
	Path, Probe string
	// At is when it was measured, for documents that do not say; zero: not known.
	At time.Time
}

// Check refuses names that are not of their form. The error is a *Refusal.
func (n Names) Check() error {
	for _, of := range []struct{ what, text string }{{"source", n.Source}, {"target", n.Target}} {
		e, err := parseNames(of.what, of.text)
		if err != nil {
			return err
		}
		for _, name := range append(slices.Collect(maps.Values(e.hosts)), e.one) {
			if name == "" {
				continue
			}
			if err := wire.ValidateName(of.what, fmt.Sprintf("%.60s", name)); err != nil {
				return &Refusal{Stage: StageCheck, Text: err.Error(), Offset: NoOffset, Remedy: "give names as sweep.yaml has them"}
			}
		}
	}
	return nil
}

// Foreign is what a document of another tool came to.
type Foreign struct {
	Format    string
	Results   []result.Result
	Explained [][]foreign.Explanation // one list a result
	// Left is what could not be read of the document, the first of LeftCount.
	Left      []foreign.Fault
	LeftCount int
}

// ReadForeign recognises the format of a text, which is UTF-8 without a byte-order mark, and
// converts it. It is read once, in constant memory if the format allows. The error is a *Refusal
// when the text or the names are at fault; any other is in's own.
func ReadForeign(in io.Reader, environment string, names Names) (*Foreign, error) {
	var head []byte
	if text, ok := in.(*foreign.Text); ok {
		head = text.Head()
	} else {
		head = make([]byte, foreign.HeadBytes)
		n, err := io.ReadFull(in, head)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		head = head[:n]
		in = io.MultiReader(bytes.NewReader(head), in)
	}
	format := foreign.Recognise(head)
	if format == nil {
		return nil, unknown(head)
	}
	d, err := format.Read(in)
	if fault, ok := errors.AsType[*foreign.Fault](err); ok {
		return nil, refuseForeign(format, fault)
	}
	if err != nil {
		return nil, err
	}
	return named(d, environment, names)
}

func unknown(head []byte) *Refusal {
	text := "the body is empty"
	if len(bytes.TrimSpace(head)) > 0 {
		text = "the body is of none of the formats that are known"
	}
	var known []string
	for _, f := range foreign.Formats() {
		known = append(known, f.Name)
	}
	return &Refusal{Stage: StageRecognise, Text: text, Offset: NoOffset,
		Remedy: "send a result document of version 1, or what one of these tools prints: " + strings.Join(known, ", ")}
}

func refuseForeign(f *foreign.Format, fault *foreign.Fault) *Refusal {
	r := &Refusal{Stage: StageRead, Text: f.Name + ": " + fault.Reason, Where: fault.Where, Offset: fault.Offset, Remedy: "docs/formats.md says what is read of " + f.Title}
	if fault.Line > 0 {
		r.Where = strings.TrimSpace(fmt.Sprintf("%s line %d", r.Where, fault.Line))
	}
	return r
}

// named gives findings the names that the caller says, and computes what is computed.
func named(d *foreign.Document, environment string, names Names) (*Foreign, error) {
	out := &Foreign{Format: d.Format, Left: d.Left, LeftCount: d.LeftCount}
	source, err := parseNames("source", names.Source)
	if err != nil {
		return nil, err
	}
	target, err := parseNames("target", names.Target)
	if err != nil {
		return nil, err
	}
	missing, seen := lacking{}, taken{}
	for i := range d.Findings {
		f := &d.Findings[i]
		for _, n := range []struct{ what, given, said string }{{"source", source.one, f.Source}, {"target", target.one, f.Target}, {"path", names.Path, f.Path}, {"probe", names.Probe, f.Probe}} {
			if n.given != "" && n.said != "" && n.given != n.said {
				return nil, &Refusal{Stage: StageCheck, Text: fmt.Sprintf("%s is given as %.64q, and the document says %.64q", n.what, n.given, n.said), Offset: NoOffset, Remedy: "leave it out, or correct it"}
			}
		}
		series := wire.Series{Environment: environment, Source: f.Source, Target: f.Target, Path: cmp.Or(names.Path, f.Path),
			Probe: wire.ForeignPrefix + probeName(cmp.Or(names.Probe, f.Probe), d.Format, f.Variant)}
		if series.Source == "" {
			series.Source = source.of("source", f.From, missing)
		}
		if series.Target == "" {
			series.Target = target.of("target", f.To, missing)
		}
		if series.Path == "" {
			missing["its path: give --path"] = "path"
		}
		if f.Run.Start == nil && names.At.IsZero() {
			missing["when it was measured: give --at"] = "at"
		}
		if len(missing) > 0 {
			continue
		}
		if err := series.Validate(); err != nil {
			return nil, &Refusal{Stage: StageCheck, Text: err.Error(), Offset: NoOffset, Remedy: "give names as sweep.yaml has them"}
		}
		r, err := resultOf(f, series, names.At)
		if err != nil {
			return nil, err
		}
		if err := seen.add(r, f); err != nil {
			return nil, err
		}
		out.Results = append(out.Results, r)
		out.Explained = append(out.Explained, f.Explained)
	}
	if len(missing) > 0 {
		return nil, &Refusal{Stage: StageCheck, Text: fmt.Sprintf("the document (%s) does not say %s", d.Format, missing.listed()),
			Offset: NoOffset, Remedy: "over HTTP the same are query parameters: " + missing.parameters()}
	}
	if d.LeftCount > 0 {
		for i := range out.Results {
			out.Results[i].Summary.Noise.Degraded = append(out.Results[i].Summary.Noise.Degraded, summary.ReasonDamaged)
		}
	}
	return out, nil
}

// taken are the findings by the row that they become.
type taken map[string]*foreign.Finding

// add refuses a second finding for one row, and says how the hosts are told apart if they differ.
func (t taken) add(r result.Result, f *foreign.Finding) error {
	key := fmt.Sprintf("%s|%d", r.Series, r.Slot.Unix())
	first, ok := t[key]
	if !ok {
		t[key] = f
		return nil
	}
	refusal := &Refusal{Stage: StageCheck, Text: fmt.Sprintf("it has two runs of %s over %s that began at %s, which are one row", r.Series.Target, r.Series.Path, r.Slot.Format(time.RFC3339)),
		Offset: NoOffset, Remedy: "hand them in one by one, or split the document"}
	for _, end := range []struct{ flag, a, b string }{{"target", first.To, f.To}, {"source", first.From, f.From}} {
		if end.a != end.b {
			refusal.Text = fmt.Sprintf("the %ss %.80q and %.80q of one second would both be %q", end.flag, end.a, end.b, map[string]string{"target": r.Series.Target, "source": r.Series.Source}[end.flag])
			refusal.Remedy = fmt.Sprintf("give --%s %.80s=NAME,%.80s=NAME", end.flag, end.a, end.b)
			break
		}
	}
	return refusal
}

// resultOf computes a finding's figures and histograms from its round trips, if it has any.
func resultOf(f *foreign.Finding, series wire.Series, at time.Time) (result.Result, error) {
	run, sum := f.Run, f.Summary
	start := at.UTC()
	if run.Start != nil {
		start = run.Start.UTC()
	}
	run.Target, run.Path, run.PlannedStart = series.Target, series.Path, start
	run.Start = &start
	if run.End != nil {
		end := run.End.UTC()
		run.End = &end
	}
	bins := f.Bins
	if len(f.RTT) > 0 {
		counts := map[int64]int{}
		for _, v := range f.RTT {
			counts[v]++
		}
		bins = summary.DistributionOf(counts)
	}
	if len(bins) > 0 {
		figures := bins.Summary()
		if len(f.RTT) > 0 {
			figures = summary.OfRoundTrips(f.RTT)
		}
		sum.Min, sum.Mean, sum.Max, sum.Stddev = figures.Min, figures.Mean, figures.Max, figures.Stddev
		sum.P50, sum.P90, sum.P95, sum.P99, sum.P999, sum.PDV = figures.P50, figures.P90, figures.P95, figures.P99, figures.P999, figures.PDV
		if figures.Jitter != nil {
			sum.Jitter = figures.Jitter
		}
		var err error
		if run.RTTHistogram, run.ExcessHistogram, err = bins.Histograms(); err != nil {
			return result.Result{}, fmt.Errorf("computing the histograms of %q: %w", series, err)
		}
	}
	if f.Counted.Sent && f.Counted.Lost && sum.LossRatio == nil {
		sum.Loss(run.Counts.Lost, run.Counts.Sent)
	}
	if run.Detail != "" {
		run.Detail = wire.CutDetail(strings.ToValidUTF8(run.Detail, "\uFFFD"))
	}
	counted := result.Counted(f.Counted)
	return result.Result{Series: series, Slot: start.Truncate(time.Second), Run: run, Summary: sum, Tool: f.Tool, Counted: &counted}, nil
}

// ends are the names of the probers at one end.
type ends struct {
	one   string
	hosts map[string]string
}

func parseNames(what, text string) (ends, error) {
	if !strings.Contains(text, "=") {
		return ends{one: text}, nil
	}
	out := ends{hosts: map[string]string{}}
	for part := range strings.SplitSeq(text, ",") {
		at := strings.LastIndexByte(part, '=') // a host may have one too, and no name has
		if at <= 0 || at == len(part)-1 {
			return ends{}, &Refusal{Stage: StageCheck, Text: fmt.Sprintf("%s %.80q: want NAME, or HOST=NAME with commas between", what, text), Offset: NoOffset,
				Remedy: "HOST is what the document calls it, NAME the prober's"}
		}
		host, name := part[:at], part[at+1:]
		if first, twice := out.hosts[host]; twice && first != name {
			return ends{}, &Refusal{Stage: StageCheck, Text: fmt.Sprintf("%s: %.80q is given as %.64q and as %.64q", what, host, first, name), Offset: NoOffset,
				Remedy: "give each HOST once"}
		}
		out.hosts[host] = name
	}
	return out, nil
}

// of is the name of the prober at a host, or a note of what is missing.
func (e ends) of(what, host string, missing lacking) string {
	if e.one != "" {
		return e.one
	}
	if name, ok := e.hosts[host]; ok {
		return name
	}
	const most = 20
	if len(missing) >= most {
		return ""
	}
	if host == "" {
		missing[fmt.Sprintf("its %s: give --%s NAME", what, what)] = what
	} else {
		missing[fmt.Sprintf("which prober is its %s %.80q: give --%s NAME or --%s %.80s=NAME", what, host, what, what, host)] = what
	}
	return ""
}

// lacking is what neither a document nor the caller says, in words, and the parameter that would say it.
type lacking map[string]string

func (l lacking) listed() string { return strings.Join(slices.Sorted(maps.Keys(l)), "; nor ") }

// parameters are those that are missing, in the order of the documentation.
func (l lacking) parameters() string {
	var out []string
	for _, name := range []string{"source", "target", "path", "at"} {
		if slices.Contains(slices.Collect(maps.Values(l)), name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// probeName is the probe's name without its prefix: the caller's or the format's, and the variant.
// A variant that does not fit, or loses more than capitals and blanks, is told apart by its hash.
func probeName(given, format, variant string) string {
	name := format
	if given != "" {
		name = given
	}
	if variant == "" {
		return name
	}
	slug := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(variant), "-"), "-")
	const most = 40
	plain := name + "-" + slug
	if slug == strings.ReplaceAll(strings.ToLower(variant), " ", "-") && len(plain) <= most {
		return plain
	}
	h := fnv.New32a()
	h.Write([]byte(variant))
	hash := fmt.Sprintf("%08x", h.Sum32())
	room := max(most-len(name)-len(hash)-2, 0)
	if len(slug) > room {
		slug = strings.Trim(slug[:room], "-")
	}
	return strings.Trim(name[:min(len(name), most-len(hash)-1)]+"-"+slug, "-") + "-" + hash
}
