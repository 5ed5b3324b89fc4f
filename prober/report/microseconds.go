package report

import (
	"encoding/xml"
	"strconv"
)

// Microseconds is a duration, to the nanosecond.
type Microseconds float64

func (v Microseconds) text() string { return strconv.FormatFloat(float64(v), 'f', -1, 64) }

// MarshalXML writes a plain decimal number: the encoder's own would have exponents.
func (v Microseconds) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(v.text(), start)
}

// MarshalXMLAttr writes the same in an attribute.
func (v Microseconds) MarshalXMLAttr(name xml.Name) (xml.Attr, error) {
	return xml.Attr{Name: name, Value: v.text()}, nil
}
