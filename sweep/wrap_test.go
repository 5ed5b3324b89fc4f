package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// cmdWrap is "wrap HOW IN OUT": a text as it travels. HOW is gzip, utf16, windows1252, base64 or envelope.
func cmdWrap(ts *testscript.TestScript, neg bool, args []string) {
	body := []byte(ts.ReadFile(args[1]))
	out, err := wrapped(args[0], body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), out, 0o600))
}

func wrapped(how string, body []byte) ([]byte, error) {
	switch how {
	case "gzip":
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	case "utf16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(body)
	case "windows1252":
		return charmap.Windows1252.NewEncoder().Bytes(body)
	case "base64":
		return []byte(base64.StdEncoding.EncodeToString(body)), nil
	case "envelope": // what Logic Apps makes of what it takes for octets
		return json.Marshal(map[string]string{"$content-type": "application/octet-stream", "$content": base64.StdEncoding.EncodeToString(body)})
	}
	return nil, fmt.Errorf("there is no wrapping %q", how)
}

// cmdJTL is "jtl FILE SAMPLES": JMeter's results of so many requests, of 10 to 19 ms in turn.
func cmdJTL(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := bufio.NewWriter(f)
	_, _ = w.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n") // Flush says what failed
	for i := range n {
		_, _ = fmt.Fprintf(w, "<httpSample t=\"%d\" it=\"0\" lt=\"9\" ct=\"1\" ts=\"%d\" s=\"true\" lb=\"home\" rc=\"200\" rm=\"OK\" tn=\"users 1-1\" by=\"1000\"/>\n", 10+i%10, 1796000400000+int64(i)*2)
	}
	_, _ = w.WriteString("</testResults>\n")
	ts.Check(w.Flush())
	ts.Check(f.Close())
}
