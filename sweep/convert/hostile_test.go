package convert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"runtime"
	"strings"
	"testing"

	"isochrone/prober/wire"
)

// allocated is how many bytes f allocates in all, freed ones included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// fill is as much of unit as a document may hold, behind head.
func fill(head, unit string) []byte {
	n := (wire.MaxDocumentBytes - len(head)) / len(unit)
	return append([]byte(head), bytes.Repeat([]byte(unit), n)...)
}

func TestHostileBodiesAreRefusedWithinBoundedMemory(t *testing.T) {
	const most = 80 << 20 // bytes, for bodies of up to 32 MiB
	j, x := string(golden(t, "v1.json")), string(golden(t, "v1.xml"))
	rtt := j[:strings.Index(j, "20100000")]
	list := x[:strings.Index(x, "20100000")]
	bodies := map[string]struct {
		body []byte
		says string
	}{
		"gzip of 1 GB":              {bomb(t, 1<<30), "unpack to more"},
		"blanks":                    {fill("", " "), "empty"},
		"json too large":            {fill("{", " "), "ends where"},
		"larger than a document":    {make([]byte, wire.MaxDocumentBytes+1), "limit is"},
		"json depth":                {fill("", `{"runs":[`), "no \"runs\" here"},
		"json arrays":               {fill(`{"runs":`, "["), "an object should"},
		"json runs":                 {fill(j[:strings.Index(j, `"runs"`)]+`"runs":[`, "{},"), "is missing"},
		"json names":                {fill("{", `"a":1,`), "no \"a\""},
		"json column":               {fill(rtt, "1,"), "at most 100000 samples"},
		"json column of nulls":      {fill(rtt, "null,"), "at most 100000 samples"},
		"json column of failures":   {fill(j[:strings.Index(j, `"timeout"`)], `"timeout",`), "at most 100000 samples"},
		"json string":               {fill(`{"version":1,"environment":"`, "a"), "more than 4096 bytes"},
		"json number":               {fill(`{"version":`, "1"), "whole number"},
		"xml depth":                 {fill("", "<a>"), "root element"},
		"xml depth of known names":  {fill("", "<isochrone_document>"), "no element <isochrone_document>"},
		"xml attributes":            {fill("<isochrone_document ", `a="" `), "tag of more than"},
		"xml many small attributes": {fill("<isochrone_document ", `version="1" `), "tag of more than"},
		"xml name":                  {fill("<", "a"), "tag of more than"},
		"xml quoted":                {fill(`<isochrone_document version="`, "1>"), "tag of more than"},
		"xml runs":                  {fill(x[:strings.Index(x, "<run>")], "<run/>"), "is missing"},
		"xml column":                {fill(list, "1 "), "more than 4194304 bytes"},
		"xml text":                  {fill(x[:strings.Index(x, "westeurope")], "a"), "more than 4194304 bytes"},
		"xml text in pieces":        {fill(list, strings.Repeat("1 ", 1<<19)+"<!-- -->"), "at most 4194304"},
		"xml CDATA":                 {append(fill(list+"<![CDATA[", "1 ")[:wire.MaxDocumentBytes-3], "]]>"...), "CDATA section of more than"},
		"xml comment":               {fill("<!--", "-"), "does not end"},
		"xml entity bomb":           {[]byte(`<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]><isochrone_document>&lol2;</isochrone_document>`), "DTD"},
	}
	for name, c := range bodies {
		t.Run(name, func(t *testing.T) {
			var err error
			n := allocated(func() { _, err = Document(c.body) })
			var r *Refusal
			if !errors.As(err, &r) || !strings.Contains(r.Error(), c.says) {
				t.Errorf("got %v; want a refusal that says %q", err, c.says)
			}
			t.Logf("%d bytes of body, %d MB allocated", len(c.body), n>>20)
			if n > most {
				t.Errorf("%d bytes of body made the reader allocate %d bytes; at most %d are allowed", len(c.body), n, most)
			}
		})
	}
}

// bomb is a gzip stream that unpacks to size blanks, a multiple of 32 MiB.
func bomb(t *testing.T, size int) []byte {
	t.Helper()
	var member bytes.Buffer
	z, err := gzip.NewWriterLevel(&member, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(bytes.Repeat([]byte(" "), 32<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(member.Bytes(), size/(32<<20))
}

// The largest document that the planner allows is accepted, in both encodings.
func TestTheLargestDocumentIsAccepted(t *testing.T) {
	d := largest()
	for name, body := range map[string][]byte{"json": encodeJSON(t, d), "xml": encodeXML(t, d)} {
		got, err := Document(pack(t, body))
		if err != nil {
			t.Fatalf("%s of %d bytes: %v", name, len(body), err)
		}
		if n := got.Runs[0].Samples.Len(); n != wire.MaxSamples {
			t.Errorf("%s: %d samples, want %d", name, n, wire.MaxSamples)
		}
	}
	d.Runs[0].Samples.Sequence = append(d.Runs[0].Samples.Sequence, wire.MaxSamples)
	if _, err := Document(encodeJSON(t, d)); err == nil {
		t.Error("a document with one sample more was accepted")
	}
}
