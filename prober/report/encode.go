package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
)

// JSON is the document as JSON, indented, a column of samples on one line each.
func (d Document) JSON() ([]byte, error) {
	samples := d.Samples
	d.Samples = nil
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	if samples == nil {
		return append(b, '\n'), nil
	}
	// A hundred thousand numbers on a line each would hide the figures from who reads the file.
	columns, err := json.Marshal(samples)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	var out bytes.Buffer
	out.Write(bytes.TrimSuffix(b, []byte("\n}")))
	out.WriteString(",\n  \"samples\": ")
	out.Write(bytes.ReplaceAll(columns, []byte("],\""), []byte("],\n    \"")))
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}

// XML is the document as XML, indented.
func (d Document) XML() ([]byte, error) {
	b, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing XML: %w", err)
	}
	return append(append([]byte(xml.Header), b...), '\n'), nil
}
