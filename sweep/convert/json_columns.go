package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"isochrone/prober/wire"
)

// jsonColumns are the columns of whole numbers that a checker has read, and the text without them.
// They are nearly all of a large document, and encoding/json would go over them three times more: to
// check them, to find their ends and to fill them in. In the text each is replaced by one entry, its
// number here.
type jsonColumns struct {
	taken []wire.Column
	text  []byte // up to rest, where the checked text goes on
	rest  int
}

// take replaces what stands from one place to another by its number.
func (k *jsonColumns) take(text []byte, from, to int, column wire.Column) {
	k.text = append(k.text, text[k.rest:from]...)
	k.text = append(k.text, '[')
	k.text = strconv.AppendInt(k.text, int64(len(k.taken)), 10)
	k.text = append(k.text, ']')
	k.taken, k.rest = append(k.taken, column), to
}

// document is what the whole text says.
func (k *jsonColumns) document(text []byte) (*wire.Document, error) {
	d := new(wire.Document)
	if err := json.Unmarshal(append(k.text, text[k.rest:]...), d); err != nil {
		return nil, err
	}
	if k.fill(d) != len(k.taken) { // package wire has columns that fill does not know
		d = new(wire.Document)
		return d, json.Unmarshal(text, d)
	}
	return d, nil
}

// fill puts the columns where their numbers stand, and says how many it put.
func (k *jsonColumns) fill(d *wire.Document) (n int) {
	put := func(columns []wire.NamedColumn) {
		for _, c := range columns {
			if len(*c.Values) == 1 {
				*c.Values = k.taken[(*c.Values)[0]]
				n++
			}
		}
	}
	for i := range d.Runs {
		r := &d.Runs[i]
		put(r.Samples.Columns())
		if r.Bulk == nil {
			continue
		}
		for j := range r.Bulk.Flows {
			put(r.Bulk.Flows[j].Intervals.Columns())
		}
		if r.Bulk.Stream != nil {
			put(r.Bulk.Stream.Intervals.Columns())
		}
	}
	return n
}

// integers reads an array of nulls and whole numbers. One without entries stays where it is.
func (c *jsonChecker) integers() error {
	if !c.next('[') {
		return c.unexpected("an array")
	}
	begin := c.at - 1
	var out wire.Column
	if n := len(c.columns.taken); n > 0 { // columns beside each other are of one length
		out = make(wire.Column, 0, len(c.columns.taken[n-1]))
	}
	for n := 0; !c.next(']'); n++ {
		if n > 0 && !c.next(',') {
			return c.unexpected("a comma or the array's end")
		}
		if c.entries++; n == wire.MaxSamples || c.entries > maxEntries {
			return c.refuse(c.at, remedySplit, "a document holds at most %d samples", wire.MaxSamples)
		}
		v, err := c.integer()
		if err != nil {
			return c.entry(n, err)
		}
		out = append(out, v)
	}
	if len(out) > 0 {
		c.columns.take(c.text, begin, c.at, out)
	}
	return nil
}

// entry names the entry of a column in an error. A place is not kept for each: there are many.
func (c *jsonChecker) entry(n int, err error) error {
	if r, ok := err.(*Refusal); ok {
		r.Where = fmt.Sprintf("%s[%d]", c.place, n)
	}
	return err
}

// integer reads a whole number or null. Nearly all have so few digits that they need no other look.
func (c *jsonChecker) integer() (int64, error) {
	c.skipBlanks()
	const most = 19 // digits that 64 bits without a sign hold, whichever they are
	at, negative := c.at, false
	if at < len(c.text) && c.text[at] == '-' {
		negative = true
		at++
	}
	first, v := at, uint64(0)
	for at < len(c.text) && c.text[at]-'0' <= 9 && at-first <= most {
		v = v*10 + uint64(c.text[at]-'0')
		at++
	}
	plain := at > first && at-first <= most && v <= math.MaxInt64 && (c.text[first] != '0' || at-first == 1)
	if plain && (at == len(c.text) || !isNumberByte(c.text[at])) {
		c.at = at
		if negative {
			return -int64(v), nil
		}
		return int64(v), nil
	}
	if c.null() {
		return wire.Null, nil
	}
	begin := c.at
	if err := c.number(begin, checkInteger); err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(c.text[begin:c.at]), 10, 64)
}
