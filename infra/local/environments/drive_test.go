package environments

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"isochrone/prober/wire"
)

// driver calls the methods of a store with arguments that it makes up: each text is the hostile
// one, wherever it stands in them, and the rest is what a call needs to get far.
type driver struct {
	ctx         context.Context
	text        string
	environment string // in the series and documents that are handed in
	at          time.Time
}

// value makes a value of a type. depth bounds what refers to itself.
func (d driver) value(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[context.Context]():
		return reflect.ValueOf(d.ctx)
	case t == reflect.TypeFor[time.Time]():
		return reflect.ValueOf(d.at)
	case t == reflect.TypeFor[wire.Series]():
		return reflect.ValueOf(wire.Series{Environment: d.environment, Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"})
	case t == reflect.TypeFor[[]byte]():
		return reflect.ValueOf([]byte(d.text))
	case depth > 6:
		return v
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(d.text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(d.value(t.Elem(), depth+1))
	case reflect.Slice:
		v.Set(reflect.Append(v, d.value(t.Elem(), depth+1)))
	case reflect.Func: // one that does nothing, and says that all is well
		v.Set(reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for i := range t.NumOut() {
				out = append(out, reflect.Zero(t.Out(i)))
			}
			return out
		}))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(d.value(t.Key(), depth+1), d.value(t.Elem(), depth+1))
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				v.Field(i).Set(d.value(f.Type, depth+1))
				if f.Name == "Environment" && f.Type.Kind() == reflect.String {
					v.Field(i).SetString(d.environment)
				}
			}
		}
	}
	return v
}

// call calls a method, and reads what it gives to the end: of a sequence each element. It returns
// everything that came back as text. A panic is returned too: it is for others to judge.
func (d driver) call(store any, name string) (text string, panicked any) {
	defer func() { panicked = recover() }()
	m := reflect.ValueOf(store).MethodByName(name)
	var args []reflect.Value
	for i := range m.Type().NumIn() {
		in := m.Type().In(i)
		if m.Type().IsVariadic() && i == m.Type().NumIn()-1 {
			in = in.Elem()
		}
		args = append(args, d.value(in, 0))
	}
	for _, out := range m.Call(args) {
		if out.Kind() != reflect.Func {
			text += show(out)
			continue
		}
		n := 0
		for k, v := range out.Seq2() {
			text += show(k) + show(v)
			if n++; n > 1000 || !v.IsZero() { // an error ends a sequence
				break
			}
		}
	}
	return text, nil
}

func show(v reflect.Value) string {
	if b, ok := v.Interface().([]byte); ok {
		return string(b) + "\n"
	}
	return fmt.Sprintf("%+v\n", v.Interface())
}
