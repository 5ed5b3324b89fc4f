package foreign

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// raceEnabled says that the race detector makes everything some ten times slower.
var raceEnabled bool

// generated is a file of any size that is made while it is read: 1,000 threads, 20 labels, two days.
type generated struct {
	head, tail string
	row        func(b []byte, i int) []byte
	left       int // bytes of rows
	rows       int
	rest       []byte
	buffer     []byte
	read       func() // every few megabytes
	quiet      int
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		switch {
		case g.head != "":
			g.rest, g.head = []byte(g.head), ""
		case g.left > 0:
			g.buffer = g.buffer[:0]
			for len(g.buffer) < 32<<10 {
				g.buffer = g.row(g.buffer, g.rows)
				g.rows++
			}
			g.left -= len(g.buffer)
			g.rest = g.buffer
		case g.tail != "":
			g.rest, g.tail = []byte(g.tail), ""
		default:
			return 0, io.EOF
		}
		if g.quiet += len(g.rest); g.quiet > 8<<20 {
			g.quiet = 0
			g.read()
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func rowOfXML(b []byte, i int) []byte {
	return fmt.Appendf(b, "<httpSample t=\"%d\" it=\"0\" lt=\"%d\" ct=\"1\" ts=\"%d\" s=\"%t\" lb=\"Request %d\" rc=\"200\" rm=\"OK\" tn=\"users 1-%d\" dt=\"text\" by=\"%d\" sby=\"120\" ng=\"1000\" na=\"1000\">\n  <java.net.URL>http://192.0.2.1/</java.net.URL>\n</httpSample>\n",
		5+i*7919%3000, i%50, 1796068800000+i*40, i%500 != 0, i%20, i%1000, 500+i%900)
}

func rowOfTable(b []byte, i int) []byte {
	return fmt.Appendf(b, "%d,%d,Request %d,200,OK,users 1-%d,text,%t,,%d,120,1000,1000,http://192.0.2.1/,%d,0,1\n", 1796068800000+i*40, 5+i*7919%3000, i%20, i%1000, i%500 != 0, 500+i%900, i%50)
}

func TestJMeterFilesOfAnySizeTakeNoMoreMemory(t *testing.T) {
	size := 200 << 20
	if raceEnabled {
		size = 24 << 20
	}
	for name, g := range map[string]*generated{
		"xml": {head: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n", tail: "</testResults>\n", row: rowOfXML},
		"csv": {head: "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n", row: rowOfTable},
	} {
		t.Run(name, func(t *testing.T) {
			var begin, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&begin)
			peak := uint64(0)
			g.left, g.read = size, func() {
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
			}
			d, err := jmeter.Read(g)
			if err != nil {
				t.Fatal(err)
			}
			sent, lost := 0, 0
			for _, f := range d.Findings {
				sent, lost = sent+f.Run.Counts.Sent, lost+f.Run.Counts.Lost
			}
			if sent != g.rows || lost != (g.rows+499)/500 || d.LeftCount != 0 {
				t.Errorf("%d of %d rows, %d failed, left: %v", sent, g.rows, lost, d.Left)
			}
			grown := int64(peak) - int64(begin.HeapAlloc)
			t.Logf("%d MB, %d rows, %d findings: the heap grew by %.1f MB at most", size>>20, g.rows, len(d.Findings), float64(grown)/(1<<20))
			if grown > 64<<20 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		})
	}
}

func TestJMeterLimits(t *testing.T) {
	const head = "timeStamp,elapsed,label\n"
	for reason, rows := range map[string]func(b *strings.Builder, i int){
		"different elapsed times": func(b *strings.Builder, i int) { fmt.Fprintf(b, "1506543636891,%d,x\n", i) },
		"labels and hours":        func(b *strings.Builder, i int) { fmt.Fprintf(b, "1506543636891,1,x%d\n", i) },
	} {
		var b strings.Builder
		b.WriteString(head)
		for i := range maxJTLValues + 1 {
			rows(&b, i)
		}
		if _, err := jmeter.Read(strings.NewReader(b.String())); err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "split") {
			t.Errorf("%s: %v", reason, err)
		}
	}
	long := strings.Repeat("ü", 2000)
	d := mustConvert(t, jmeter, []byte(head+"1506543636891,1,"+long+"\n1506543636891,1,"+long+"x\n"))
	if len(d.Findings) != 2 || len(d.Findings[0].Variant) > maxJTLName+40 {
		t.Errorf("%d findings of long labels, the first of %d bytes", len(d.Findings), len(d.Findings[0].Variant))
	}
	d = mustConvert(t, jmeter, []byte(head+"1506543636891,1,\""+strings.Repeat("y", maxJTLRecord)+"\"\n1506543636891,1,z\n"))
	if len(d.Findings) != 1 || d.LeftCount != 1 || d.Left[0].Line != 2 {
		t.Errorf("a row that is too long: %+v", d)
	}
}

func BenchmarkJMeter(b *testing.B) {
	for name, row := range map[string]func([]byte, int) []byte{"xml": rowOfXML, "csv": rowOfTable} {
		b.Run(name, func(b *testing.B) {
			text := []byte("<testResults version=\"1.2\">\n")
			if name == "csv" {
				text = nil
			}
			for i := 0; len(text) < 8<<20; i++ {
				text = row(text, i)
			}
			if name == "xml" {
				text = append(text, "</testResults>"...)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jmeter.Read(strings.NewReader(string(text))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
