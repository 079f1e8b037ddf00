package ir

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestGeneratedMethodsMakeTheCase calls each generated method with operands and attributes
// of the op's cases and expects what Op makes of them.
func TestGeneratedMethodsMakeTheCase(t *testing.T) {
	methods := make(map[string]reflect.Method)
	for m := range reflect.TypeFor[*FuncBuilder]().Methods() {
		methods[strings.ToLower(m.Name)] = m
	}
	for op := range Ops {
		method, ok := methods[strings.ReplaceAll(op.String(), "_", "")]
		if !ok && op != OpObserve { // which a pass makes
			t.Errorf("%v has no method", op)
		}
		for _, c := range casesOf(op) {
			checkMethod(t, method, op, c)
		}
	}
}

func checkMethod(t *testing.T, method reflect.Method, op Op, c Case) {
	b := NewBuilder("case")
	f := b.Func("f")
	args := make([]*Value, len(c.Args))
	for i, a := range c.Args {
		args[i] = f.Param("", a.Type)
	}
	want := f.Op(op, c.Attr, args...)
	v := call(f, method, op, c, args)
	if b.Err() != nil || v.Def.Op != op || !EqualAttr(op, v.Def.Attr, c.Attr) || !slices.Equal(v.Def.Args, args) ||
		!v.Type.Equal(want.Type) || len(f.Func().Nodes) != 2 || b.Module().Funcs[0] != f.Func() {
		t.Errorf("%v %s: made %v %v (%v)", op, c.Name, v.Def, v.Type, b.Err())
	}
}

// call calls a generated method: operands, then attributes or their struct, a variadic operand last.
func call(f *FuncBuilder, method reflect.Method, op Op, c Case, args []*Value) *Value {
	in := []reflect.Value{reflect.ValueOf(f)}
	var attrs []reflect.Value
	if c.Attr != nil {
		attr := reflect.ValueOf(c.Attr).Elem()
		for _, field := range attr.Fields() {
			attrs = append(attrs, field)
		}
		if method.Type.In(method.Type.NumIn()-1) == attr.Type() {
			attrs = []reflect.Value{attr}
		}
	}
	specs := op.Info().Args
	if specs[0].Variadic {
		in = append(in, attrs...)
		attrs = nil
	}
	for i := range max(len(specs), len(args)) {
		switch {
		case i < len(args):
			in = append(in, reflect.ValueOf(args[i]))
		case !method.Type.IsVariadic() || c.Attr != nil:
			in = append(in, reflect.Zero(reflect.TypeFor[*Value]()))
		}
	}
	in = append(in, attrs...)
	if last := in[len(in)-1]; method.Type.IsVariadic() && last.Kind() == reflect.Slice {
		return method.Func.CallSlice(in)[0].Interface().(*Value)
	}
	return method.Func.Call(in)[0].Interface().(*Value)
}
