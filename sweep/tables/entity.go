package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf16"

	"isochrone/sweep/result"
)

// What the service holds an entity to. Azurite accepts more, so we refuse it ourselves.
// https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
const (
	maxProperties  = 252      // the keys and Timestamp apart
	maxEntityBytes = 1 << 20  // as the service counts: UTF-16, names included
	maxTextUnits   = 32 << 10 // UTF-16 code units of a string
)

// ErrRefused is in the chain of every error that says that the service was not asked, because
// it would refuse the data, or because the data belong to another environment. Trying again
// gives the same.
var ErrRefused = result.ErrRefused

// An entity is one row on its way to the service.
type entity struct {
	partition, row string
	body           []byte // JSON with type annotations
}

// entityWriter builds the JSON of an entity. Every type but String, Boolean and Int32 is annotated:
// without it the service takes a whole double for an Int32, and a time for a String.
type entityWriter struct {
	entity
	properties int
	bytes      int // as the service counts
	faults     []error
}

func newEntity(partition, row string) *entityWriter {
	w := &entityWriter{entity: entity{partition: partition, row: row, body: make([]byte, 0, 2048)}}
	w.bytes = 4 + 2*(len(partition)+len(row))
	w.body = append(w.body, `{"PartitionKey":`...)
	w.body = appendText(w.body, partition)
	w.body = append(w.body, `,"RowKey":`...)
	w.body = appendText(w.body, row)
	return w
}

// put writes a property. v is a string, a bool (Boolean), an int (Int32), a float64 (Double) or a time.Time
// (DateTime, cut to the service's 100 ns); nil writes nothing, because absent is null.
func (w *entityWriter) put(name string, v any) {
	switch v := v.(type) {
	case nil:
		return
	case string:
		n := units(v)
		if n > maxTextUnits {
			w.fault(name, "a text of %d characters: want at most %d", n, maxTextUnits)
			return
		}
		w.property(name, "", 4+2*n)
		w.body = appendText(w.body, v)
	case bool:
		w.property(name, "", 1)
		w.body = strconv.AppendBool(w.body, v)
	case int:
		if v < math.MinInt32 || v > math.MaxInt32 {
			w.fault(name, "%d does not fit 32 bits", v)
			return
		}
		w.property(name, "", 4)
		w.body = strconv.AppendInt(w.body, int64(v), 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			w.fault(name, "%v is not a number", v)
			return
		}
		w.property(name, "Edm.Double", 8)
		w.body = appendDouble(w.body, v)
	case time.Time:
		v = v.UTC().Truncate(100 * time.Nanosecond)
		if v.Year() < 1601 || v.Year() > 9999 {
			w.fault(name, "year %d: want 1601 to 9999", v.Year())
			return
		}
		w.property(name, "Edm.DateTime", 8)
		w.body = v.AppendFormat(w.body, `"2006-01-02T15:04:05.9999999Z"`)
	default:
		w.fault(name, "no column type for %T", v)
	}
}

func (w *entityWriter) property(name, annotation string, valueBytes int) {
	w.properties++
	w.bytes += 8 + 2*len(name) + valueBytes
	w.body = append(w.body, `,"`...)
	if annotation != "" {
		w.body = append(w.body, name...)
		w.body = append(w.body, `@odata.type":"`...)
		w.body = append(w.body, annotation...)
		w.body = append(w.body, `","`...)
	}
	w.body = append(w.body, name...)
	w.body = append(w.body, `":`...)
}

func (w *entityWriter) fault(name, format string, args ...any) {
	w.faults = append(w.faults, fmt.Errorf(name+": "+format, args...))
}

// done returns the entity, or every reason why the service would refuse it.
func (w *entityWriter) done() (entity, error) {
	if w.properties > maxProperties {
		w.faults = append(w.faults, fmt.Errorf("%d properties: want at most %d", w.properties, maxProperties))
	}
	if w.bytes > maxEntityBytes {
		w.faults = append(w.faults, fmt.Errorf("%d bytes: want at most %d", w.bytes, maxEntityBytes))
	}
	if len(w.faults) > 0 {
		return entity{}, fmt.Errorf("row %q %q: %w: %w", w.partition, w.row, ErrRefused, errors.Join(w.faults...))
	}
	w.body = append(w.body, '}')
	return w.entity, nil
}

func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string cannot fail; invalid UTF-8 becomes U+FFFD
	return append(b, text...)
}

// appendDouble writes the shortest text that reads back as v, and always as a floating-point
// number. The annotation is what the service goes by.
func appendDouble(b []byte, v float64) []byte {
	text, _ := json.Marshal(v) // v is finite
	b = append(b, text...)
	for _, c := range text {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

// units counts UTF-16 code units, in which the service measures texts.
func units(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
