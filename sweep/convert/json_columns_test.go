package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

// Every column of whole numbers that a document can have is read as encoding/json reads it, wherever it stands.
func TestColumnsAreReadAsEncodingJSONReadsThem(t *testing.T) {
	texts := []string{"[]", "[0]", "[-0,null , 7]", "[null]", "[9223372036854775807,-9223372036854775807,1000000000000000000]", "[1\n,\t2\r, -3 ]", "[10]"}
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		if c, ok := v.Addr().Interface().(*wire.Column); ok {
			if err := json.Unmarshal([]byte(texts[n%len(texts)]), c); err != nil {
				t.Fatal(err)
			}
			n++
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Field(i); f.CanSet() {
					fill(f)
				}
			}
		case reflect.Pointer:
			if v.Type().Elem().PkgPath() == reflect.TypeFor[wire.Document]().PkgPath() {
				v.Set(reflect.New(v.Type().Elem()))
				fill(v.Elem())
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Struct {
				v.Set(reflect.MakeSlice(v.Type(), 2, 2))
				fill(v.Index(0))
				fill(v.Index(1))
			} else {
				v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			}
		}
	}
	var d wire.Document
	fill(reflect.ValueOf(&d).Elem())
	if n < 2*(12+3*10) {
		t.Fatalf("only %d columns", n)
	}
	text, err := json.MarshalIndent(&d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var want wire.Document
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	c := &jsonChecker{text: text}
	if err := c.document(jsonShape()); err != nil {
		t.Fatal(err)
	}
	got, err := c.columns.document(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-encoding/json +columns):\n%s", diff)
	}
	var again wire.Document
	if n := c.columns.fill(&again); n != 0 {
		t.Errorf("%d columns in an empty document", n)
	}
}

func TestWholeNumbersOfAColumn(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-0": 0, "7 ": 7, " null": wire.Null, "9223372036854775807": math.MaxInt64, "-9223372036854775807": -math.MaxInt64, "999999999999999999,": 999999999999999999} {
		c := &jsonChecker{text: []byte(text)}
		if got, err := c.integer(); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", "01", "-01", "1.0", "1e3", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "99999999999999999999", "+1", "nul", `"1"`, strings.Repeat("9", 1000), "1-"} {
		c := &jsonChecker{text: []byte(text)}
		if got, err := c.integer(); err == nil || fmt.Sprintf("%T", err) != "*convert.Refusal" {
			t.Errorf("%.40q: %d, %v", text, got, err)
		}
	}
}
