package xmljson

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/clbanning/mxj/v2"
)

// samples are what the speed is measured on: a JTL of some 4 MB, and two small documents.
func samples(b *testing.B) map[string][]byte {
	b.Helper()
	read := func(name string) []byte {
		body, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		return body
	}
	jtl := string(read("testdata/jmeter.jtl"))
	head, rest, ok := strings.Cut(jtl, "<httpSample")
	inner, tail, ends := strings.Cut("<httpSample"+rest, "</testResults>")
	if !ok || !ends {
		b.Fatal("testdata/jmeter.jtl is not what it was")
	}
	jtl = head + strings.Repeat(inner, 4<<20/len(inner)) + "</testResults>" + tail
	return map[string][]byte{
		"jtl": []byte(jtl), "ntttcp": read("testdata/ntttcp.xml"), "document": read("../testdata/v1-bulk.xml"),
	}
}

func BenchmarkConvert(b *testing.B) {
	for name, text := range samples(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Convert(io.Discard, bytes.NewReader(text), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMXJ is the same with a general library, which writes other keys.
func BenchmarkMXJ(b *testing.B) {
	for name, text := range samples(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := mxj.NewMapXml(text)
				if err != nil {
					b.Fatal(err)
				}
				out, err := json.Marshal(m)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Discard.Write(out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
