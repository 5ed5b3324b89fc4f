package foreign

import (
	"bytes"
	"io"

	"isochrone/sweep/convert/xmltext"
)

// jmeter reads Apache JMeter's result files. Column and attribute names are those of its CSVSaveService,
// SampleResultConverter and, for version 2.0, OldSaveService.
var jmeter = &Format{Name: "jmeter", Title: "JMeter's result files (JTL), XML and CSV", Streams: true,
	recognise: isJTL,
	read:      readJTL,
}

// jtlColumn is what JMeter saves of a sample, as far as anything is made of it.
type jtlColumn uint8

const (
	jtlTime jtlColumn = iota
	jtlElapsed
	jtlLabel
	jtlCode
	jtlMessage
	jtlThread
	jtlSuccess
	jtlReason // of an assertion that failed
	jtlBytes
	jtlSentBytes
	jtlActive // threads, of all groups
	jtlURL
	jtlSamples // that one row sums up
	jtlErrors
	jtlHost
	jtlIdle
	jtlColumns
	jtlNone = jtlColumns
)

// jtlSample is one row or element as the file has it. A field is nil where the file does not tell it;
// all are good until the next sample is read.
type jtlSample struct {
	field  [jtlColumns][]byte
	line   int
	offset int64
}

// isJTL wants of XML the root element and a version or a sample in it, and of CSV a header or a first
// row of the default columns.
func isJTL(h *Head) bool {
	if len(h.text) == 0 || h.text[0] == '{' || h.text[0] == '[' {
		return false
	}
	if h.text[0] == '<' {
		return h.root == jtlRoot && startsAsJTL(h.text)
	}
	_, layout, _ := openJTLTable(bytes.NewReader(h.text))
	return layout != nil
}

// startsAsJTL says whether the root element has a version, or its first element the attributes of a sample.
func startsAsJTL(text []byte) bool {
	r := xmltext.NewReader(bytes.NewReader(text), jtlOptions)
	for {
		t, err := r.Next()
		if err != nil {
			return false
		}
		if t.Kind != xmltext.Start {
			continue
		}
		if string(t.Name) != jtlRoot {
			return isJTLSample(t)
		}
		if _, ok := t.Attribute("version"); ok {
			return true
		}
	}
}

func readJTL(in io.Reader, d *Document) error {
	head := make([]byte, 4096)
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	head = head[:n]
	in = io.MultiReader(bytes.NewReader(head), in)
	j := newJTLFold(d)
	if start := bytes.TrimLeft(head, " \t\r\n"); len(start) > 0 && start[0] == '<' {
		err = j.readXML(in)
	} else {
		err = j.readTable(in)
	}
	if err != nil {
		return err
	}
	return j.findings()
}
