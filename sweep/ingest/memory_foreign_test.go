package ingest_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"isochrone/prober/wire"
	"isochrone/sweep/ingest"
)

// filled is a text of n bytes: a beginning, a part many times, and an end.
func filled(n int, head, part, tail string) []byte {
	return []byte(head + strings.Repeat(part, (n-len(head)-len(tail))/len(part)) + tail)
}

// hostile are texts of other tools that take much memory to read, each a way of its own.
func hostile(n int) map[string][]byte {
	histogram := `{"type":"lagscope","latency":[` // no tool's, and read to its end before that is known
	hub := `{"count":1,"host":"a"},`
	mtr := `{"report":{"mtr":{"src":"vm","dst":"192.0.2.1","tests":10},"hubs":[`
	return map[string][]byte{
		"a wide array":       filled(n, mtr, "1,", `1]}}`),
		"many small objects": filled(n, mtr, "{},", `{}]}}`),
		"many hubs":          filled(n, mtr, hub, hub[:len(hub)-1]+`]}}`),
		"no format":          filled(n, histogram, "[],", `1]}`),
		"empty elements":     filled(n, "<r>", "<a/>", "</r>"),
		"small elements":     filled(n, "<r>", "<a>1</a>", "</r>"),
		"attributes":         filled(n, "<r>", "<a b='' c='' d='' e=''/>", "</r>"),
		"one long text":      filled(n, "<r>", `"`, "</r>"),
		"escaped texts":      filled(n, "<r>", "\u0085\u0085\u0085<a/>", "</r>"),
		"keys that grow":     filled(n, "<r xmlns='u' xmlns:"+strings.Repeat("p", 100)+"='u'>", "<a><b/><c/></a>", "</r>"),
	}
}

// unnamed is XML in which no two names, or no two namespaces, are the same.
func unnamed(n int, format string) []byte {
	var b bytes.Buffer
	b.WriteString("<r>")
	for i := 0; b.Len() < n-100; i++ {
		fmt.Fprintf(&b, format, i)
	}
	b.WriteString("</r>")
	return b.Bytes()
}

// wide is a text as UTF-16 with a byte-order mark.
func wide(text []byte) []byte {
	out := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(string(text))) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

var kept = ingest.Parameters{XML: ingest.XMLToJSON}

// A hostile document alone takes no more than all of the budget, and little more. Bodies are packed: what
// lies here beside would be counted, as garbage that may be as much again.
func TestNoForeignDocumentTakesMoreThanTheBudget(t *testing.T) {
	const limit, n = 256 << 20, wire.MaxDocumentBytes
	h := heavyStore{dropped: &sync.Map{}}
	bodies := map[string][]byte{}
	for what, text := range hostile(n) {
		bodies[what] = zipTB(t, text)
	}
	bodies["names"] = zipTB(t, unnamed(n, "<n%x/>"))
	bodies["namespaces"] = zipTB(t, unnamed(n, "<a xmlns='%x'/>"))
	bodies["UTF-16"] = zipTB(t, wide(filled(n/2-1, "<r>", "<a/>", "</r>")))
	bodies["base64 of gzip"] = []byte(base64.StdEncoding.EncodeToString(bodies["many hubs"]))
	bodies["an envelope"] = []byte(`{"$content-type":"text/xml","$content":"` + base64.StdEncoding.EncodeToString(bodies["empty elements"]) + `"}`)
	bodies["gzip of base64"] = zipTB(t, []byte(base64.StdEncoding.EncodeToString(filled(n/4*3, "<r>", "<a/>", "</r>"))))
	for what, body := range bodies {
		grown := peak(func() {
			c, err := h.ingester(1).Convert(t.Context(), body, kept)
			if _, ok := errors.AsType[*ingest.Refused](err); !ok {
				t.Errorf("%s: %v, %v: want it refused", what, c, err)
			}
		})
		t.Logf("%s: %d bytes, the heap grew by %d MiB", what, len(body), grown>>20)
		if grown > limit {
			t.Errorf("%s: the heap grew by %d MiB: want at most %d", what, grown>>20, limit>>20)
		}
	}
}

// Many at once, of every size, stay within the budget. What is wrapped is charged for what it holds: a
// few kilobytes of base64 may hold 32 MiB.
func TestManyHostileForeignDocumentsStayWithinTheBudget(t *testing.T) {
	const limit = 384 << 20
	h := heavyStore{dropped: &sync.Map{}}
	budget := ingest.NewBudget()
	var bodies [][]byte
	for i, n := range []int{wire.MaxDocumentBytes, 1 << 20, 256 << 10} {
		for _, text := range hostile(n) {
			body := zipTB(t, text)
			if i%2 == 0 {
				body = []byte(base64.StdEncoding.EncodeToString(body))
			}
			bodies = append(bodies, body)
		}
	}
	grown := peak(func() {
		work := make(chan []byte)
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for body := range work {
					g := h.ingester(1)
					g.Budget = budget
					_, err := g.Foreign(t.Context(), body, kept)
					if _, refused := errors.AsType[*ingest.Refused](err); err != nil && !refused {
						t.Error(err)
					}
				}
			})
		}
		for _, body := range bodies {
			work <- body
		}
		close(work)
		workers.Wait()
	})
	t.Logf("%d documents: the heap grew by %d MiB", len(bodies), grown>>20)
	if grown > limit {
		t.Errorf("the heap grew by %d MiB: want at most %d", grown>>20, limit>>20)
	}
}
