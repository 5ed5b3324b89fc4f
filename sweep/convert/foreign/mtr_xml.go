package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"isochrone/sweep/convert/xmltext"
)

// readMtrXML reads <MTR SRC="…" DST="…"><HUB COUNT="1" HOST="…"><Loss%>  0.0%</Loss%><Snt>…
func readMtrXML(text []byte, d *Document) error {
	x := mtrXML{d: d}
	r := xmltext.NewReader(bytes.NewReader(text), xmltext.Options{Roots: true, Lenient: true})
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if fault, ok := errors.AsType[*xmltext.Fault](err); ok {
			d.leave(Fault{Line: fault.Line, Offset: fault.Offset, Reason: fault.Text})
			return nil
		}
		if err != nil {
			return err
		}
		if err := x.take(t); err != nil {
			return err
		}
	}
}

// mtrXML gathers reports token by token.
type mtrXML struct {
	d      *Document
	depth  int
	report mtrReport
	hub    mtrHub
	text   strings.Builder
}

// maxMtrText is the most that is read of an element's text: a number.
const maxMtrText = 200

func (x *mtrXML) take(t *xmltext.Token) error {
	switch t.Kind {
	case xmltext.Start:
		x.depth++
		x.start(t)
	case xmltext.Text, xmltext.CDATA:
		if x.text.Len()+len(t.Text) <= maxMtrText {
			x.text.Write(t.Text)
		}
	case xmltext.End:
		x.depth--
		return x.end(string(t.Name))
	}
	return nil
}

func (x *mtrXML) start(t *xmltext.Token) {
	x.text.Reset()
	attribute := func(name string) string {
		v, _ := t.Attribute(name)
		return strings.TrimSpace(string(v))
	}
	switch {
	case x.depth == 1 && string(t.Name) == "MTR":
		x.report = mtrReport{src: attribute("SRC"), dst: attribute("DST"), line: t.Line}
	case x.depth == 2 && string(t.Name) == "HUB":
		x.hub = mtrHub{host: attribute("HOST"), where: fmt.Sprintf("MTR/HUB[%d]", x.report.hubs+1)}
	}
}

func (x *mtrXML) end(name string) error {
	switch {
	case x.depth == 2:
		x.hub.set(name, x.text.String())
	case x.depth == 1 && name == "HUB":
		x.report.hub(x.hub)
	case x.depth == 0 && name == "MTR":
		if x.report.dst == "" {
			x.d.leave(Fault{Line: x.report.line, Offset: NoOffset, Reason: "a report without its DST"})
			return nil
		}
		f, fault := x.report.finding()
		if fault != nil {
			x.d.leave(*fault)
			return nil
		}
		return x.d.add(*f)
	}
	return nil
}

// set takes a hub's figure. The loss is called Loss% by versions before 0.86.
func (h *mtrHub) set(name, text string) {
	text = strings.TrimSpace(text)
	q := Quantity{Text: text, Where: h.where + "/" + name}
	ms := q
	ms.Unit = "ms"
	switch name {
	case "Loss", "Loss%":
		if !strings.HasSuffix(text, "%") {
			q.Unit = "%"
		}
		h.loss, h.decimals = q, 1
	case "Snt":
		h.snt = q
	case "Drop":
		h.drop = q
	case "Rcv":
		h.rcv = q
	case "Best":
		h.best = ms
	case "Avg":
		h.avg = ms
	case "Wrst":
		h.wrst = ms
	case "StDev":
		h.stddev = ms
	}
}
