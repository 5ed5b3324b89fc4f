package foreign

import (
	"bytes"
	"fmt"
	"strings"

	"isochrone/sweep/convert/jsontext"
)

// readMtrJSON reads reports, one behind the other.
func readMtrJSON(text []byte, d *Document) error {
	line := 1
	for {
		rest := bytes.TrimLeft(text, " \t\r\n")
		if line += bytes.Count(text[:len(text)-len(rest)], []byte("\n")); len(rest) == 0 {
			return nil
		}
		t, fault := jsontext.Parse(rest, jsontext.Options{NaN: true, Trailing: true})
		root := t.Root()
		reports := []jsontext.Value{root}
		if root.Kind() == jsontext.Array {
			reports = reports[:0]
			for _, v := range root.Values() {
				reports = append(reports, v)
			}
		}
		for _, v := range reports {
			if err := mtrObject(v.Get("report"), line, d); err != nil {
				return err
			}
		}
		if fault != nil {
			// Versions before 0.95 do not end the list of a report without hubs: "hubs": [ } }
			if strings.Trim(string(rest[fault.Offset:]), "} \t\r\n") != "" || !bytes.HasSuffix(bytes.TrimRight(rest[:fault.Offset], " \t\r\n"), []byte("[")) || fault.Cut {
				d.leave(Fault{Line: line + fault.Line - 1, Offset: NoOffset, Reason: fault.Text})
			}
			return nil
		}
		next := t.Rest()
		line += bytes.Count(rest[:len(rest)-len(next)], []byte("\n"))
		text = next
		if d.lost(MaxFindings, Fault{Line: line, Offset: NoOffset}) {
			return nil
		}
	}
}

// mtrObject takes one report. Of one that was cut inside its hubs the destination may be missing.
func mtrObject(v jsontext.Value, line int, d *Document) error {
	about, hubs := v.Get("mtr"), v.Get("hubs")
	r := mtrReport{src: about.Get("src").Text(), dst: about.Get("dst").Text(), line: line + max(v.Line()-1, 0)}
	if r.dst == "" || hubs.Kind() != jsontext.Array {
		d.leave(Fault{Line: r.line, Offset: NoOffset, Reason: "a report without its dst or its hubs"})
		return nil
	}
	n := hubs.Len()
	for i, h := range hubs.Values() {
		where := fmt.Sprintf("report.hubs[%d]", i)
		if h.Kind() != jsontext.Object || h.Cut() {
			d.leave(Fault{Line: line + h.Line() - 1, Offset: NoOffset, Where: where, Reason: "a hub that is cut off, so that the last one need not be the destination"})
			return nil
		}
		if fault := h.Twice("host", "Snt", "Loss%", "Best", "Avg", "Wrst", "StDev"); fault != nil {
			d.leave(Fault{Line: line + fault.Line - 1, Offset: NoOffset, Where: where, Reason: fault.Text})
			return nil
		}
		r.hub(mtrHubOf(h, where))
	}
	if hubs.Cut() && n > 0 {
		d.leave(Fault{Line: r.line, Offset: NoOffset, Where: "report.hubs", Reason: "the list is cut off, so that its last hub need not be the destination"})
		return nil
	}
	f, fault := r.finding()
	if fault != nil {
		d.leave(*fault)
		return nil
	}
	return d.add(*f)
}

func mtrHubOf(h jsontext.Value, where string) mtrHub {
	get := func(name, unit string) Quantity { return quantityOf(h.Get(name), unit, where+"."+name) }
	out := mtrHub{host: strings.TrimSpace(h.Get("host").Text()), where: where,
		loss: get("Loss%", "%"), snt: get("Snt", ""), drop: get("Drop", ""), rcv: get("Rcv", ""),
		best: get("Best", "ms"), avg: get("Avg", "ms"), wrst: get("Wrst", "ms"), stddev: get("StDev", "ms")}
	// Two decimals by old versions; new ones write three, without the zeros at the end.
	_, fraction, _ := strings.Cut(out.loss.Text, ".")
	out.decimals = max(len(strings.TrimRight(fraction, "% ")), 2)
	return out
}
