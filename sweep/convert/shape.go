package convert

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"isochrone/prober/wire"
)

// kind is what a value of a document is.
type kind int

const (
	kindObject   kind = iota // named members, each at most once
	kindList                 // of objects or whole numbers; JSON only: in XML its elements are repeated members
	kindColumn               // whole numbers and nulls
	kindFailures             // failure codes and nulls
	kindInteger
	kindNumber
	kindTruth // true or false
	kindText
	kindInstant // RFC 3339
)

// Limits of one document's text, beyond wire's. They are far above what a prober writes and far
// below what would hurt. Depth needs none: nothing that the shapes do not know is descended into.
const (
	maxTextBytes   = 4 << 10
	maxBulkBytes   = 1 << 20 // of a histogram
	maxNumberBytes = 32      // of a number's digits
	maxNameBytes   = 64
	maxColumnBytes = 4 << 20              // of an XML list: 40 bytes a sample
	maxEntries     = 13 * wire.MaxSamples // of all columns: samples have thirteen
)

// listLimit is how many entries a list of such a type may have: what a document may hold, and not
// more, because each takes more memory than text.
func listLimit(item reflect.Type) int {
	switch item {
	case reflect.TypeFor[wire.Flow]():
		return 2
	case reflect.TypeFor[wire.Level]():
		return wire.MaxLevels
	case reflect.TypeFor[int]():
		return len(wire.BandEndsMS()) + 1
	}
	return wire.MaxRuns
}

// shape is what may stand at one place of a document. Shapes are derived from package wire's
// types and tags, so that the strict readers cannot drift from what encoding/json and
// encoding/xml fill.
type shape struct {
	kind     kind
	nullable bool // JSON null is allowed
	limit    int  // bytes of a text
	members  map[string]*member
	required []string // sorted
	item     *shape   // of a list
	most     int      // entries of a list
}

// textLimit is how many bytes may stand in an XML element of this shape, blanks included.
func (s *shape) textLimit() int {
	switch s.kind {
	case kindColumn, kindFailures:
		return maxColumnBytes
	case kindText:
		return s.limit
	}
	return maxTextBytes
}

type member struct {
	*shape
	attribute bool // XML: an attribute, not an element
	repeated  bool // XML: up to most elements of this name
	most      int
}

// The shapes are built when the first document is read, not when the program starts.
var (
	jsonShape = sync.OnceValue(func() *shape { return objectShape(reflect.TypeFor[wire.Document](), "json") })
	xmlShape  = sync.OnceValue(func() *shape { return objectShape(reflect.TypeFor[wire.Document](), "xml") })
)

// xmlRoot is the name of the document's root element.
const xmlRoot = "isochrone_document"

func objectShape(t reflect.Type, tag string) *shape {
	s := &shape{kind: kindObject, members: map[string]*member{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
		if name == "-" || f.Name == "XMLName" {
			continue
		}
		inner := valueShape(f.Type, tag, name)
		omitted := strings.Contains(options, "omitempty")
		inner.nullable = inner.nullable || omitted && (inner.kind == kindText || inner.kind == kindList)
		outer, item, nested := strings.Cut(name, ">") // XML: <runs><run/>…</runs>
		if !omitted && !inner.nullable {
			s.required = append(s.required, outer)
		}
		if nested {
			s.members[outer] = &member{shape: &shape{kind: kindObject,
				members: map[string]*member{item: {shape: inner.item, repeated: true, most: inner.most}}}}
			continue
		}
		s.members[name] = &member{shape: inner, attribute: strings.Contains(options, "attr")}
	}
	slices.Sort(s.required)
	return s
}

func valueShape(t reflect.Type, tag, name string) *shape {
	switch t {
	case reflect.TypeFor[wire.Column]():
		return &shape{kind: kindColumn, nullable: true}
	case reflect.TypeFor[wire.FailureColumn]():
		return &shape{kind: kindFailures, nullable: true}
	case reflect.TypeFor[time.Time]():
		return &shape{kind: kindInstant}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := valueShape(t.Elem(), tag, name)
		s.nullable = true
		return s
	case reflect.Struct:
		return objectShape(t, tag)
	case reflect.Slice:
		return &shape{kind: kindList, item: valueShape(t.Elem(), tag, name), most: listLimit(t.Elem())}
	case reflect.String:
		if strings.HasSuffix(name, "_histogram") {
			return &shape{kind: kindText, limit: maxBulkBytes}
		}
		return &shape{kind: kindText, limit: maxTextBytes}
	case reflect.Float64:
		return &shape{kind: kindNumber}
	case reflect.Bool:
		return &shape{kind: kindTruth}
	}
	return &shape{kind: kindInteger}
}
