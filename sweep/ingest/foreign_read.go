package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/result"
)

// Converted is what a foreign document says.
type Converted struct {
	// Format is the tool's, result.OwnTool for a document of our own, or FormatXML.
	Format  string
	Results []result.Result
	// Explained says where figures come from, a list a result; nil for a document of our own.
	Explained [][]foreign.Explanation
	// Left is what of the document could not be read, the first of LeftCount.
	Left      []foreign.Fault
	LeftCount int
	// JSON is unknown XML as JSON, for Format FormatXML, which has no results.
	JSON []byte
}

// FormatXML is the format of XML that is kept though nobody knows what it says.
const FormatXML = "xml"

// foreignResults converts a foreign document and checks what has to hold for one. leave gives
// back the room that it takes. Of a text of more than most bytes nothing is read, and the error is errMore.
func (g *Ingester) foreignResults(ctx context.Context, body []byte, p Parameters, most int64) (c *Converted, leave func(), err error) {
	size, err := convert.MostOf(body)
	if err != nil {
		return nil, nil, refuseConvert(err)
	}
	if size > most {
		return nil, nil, errMore
	}
	release, err := g.budget().openForeign(ctx, size, p.XML == XMLToJSON)
	if err != nil {
		return nil, nil, err
	}
	defer func() { // also when it panics
		if leave == nil {
			release()
		}
	}()
	text, err := convert.Unwrap(body, size)
	if err != nil {
		return nil, nil, refuseConvert(err)
	}
	if convert.IsDocument(text) {
		c, err = g.ownResults(text, p)
	} else {
		c, err = g.toolResults(foreign.NewText(text), p)
	}
	if r, ok := errors.AsType[*convert.Refusal](err); ok && r.Stage == convert.StageRecognise && p.XML == XMLToJSON && convert.IsXML(text) {
		c, err = keptXML(text)
	}
	if err == nil {
		err = distinct(c.Results)
	}
	if err != nil {
		return nil, nil, err
	}
	return c, release, nil
}

// keptXML is XML of no known format as JSON.
func keptXML(text []byte) (*Converted, error) {
	made, err := convert.XMLToJSON(text)
	if err != nil {
		return nil, refuseConvert(err)
	}
	return &Converted{Format: FormatXML, JSON: made}, nil
}

// ownResults reads a document of our own that nobody planned.
func (g *Ingester) ownResults(text []byte, p Parameters) (*Converted, error) {
	d, err := convert.Text(text)
	if err != nil {
		return nil, refuseConvert(err)
	}
	if err := g.acceptable(d); err != nil {
		return nil, err
	}
	if err := p.agree(d); err != nil {
		return nil, refuse(stageForeign, "%w", err)
	}
	rs, err := convert.Results(d, convert.Identity{Environment: g.Environment, Source: d.Source, Probe: wire.ForeignPrefix + d.Probe, Tool: result.OwnTool})
	if err != nil {
		return nil, refuse(stageForeign, "%w", err)
	}
	return &Converted{Format: result.OwnTool, Results: rs}, g.plausible(rs)
}

// toolResults reads what another tool wrote.
func (g *Ingester) toolResults(text io.Reader, p Parameters) (*Converted, error) {
	names, err := p.names()
	if err != nil {
		return nil, refuse(stageForeign, "%w", err)
	}
	f, err := convert.ReadForeign(text, g.Environment, names)
	if _, ok := errors.AsType[*convert.Refusal](err); ok {
		return nil, refuseConvert(err)
	}
	if err != nil {
		return nil, err
	}
	for i := range f.Results {
		if err := storableResult(&f.Results[i]); err != nil {
			return nil, refuse(stageConvert+string(convert.StageCheck), "%w", err)
		}
	}
	return &Converted{Format: f.Format, Results: f.Results, Explained: f.Explained, Left: f.Left, LeftCount: f.LeftCount}, g.plausible(f.Results)
}

// ConvertStream is Convert of a tool's text that is read as a stream (convert.Streams), UTF-8 without
// a byte-order mark, of any size.
func (g *Ingester) ConvertStream(text io.Reader, p Parameters) (*Converted, error) {
	if err := p.Check(); err != nil {
		return nil, refused(&refusal{stageForeign, err})
	}
	c, err := g.toolResults(text, p)
	if err == nil {
		err = distinct(c.Results)
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return nil, refused(r)
	}
	return c, err
}

// storableResult refuses what no row could hold, and no reader of a format bounds.
func storableResult(r *result.Result) error {
	texts := []struct{ what, is string }{{"tool", r.Tool}, {"address", r.Run.Address}}
	if b := r.Summary.Bulk; b != nil {
		texts = append(texts, struct{ what, is string }{"congestion_control", b.Throughput.CongestionControl})
	}
	for _, text := range texts {
		if len(text.is) > maxTextBytes {
			return fmt.Errorf("%s has %d bytes: want at most %d", text.what, len(text.is), maxTextBytes)
		}
	}
	c := &r.Run.Counts
	for _, n := range []int{c.Warmup, c.Sent, c.Received, c.Lost, c.Late, c.Duplicate, c.Reordered, c.PacingViolations} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("a count of %d: want 0 to %d", n, maxCount)
		}
	}
	tcp := r.Run.TCPInfo
	if tcp == nil {
		return nil
	}
	if tcp.Retransmits == foreign.Unknown {
		known := *tcp
		known.Retransmits, tcp = 0, &known
	}
	return storableTCP(tcp)
}

// plausible refuses times that cannot be those of a measurement.
func (g *Ingester) plausible(rs []result.Result) error {
	limit := g.Now().Add(aheadLimit)
	for i := range rs {
		r := &rs[i].Run
		for _, t := range []*time.Time{&r.PlannedStart, r.Start, r.End} {
			switch {
			case t == nil:
			case t.After(limit):
				return refuse(stageTooEarly, "runs[%d]: the time %s lies more than %s ahead of the app's clock", i, t.Format(time.RFC3339), aheadLimit)
			case t.Before(epoch):
				return refuse(stageForeign, "runs[%d]: the time %s lies before %s", i, t.Format(time.RFC3339), epoch.Format(time.DateOnly))
			}
		}
	}
	return nil
}

// distinct refuses two runs of one series in the same second: they would be one row.
func distinct(rs []result.Result) error {
	seen := map[string]int{}
	for i := range rs {
		key := fmt.Sprintf("%s|%d", rs[i].Series, rs[i].Slot.Unix())
		if first, ok := seen[key]; ok {
			return refuse(stageForeign, "runs[%d] and runs[%d] are of one series and began in the same second", first, i)
		}
		seen[key] = i
	}
	return nil
}
