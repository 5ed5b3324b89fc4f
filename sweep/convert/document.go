// Package convert turns the bytes of a result document into results. It does no input or
// output: the caller reads and stores.
//
// A body is hostile until it has been read. Its format is recognised by what it is, never by a
// name or a header; what it may cost in memory is settled before anything is built from it; and
// a refusal names the place, the reason and the remedy. A strict reader of our own walks the
// text first, along the shape that package wire's types and tags give, and only what it passed
// reaches encoding/json or encoding/xml, which are lenient where a measurement cannot be: they
// take the last of two equal names, match names in any case, and read what is absent as zero.
package convert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"isochrone/prober/wire"
)

// Document reads a result document of version 1, JSON or XML, gzipped or plain, with or without
// a UTF-8 byte-order mark, and validates it. Times come back in UTC, columns without entries nil.
// The error is a *Refusal.
func Document(body []byte) (*wire.Document, error) {
	p, err := Measure(body)
	if err != nil {
		return nil, err
	}
	return p.Document()
}

// Document is the function Document for a body that has been measured.
func (p *Packed) Document() (*wire.Document, error) {
	text, err := p.unpack()
	if err != nil {
		return nil, err
	}
	text, skipped := bytes.CutPrefix(text, []byte("\uFEFF"))
	d, err := Text(text)
	var r *Refusal
	if skipped && errors.As(err, &r) && r.Offset != NoOffset {
		r.Offset += int64(len("\uFEFF"))
	}
	return d, err
}

// Text is the function Document for a text that is UTF-8 already. The error is a *Refusal.
func Text(text []byte) (*wire.Document, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	normalize(d)
	if err := d.Validate(); err != nil {
		return nil, unlikely("", err)
	}
	if err := checkBulk(d); err != nil {
		return nil, unlikely("", err)
	}
	if err := checkProvenance(&d.Provenance); err != nil {
		return nil, unlikely("provenance", err)
	}
	return d, nil
}

// unlikely refuses a document that is well-formed and cannot be true.
func unlikely(where string, err error) *Refusal {
	const most = 2000 // a document can have thousands of faults
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return &Refusal{Stage: StageCheck, Text: text, Where: where, Offset: NoOffset, Remedy: remedyFormat}
}

func read(text []byte) (*wire.Document, error) {
	if err := checkEncoding(text); err != nil {
		return nil, err
	}
	switch trimmed := bytes.TrimLeft(text, blanks); {
	case len(trimmed) == 0:
		return nil, &Refusal{Stage: StageRecognise, Text: "the body is empty", Offset: NoOffset, Remedy: "send a result document"}
	case trimmed[0] == '{':
		return readJSON(text)
	case trimmed[0] == '<':
		return readXML(text)
	}
	return nil, &Refusal{Stage: StageRecognise, Text: "the body is neither a JSON object nor XML", Offset: NoOffset,
		Remedy: "send a result document of version 1 as JSON or XML, plain or gzipped"}
}

// blanks are the white space of JSON (RFC 8259) and XML alike.
const blanks = " \t\r\n"

func explain(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too early"
	case errors.Is(err, gzip.ErrHeader):
		return "no gzip header where one must be (is there something behind the stream?)"
	case errors.Is(err, gzip.ErrChecksum):
		return "its checksum does not match"
	}
	return err.Error()
}

func tooLarge(stage Stage, text string) *Refusal {
	return &Refusal{Stage: stage, TooLarge: true, Text: fmt.Sprintf("%s: the limit is %d bytes, unpacked", text, wire.MaxDocumentBytes),
		Offset: NoOffset, Remedy: remedySplit}
}

// checkEncoding refuses what is not UTF-8, and says what it is where that can be seen.
func checkEncoding(text []byte) error {
	refuse := func(stage Stage, at int64, text string) error {
		return &Refusal{Stage: stage, Text: text, Offset: at, Remedy: "send it as UTF-8"}
	}
	if bytes.HasPrefix(text, gzipMagic) {
		return &Refusal{Stage: StageRecognise, Text: "the gzip stream holds another gzip stream", Offset: NoOffset, Remedy: "pack it once"}
	}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return refuse(StageRecognise, 0, "the text is UTF-16")
	}
	if utf8.Valid(text) {
		return nil
	}
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return refuse(StageRead, int64(at), fmt.Sprintf("byte 0x%02x does not continue or begin a character of UTF-8", text[at]))
}

// normalize makes what JSON and XML write differently the same: an empty column is [] in JSON
// and nothing in XML, and times come in any zone.
func normalize(d *wire.Document) {
	d.Slot = d.Slot.UTC()
	for i := range d.Runs {
		r := &d.Runs[i]
		r.PlannedStart = r.PlannedStart.UTC()
		for _, t := range []*time.Time{r.Start, r.End} {
			if t != nil {
				*t = t.UTC()
			}
		}
		s := &r.Samples
		for _, c := range s.Columns() {
			if len(*c.Values) == 0 {
				*c.Values = nil
			}
		}
		if len(s.Failure) == 0 {
			s.Failure = nil
		}
		normalizeBulk(r.Bulk)
	}
}

func checkProvenance(p *wire.Provenance) error {
	if c := p.ClockErrorNS; c != nil && *c < 0 {
		return fmt.Errorf("clock_error_ns is %d: a bound is not negative", *c)
	}
	if s := p.CPUStealRatio; s != nil && !(*s >= 0 && *s <= 1) {
		return fmt.Errorf("cpu_steal_ratio is %g: want 0 to 1", *s)
	}
	return nil
}
