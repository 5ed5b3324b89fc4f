package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/clbanning/mxj/v2"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/convert/xmljson"
)

// The bars of reading what others wrote. A ratio is our speed over the peer's.
const (
	xmlJSONBar  = 2
	jtlBar      = 1
	documentBar = 1
)

// convert measures the readers of documents beside libraries that read the same: XML into JSON
// beside mxj, JMeter's result files beside encoding/xml, documents beside encoding/json; and the
// memory that a file of a gigabyte takes.
func (b *bench) convert(ctx context.Context) error {
	contests, err := b.contests()
	if err != nil {
		return err
	}
	for _, c := range contests {
		if err := b.contest(ctx, c); err != nil {
			return err
		}
	}
	if err := b.jtlHeap(); err != nil {
		return err
	}
	return b.jtlResident(ctx)
}

// contest is one text that we and a peer read.
type contest struct {
	name       string // of the figure
	peer       string
	bar        float64
	text       []byte
	ours, bare func(text []byte) error
}

// speed is what reading a text came to.
type speed struct{ seconds, allocations float64 } // of one reading

// leastRound is how long a reader is run in a round: texts of some kilobytes are read many times.
const leastRound = 500 * time.Millisecond

func measure(text []byte, read func([]byte) error) (speed, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, begin := 0, time.Now()
	for time.Since(begin) < leastRound {
		if err := read(text); err != nil {
			return speed{}, err
		}
		n++
	}
	took := time.Since(begin).Seconds()
	runtime.ReadMemStats(&after)
	return speed{took / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)}, nil
}

// contest runs the two in turn, each first in every other round.
func (b *bench) contest(ctx context.Context, c contest) error {
	var ratios, allocations, rates []float64
	megabytes := float64(len(c.text)) / 1e6
	for i := range b.rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		readers, got := []func([]byte) error{c.ours, c.bare}, [2]speed{}
		for k := range readers {
			k = (k + i) % 2
			var err error
			if got[k], err = measure(c.text, readers[k]); err != nil {
				return fmt.Errorf("reading %s, %s: %w", c.name, []string{"ours", c.peer}[k], err)
			}
		}
		ours, bare := got[0], got[1]
		b.say("round %d: %s, %.3f MB: %.1f MB/s, %.0f allocations; %s %.1f MB/s, %.0f allocations", i+1, c.name, megabytes,
			megabytes/ours.seconds, ours.allocations, c.peer, megabytes/bare.seconds, bare.allocations)
		ratios, allocations, rates = append(ratios, bare.seconds/ours.seconds), append(allocations, ours.allocations/bare.allocations), append(rates, megabytes/ours.seconds)
	}
	b.figure(c.name, median(ratios), "ratio", &bar{limit: c.bar, least: true})
	b.figure(c.name+"_allocations", median(allocations), "ratio", nil)
	b.figure(c.name+"_speed", median(rates), "MB/s", nil)
	return nil
}

func (b *bench) contests() ([]contest, error) {
	jtl := jtlText(8 << 20)
	ntttcp, err := b.ntttcpText()
	if err != nil {
		return nil, err
	}
	document := largestDocument()
	asJSON, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encoding a document: %w", err)
	}
	asXML, err := xml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encoding a document: %w", err)
	}
	return []contest{
		{"convert_xmljson_to_mxj_jtl", "mxj", xmlJSONBar, jtl, ourXMLJSON, mxjXMLJSON},
		{"convert_xmljson_to_mxj_ntttcp", "mxj", xmlJSONBar, ntttcp, ourXMLJSON, mxjXMLJSON},
		{"convert_xmljson_to_mxj_document", "mxj", xmlJSONBar, asXML, ourXMLJSON, mxjXMLJSON},
		{"convert_jtl_to_encoding_xml", "encoding/xml", jtlBar, jtl, ourJTL, bareJTL},
		{"convert_document_to_encoding_json", "encoding/json", documentBar, asJSON, ourDocument, bareDocument},
	}, nil
}

func ourXMLJSON(text []byte) error {
	var out bytes.Buffer
	if err := xmljson.Convert(&out, bytes.NewReader(text), xmljson.Options{}); err != nil {
		return err
	}
	return worthIt(out.Len(), len(text))
}

func mxjXMLJSON(text []byte) error {
	m, err := mxj.NewMapXml(text)
	if err != nil {
		return err
	}
	out, err := m.Json()
	if err != nil {
		return err
	}
	return worthIt(len(out), len(text))
}

// worthIt fails a reader that wrote next to nothing.
func worthIt(out, in int) error {
	if out < in/4 {
		return fmt.Errorf("%d bytes of XML came to %d bytes of JSON", in, out)
	}
	return nil
}

func ourJTL(text []byte) error {
	_, err := readJTL(bytes.NewReader(text))
	return err
}

// readJTL says how many rows a result file came to.
func readJTL(in io.Reader) (int, error) {
	f, err := convert.ReadForeign(in, "bench", convert.Names{Source: "here", Target: "there", Path: "public"})
	if err != nil {
		return 0, err
	}
	if f.LeftCount > 0 {
		return 0, &f.Left[0]
	}
	return len(f.Results), nil
}

// jtlElement is a sample for encoding/xml: what our reader takes of it.
type jtlElement struct {
	Elapsed   int64  `xml:"t,attr"`
	Idle      int64  `xml:"it,attr"`
	Stamp     int64  `xml:"ts,attr"`
	Success   bool   `xml:"s,attr"`
	Label     string `xml:"lb,attr"`
	Code      string `xml:"rc,attr"`
	Message   string `xml:"rm,attr"`
	Thread    string `xml:"tn,attr"`
	Bytes     int64  `xml:"by,attr"`
	SentBytes int64  `xml:"sby,attr"`
	Threads   int64  `xml:"na,attr"`
	URL       string `xml:"java.net.URL"`
}

// bareJTL decodes every sample and adds up nothing but one sum.
func bareJTL(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	n, sum := 0, int64(0)
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local == "testResults" {
			continue
		}
		var s jtlElement
		if err := d.DecodeElement(&s, &start); err != nil {
			return err
		}
		n, sum = n+1, sum+s.Elapsed
	}
	if n == 0 || sum == 0 {
		return errors.New("no samples")
	}
	return nil
}

func ourDocument(body []byte) error {
	_, err := convert.Document(body)
	return err
}

func bareDocument(body []byte) error {
	var d wire.Document
	return json.Unmarshal(body, &d)
}
