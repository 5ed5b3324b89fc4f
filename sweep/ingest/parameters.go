package ingest

import (
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
)

// maxParameterBytes is the longest parameter: storage has room for a few of those beside a blob.
// Source and Target may name several hosts.
const maxParameterBytes = 1000

// XMLToJSON is the value of Parameters.XML that keeps unknown XML.
const XMLToJSON = "json"

// Parameters is what a foreign document came with: the query of POST /api/results. A document of a
// tool needs Source, Target and Path, and At where it does not say when it was measured; see
// convert.Names for their forms. One of our own names all of them, and is refused if it says
// otherwise. The probe is given without "ext.".
type Parameters struct {
	Source, Target, Path, Probe string
	At                          string // RFC 3339
	// XML is XMLToJSON to keep XML of no known format, as it is and as JSON beside it; empty to
	// refuse it.
	XML string
}

// fields are the parameters by their names.
func (p *Parameters) fields() []parameter {
	return []parameter{{"source", &p.Source}, {"target", &p.Target}, {"path", &p.Path}, {"probe", &p.Probe}, {"at", &p.At}, {"xml", &p.XML}}
}

type parameter struct {
	name string
	is   *string
}

// Set gives the parameter of a name its value; false when there is none of that name.
func (p *Parameters) Set(name, value string) bool {
	for _, f := range p.fields() {
		if f.name == name {
			*f.is = value
			return true
		}
	}
	return false
}

// Check refuses what cannot be a parameter.
func (p Parameters) Check() error {
	for _, f := range p.fields() {
		if len(*f.is) > maxParameterBytes {
			return fmt.Errorf("the parameter %s has %d bytes: want at most %d", f.name, len(*f.is), maxParameterBytes)
		}
	}
	for _, f := range []parameter{{"path", &p.Path}, {"probe", &p.Probe}} {
		if *f.is == "" {
			continue
		}
		if err := wire.ValidateName(f.name, fmt.Sprintf("%.60s", *f.is)); err != nil {
			return err
		}
	}
	if p.XML != "" && p.XML != XMLToJSON {
		return fmt.Errorf("the parameter xml is %.40q: want %q", p.XML, XMLToJSON)
	}
	_, err := p.names()
	return err
}

// names are the parameters as convert takes them.
func (p Parameters) names() (convert.Names, error) {
	n := convert.Names{Source: p.Source, Target: p.Target, Path: p.Path, Probe: p.Probe}
	if p.At != "" {
		at, err := time.Parse(time.RFC3339, p.At)
		if err != nil {
			return n, fmt.Errorf("the parameter at is %.60q: want a time like 2026-11-30T10:00:00Z", p.At)
		}
		n.At = at.UTC()
	}
	return n, n.Check()
}

// Meta is the inverse of ParametersOf.
func (p Parameters) Meta() map[string]string {
	meta := map[string]string{}
	for _, f := range p.fields() {
		if *f.is != "" {
			meta[f.name] = *f.is
		}
	}
	return meta
}

// ParametersOf are the parameters that lie beside a stored foreign document.
func ParametersOf(meta map[string]string) (p Parameters) {
	for _, f := range p.fields() {
		*f.is = meta[f.name]
	}
	return p
}

// agree refuses parameters that contradict a document of our own.
func (p Parameters) agree(d *wire.Document) error {
	differ := func(what, parameter, document string) error {
		if parameter == "" || parameter == document {
			return nil
		}
		return fmt.Errorf("the parameter %s is %.64q, and the document says %.64q", what, parameter, document)
	}
	err := errors.Join(differ("source", p.Source, d.Source), differ("probe", p.Probe, d.Probe))
	for i := range d.Runs {
		err = errors.Join(err, differ("target", p.Target, d.Runs[i].Target), differ("path", p.Path, d.Runs[i].Path))
		if err != nil {
			return err
		}
	}
	return err
}
