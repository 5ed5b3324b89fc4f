package foreign

import (
	"fmt"
	"strings"

	"isochrone/sweep/convert/jsontext"
)

// ntttcpNames are JSON's names of what XML has under another.
var ntttcpNames = map[string]string{
	"parameters/udp": "parameters/udp", "parameters/warmupTime": "parameters/warmup_time",
	"totalBytes": "total_bytes", "realTime": "realtime", "throughputs": "throughput", "packets_retransmitted": "packets_retransmitted",
	"tcpAverageRtt metric": "tcp_average_rtt", "threads/throughputs": "thread/throughput", "threads": "thread",
}

// ntttcpJSON reads documents one behind the other. All numbers in them are strings.
func ntttcpJSON(text []byte, d *Document) ([]*ntttcpEnd, error) {
	var out []*ntttcpEnd
	offset, line := int64(0), 1
	for rest := text; ; {
		parsed, fault := jsontext.Parse(rest, jsontext.Options{NaN: true, Trailing: true})
		root := parsed.Root()
		for _, name := range ntttcpRoots {
			if v := root.Get(name); v.Kind() == jsontext.Object && v.Has("computername") {
				e := newNtttcpEnd(name, v.Get("computername").Text(), v.Get("version").Text())
				e.line = line + v.Line() - 1
				e.walk(v, "")
				out = append(out, e)
			}
		}
		if fault != nil {
			d.leave(Fault{Line: line + fault.Line - 1, Offset: offset + fault.Offset, Reason: fault.Text})
			return out, nil
		}
		next := parsed.Rest()
		passed := rest[:len(rest)-len(next)]
		offset, line = offset+int64(len(passed)), line+strings.Count(string(passed), "\n")
		switch {
		case len(next) == 0:
			return out, nil
		case next[0] != '{' || len(out) > MaxFindings:
			d.leave(Fault{Line: line, Offset: offset, Reason: fmt.Sprintf("%d bytes behind the documents are left out", len(next))})
			return out, nil
		}
		rest = next
	}
}

// walk takes the figures of a JSON document under XML's names.
func (e *ntttcpEnd) walk(v jsontext.Value, path string) {
	for name, inner := range v.Members() {
		at := name
		if path != "" {
			at = path + "/" + name
		}
		xml, known := ntttcpNames[at]
		switch {
		case at == "parameters":
			e.walk(inner, at)
		case !known:
		case at == "threads":
			for _, thread := range inner.Values() {
				e.walk(thread, at)
				e.take(xml, "", "")
			}
		case inner.Kind() == jsontext.Array:
			for _, figure := range inner.Values() {
				e.take(xml, figure.Get("metric").Text(), figure.Get("value").Text())
			}
		case inner.Kind() == jsontext.Object:
			e.take(xml, inner.Get("metric").Text(), inner.Get("value").Text())
		default:
			e.take(xml, "", inner.Text())
		}
	}
}
