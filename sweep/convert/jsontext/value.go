package jsontext

import (
	"encoding/json"
	"fmt"
	"iter"
	"sort"
	"strings"
)

// Value is a value of a Text. The zero Value is Absent; so is everything looked up in it.
type Value struct {
	t *Text
	i uint32
}

func (v Value) entry() *entry { return &v.t.entries[v.i] }

// Kind says what the value is.
func (v Value) Kind() Kind {
	if v.t == nil {
		return Absent
	}
	return v.entry().kind
}

// Raw is the value as it is written.
func (v Value) Raw() []byte {
	if v.t == nil {
		return nil
	}
	return v.t.body[v.entry().start:v.entry().end]
}

// Text is what a person reads of a string, number, truth value or null: a string without its quotes
// and escapes, the others as they are written. Of arrays, objects and nothing it is empty.
func (v Value) Text() string {
	switch v.Kind() {
	case String:
		return v.t.unquoted(v.entry())
	case Number, Truth, Null:
		return string(v.Raw())
	}
	return ""
}

func (t *Text) unquoted(e *entry) string {
	raw := t.body[e.start:e.end]
	if !e.escaped {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil { // it cannot be: the parser has checked it
		return ""
	}
	return s
}

// True says whether the value is true.
func (v Value) True() bool { return v.Kind() == Truth && string(v.Raw()) == "true" }

// Cut says whether the text ended inside the value.
func (v Value) Cut() bool { return v.t != nil && v.entry().cut }

// Offset is the number of bytes in front of the value, and Line its line, from 1.
func (v Value) Offset() int64 {
	if v.t == nil {
		return 0
	}
	return int64(v.entry().start)
}

// Line is the line in which the value begins, from 1.
func (v Value) Line() int {
	if v.t == nil {
		return 0
	}
	return v.t.line(int(v.entry().start))
}

// Len is the number of an array's values or of an object's members.
func (v Value) Len() (n int) {
	switch v.Kind() {
	case Array:
		for range v.Values() {
			n++
		}
	case Object:
		for range v.Members() {
			n++
		}
	}
	return n
}

// Values are an array's, in order; of anything else none.
func (v Value) Values() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array {
			return
		}
		for n, i := 0, v.i+1; i < v.entry().next; n++ {
			if !yield(n, Value{v.t, i}) {
				return
			}
			i = v.t.entries[i].next
		}
	}
}

// Members are an object's, in order, those of one name too; of anything else none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for i := v.i + 1; i < v.entry().next; {
			name := &v.t.entries[i]
			if !yield(v.t.unquoted(name), Value{v.t, name.next}) {
				return
			}
			i = v.t.entries[name.next].next
		}
	}
}

// Get follows names from an object into the objects inside it. What is not there is Absent, and so
// is a member that stands there twice: nobody can say which is meant (see Twice).
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		found := Value{}
		for member, value := range v.Members() {
			if member != name {
				continue
			}
			if found.t != nil {
				return Value{}
			}
			found = value
		}
		if v = found; v.t == nil {
			return Value{}
		}
	}
	return v
}

// At is an array's n-th value, from 0; Absent where there is none.
func (v Value) At(n int) Value {
	for i, value := range v.Values() {
		if i == n {
			return value
		}
	}
	return Value{}
}

// Twice is a fault when the object has more than one member of one of the names.
func (v Value) Twice(names ...string) *Fault {
	for _, name := range names {
		n := 0
		for member, value := range v.Members() {
			if member != name {
				continue
			}
			if n++; n > 1 {
				return &Fault{Offset: value.Offset(), Line: value.Line(), Text: fmt.Sprintf("%q stands here twice", name)}
			}
		}
	}
	return nil
}

// Expect is a fault unless the value is of the kind.
func (v Value) Expect(k Kind, name string) *Fault {
	if v.Kind() == k {
		return nil
	}
	return &Fault{Offset: v.Offset(), Line: max(v.Line(), 1), Text: fmt.Sprintf("%s is %s: want %s", name, v.Kind(), k)}
}

// Has says whether the object has all of the names.
func (v Value) Has(names ...string) bool {
	for _, name := range names {
		found := false
		for member := range v.Members() {
			found = found || member == name
		}
		if !found {
			return false
		}
	}
	return true
}

// Names are the object's names joined with commas, for a message.
func (v Value) Names() string {
	var out []string
	for name := range v.Members() {
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// line is the line of an offset, from 1. Lines are counted no further than was asked for: of a text
// with values one behind the other most is parsed again, and each time a shorter rest of it.
func (t *Text) line(at int) int {
	if t.lines == nil {
		t.lines = []uint32{0}
	}
	for ; t.counted < at; t.counted++ {
		if t.body[t.counted] == '\n' && len(t.lines) < 1<<20 { // a text of more lines is told by its offsets
			t.lines = append(t.lines, uint32(t.counted+1))
		}
	}
	return sort.Search(len(t.lines), func(i int) bool { return int(t.lines[i]) > at })
}
