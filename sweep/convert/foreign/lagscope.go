package foreign

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/convert/jsontext"
)

// lagscope times messages that go there and back on one TCP connection, and writes whole
// microseconds, rounded down. What it prints is not read: its percentiles are not by nearest rank,
// and its intervals hide what is inside them. Neither file says who measured, when, or how many
// messages were sent.
//
// Source: microsoft/lagscope, src/latencies_stats.c.
var lagscope = &Format{Name: "lagscope", Title: "lagscope -P with a file name (histogram) and -R (raw values)",
	recognise: isLagscope,
	read:      readLagscope,
}

const lagscopeHeader = "Index, Latency(us)"

func isLagscope(h *Head) bool {
	if root := h.json; root.Kind() == jsontext.Object {
		first := root.Get("latencies").At(0)
		return root.Len() == 1 && first.Len() == 2 && first.Has("latency", "frequency")
	}
	lines := h.lines(1)
	return len(lines) == 1 && strings.TrimSpace(lines[0]) == lagscopeHeader
}

func readLagscope(in io.Reader, d *Document) error {
	b := bufio.NewReader(in)
	for {
		c, err := b.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		if err := b.UnreadByte(); err != nil {
			return err
		}
		if c == '{' {
			return readLagscopeHistogram(b, d)
		}
		return readLagscopeValues(b, d)
	}
}

// lagscopeFinding is what both files have in common: n values.
func lagscopeFinding(n int, q Quantity) Finding {
	f := Finding{Tool: "lagscope"}
	f.Run.Kind = wire.KindTCP
	f.Run.Counts.Received, f.Counted.Received = n, true
	f.explain("received_count", Quantity{Text: fmt.Sprint(n), Where: q.Where})
	return f
}

func readLagscopeHistogram(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	t, cut := jsontext.Parse(text, jsontext.Options{})
	counts, total := map[int64]int{}, 0
	for i, v := range t.Root().Get("latencies").Values() {
		if v.Cut() {
			break
		}
		where := fmt.Sprintf("latencies[%d]", i)
		n, err := lagscopeBin(counts, v, where)
		if err != nil {
			d.leave(*jsonFault(err, v, where))
			continue
		}
		if total += n; total > math.MaxInt32 {
			return &Fault{Line: v.Line(), Offset: v.Offset(), Where: where, Reason: "more than 2147483647 round trips"}
		}
	}
	if cut != nil {
		d.leave(Fault{Line: cut.Line, Offset: cut.Offset, Where: "latencies", Reason: cut.Text})
	}
	if total == 0 {
		return nil
	}
	q := Quantity{Text: fmt.Sprintf("histogram of %d", total), Unit: "us", Where: "latencies[].latency"}
	f := lagscopeFinding(total, Quantity{Where: "latencies[].frequency"})
	f.Bins = summary.DistributionOf(counts)
	f.computed(total, false, q)
	return d.add(f)
}

// lagscopeBin adds one entry of the histogram to the counts.
func lagscopeBin(counts map[int64]int, v jsontext.Value, where string) (int, error) {
	latency, err := quantityOf(v.Get("latency"), "us", where+".latency").nanoseconds()
	if err != nil {
		return 0, err
	}
	n, err := quantityOf(v.Get("frequency"), "", where+".frequency").count()
	if err != nil {
		return 0, err
	}
	if latency == nil || n == nil {
		return 0, errors.New("want the two numbers latency and frequency")
	}
	if *latency == 0 {
		return 0, errors.New("a round trip of less than a microsecond cannot be")
	}
	counts[int64(math.Round(*latency))] += *n
	return *n, nil
}

// jsonFault is a Fault at a JSON value, with the place of the error where that is known better.
func jsonFault(err error, v jsontext.Value, where string) *Fault {
	f := &Fault{Line: v.Line(), Offset: v.Offset(), Where: where, Reason: err.Error()}
	if inner, ok := errors.AsType[*Fault](err); ok {
		f.Where, f.Reason = inner.Where, inner.Reason
	}
	return f
}

func readLagscopeValues(in io.Reader, d *Document) error {
	lines, samples, first := newNumberedLines(in), sampleList{room: newSampleRoom()}, 0
	for {
		line, err := lines.read()
		if err == io.EOF {
			break
		}
		if err == nil && (strings.TrimSpace(line) == "" || strings.TrimSpace(line) == lagscopeHeader) {
			continue
		}
		if err == nil {
			err = lagscopeValue(&samples, line, lines)
		}
		if f, ok := errors.AsType[*Fault](err); ok {
			d.leave(*f)
		} else if err != nil {
			return err
		} else if first == 0 {
			first = lines.line
		}
	}
	if samples.n == 0 {
		return nil
	}
	where := fmt.Sprintf("lines %d to %d", first, lines.line-1)
	f := lagscopeFinding(samples.n, Quantity{Where: where})
	samples.into(&f, Quantity{Text: fmt.Sprintf("%d values", samples.n), Unit: "us", Where: where})
	return d.add(f)
}

// lagscopeValue reads "12, 345". A last line without its line feed may have lost digits.
func lagscopeValue(samples *sampleList, line string, lines *numberedLines) error {
	if !lines.ended {
		return lines.fault("the last line is cut off")
	}
	index, value, ok := strings.Cut(line, ",")
	n, err := Quantity{Text: index}.in(map[string]float64{"": 1}, 0, math.MaxUint32, "an index")
	if !ok || err != nil || n == nil {
		return lines.fault(fmt.Sprintf("%.60q: want an index and a latency", line))
	}
	ns, err := Quantity{Text: value, Unit: "us"}.nanoseconds()
	if err != nil || ns == nil {
		return lines.fault(fmt.Sprintf("%.60q is no latency", value))
	}
	if *ns == 0 {
		return lines.fault("a round trip of less than a microsecond cannot be")
	}
	if err := samples.add(int64(math.Round(*ns))); err != nil {
		return lines.fault(err.Error())
	}
	return nil
}
