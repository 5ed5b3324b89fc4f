package foreign

import (
	"errors"
	"fmt"
	"io"
	"net/url"

	"isochrone/sweep/convert/xmltext"
)

// jtlRoot is the root element of JMeter's XML.
const jtlRoot = "testResults"

// jtlOptions take several roots, because JMeter appends to files, and references to characters that XML
// has not, because it writes what servers answer.
var jtlOptions = xmltext.Options{Lenient: true, Roots: true}

// jtlAttribute is the column of an attribute: the names of SampleResultConverter, and those of version
// 2.0. rs was written for rc by 2.1 and 2.1.1.
func jtlAttribute(name []byte) jtlColumn {
	switch string(name) {
	case "t", "time":
		return jtlElapsed
	case "ts", "timeStamp":
		return jtlTime
	case "lb", "label":
		return jtlLabel
	case "rc", "rs", "responseCode":
		return jtlCode
	case "rm", "responseMessage":
		return jtlMessage
	case "tn", "threadName":
		return jtlThread
	case "s", "success":
		return jtlSuccess
	case "by":
		return jtlBytes
	case "sby":
		return jtlSentBytes
	case "na":
		return jtlActive
	case "sc":
		return jtlSamples
	case "ec":
		return jtlErrors
	case "hn":
		return jtlHost
	case "it":
		return jtlIdle
	}
	return jtlNone
}

// isJTLSample tells a sample from what stands beside it: an assertion's result, headers, data.
func isJTLSample(t *xmltext.Token) bool {
	var known [jtlColumns]bool
	for i := range t.Attributes {
		if c := jtlAttribute(t.Attributes[i].Name); c != jtlNone {
			known[c] = true
		}
	}
	return known[jtlElapsed] && (known[jtlTime] || known[jtlLabel])
}

// jtlElements follows the elements of a file.
type jtlElements struct {
	*jtlFold
	depth   int
	encoded bool      // version 1.0 writes texts as a URL's query has them
	group   *jtlGroup // of the sample that is open; nil where it was left out
	text    jtlColumn // of it that is the text which follows: its address, or why an assertion failed
}

// readXML reads XML. Samples inside a sample are parts of it: JMeter counts the outer one alone.
func (j *jtlFold) readXML(in io.Reader) error {
	e := &jtlElements{jtlFold: j, text: jtlNone}
	r := xmltext.NewReader(in, jtlOptions)
	for {
		t, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if fault, ok := errors.AsType[*xmltext.Fault](err); ok {
			j.d.leave(Fault{Line: fault.Line, Offset: fault.Offset, Reason: fault.Text + "; nothing behind it is read"})
			return nil
		}
		if err != nil {
			return err
		}
		if err := e.token(t); err != nil {
			return err
		}
	}
}

func (e *jtlElements) token(t *xmltext.Token) error {
	switch t.Kind {
	case xmltext.Start:
		e.depth++
		return e.start(t)
	case xmltext.End:
		e.depth--
		e.text = jtlNone
	case xmltext.Text, xmltext.CDATA:
		switch e.text {
		case jtlURL:
			e.group.to(t.Text)
		case jtlReason:
			e.group.because(t.Text)
		}
	}
	return nil
}

func (e *jtlElements) start(t *xmltext.Token) (err error) {
	e.text = jtlNone
	switch e.depth {
	case 1:
		if string(t.Name) != jtlRoot {
			return &Fault{Line: t.Line, Offset: t.Offset, Reason: fmt.Sprintf("the root element is %.40q, not %s", t.Name, jtlRoot)}
		}
		version, _ := t.Attribute("version")
		e.encoded = string(version) == "1.0"
	case 2:
		e.group, err = e.sample(t)
	default:
		if e.group == nil {
			return nil
		}
		if isJTLSample(t) {
			e.group.inside++
		}
		switch name := string(t.Name); {
		case e.depth == 3 && (name == "java.net.URL" || name == "url"):
			e.text = jtlURL
		case e.depth == 4 && name == "failureMessage":
			e.text = jtlReason
		}
	}
	return err
}

func (e *jtlElements) sample(t *xmltext.Token) (*jtlGroup, error) {
	s := jtlSample{line: t.Line, offset: t.Offset}
	for i := range t.Attributes {
		if c := jtlAttribute(t.Attributes[i].Name); c != jtlNone {
			s.field[c] = t.Attributes[i].Value
		}
	}
	if e.encoded {
		for _, c := range []jtlColumn{jtlLabel, jtlCode, jtlMessage, jtlThread} {
			if plain, err := url.QueryUnescape(string(s.field[c])); err == nil && s.field[c] != nil {
				s.field[c] = []byte(plain)
			}
		}
	}
	return e.add(&s)
}
