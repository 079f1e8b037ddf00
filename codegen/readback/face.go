package readback

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// forwards are what the methods of an exported face consist of, but for those that call a
// function of the module. Open, Close and NewSession have nothing that depends on the
// module, and the Go compiler checks their types.
var forwards = map[string]string{
	"Session.Generate": "s.s.Generate(ctx, prompt, o)",
	"Session.Prefill":  "s.s.Prefill(ctx, tokens)",
	"Session.Decode":   "s.s.Decode(ctx, token)",
	"Session.Len":      "s.s.Len()",
	"Session.Truncate": "s.s.Truncate(n)",
	"Session.Reset":    "s.s.Reset()",
	"Model.Close":      "m.m.Close()",
	"Model.Threads":    "m.m.Threads()",
	"Model.NewSession": "",
}

// face compares the exported face of a package with the functions of the module.
func (c *checker) face(p *program) {
	p.used["Open"] = true
	if d := p.funcs["Open"]; d == nil || !strings.Contains(calls(d), "runtime.Open(&program, o)") {
		c.report("Open does not open the program")
	}
	called := make(map[int]bool)
	for _, id := range slices.Sorted(maps.Keys(p.methods)) {
		d := p.methods[id]
		if want, known := forwards[id]; known && calls(d) != "" && !strings.Contains(calls(d), "s.s.Call(") {
			if want != "" && calls(d) != want {
				c.report("%s: %s is %s, not %s", p.at(d.Pos()), id, calls(d), want)
			}
			continue
		}
		c.recovering(id, func() { called[c.method(p, d)] = true })
	}
	if c.m.LM != nil && p.methods["Session.Prefill"] != nil && len(called) == 0 {
		return
	}
	for i, f := range c.m.Funcs {
		if !called[i] {
			c.report("no method runs @%s", f.Name)
		}
	}
}

// calls returns the outermost calls of a function's statements, one after the other.
func calls(d *ast.FuncDecl) string {
	var list []string
	for _, st := range d.Body.List {
		var e ast.Expr
		switch st := st.(type) {
		case *ast.ExprStmt:
			e = st.X
		case *ast.ReturnStmt:
			if len(st.Results) == 1 {
				e = st.Results[0]
			}
		case *ast.AssignStmt:
			if len(st.Rhs) == 1 {
				e = st.Rhs[0]
			}
		}
		if call, ok := e.(*ast.CallExpr); ok {
			list = append(list, source(call))
		}
	}
	return strings.Join(list, "; ")
}

// method compares a method that calls a function of the module, whose number it returns:
// each input is a field of the method's inputs, in the order of the parameters, each result
// one of its outputs.
func (c *checker) method(p *program, d *ast.FuncDecl) int {
	id := d.Name.Name
	for i, f := range c.m.Funcs {
		in, err := c.fields(p, id+"Inputs", f.Params)
		if err != nil {
			continue
		}
		out, err := c.fields(p, id+"Outputs", f.Results)
		if err != nil {
			continue
		}
		want := fmt.Sprintf("s.s.Call(ctx, %d, []any{%s}, []any{%s})", i, prefixed("in.", in), prefixed("&out.", out))
		if calls(d) == want {
			return i
		}
	}
	fail("%s: it calls no function with all of its inputs and outputs, in their order: %s", p.at(d.Pos()), calls(d))
	return 0
}

func prefixed(prefix string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return prefix + strings.Join(names, ", "+prefix)
}

// elems are the Go types of elements of arrays.
var elems = map[dtype.DType]string{
	dtype.F32: "float32", dtype.I32: "int32", dtype.I64: "int64", dtype.F64: "float64",
	dtype.U8: "uint8", dtype.I8: "int8", dtype.F16: "uint16", dtype.BF16: "uint16", dtype.Bool: "bool",
}

// fields returns the names of a struct's fields, which have to be arrays of the values'
// elements.
func (c *checker) fields(p *program, id string, vs []*ir.Value) ([]string, error) {
	s, ok := p.types[id].(*ast.StructType)
	if !ok || s.Fields.NumFields() != len(vs) {
		return nil, fmt.Errorf("%s has not %d fields", id, len(vs))
	}
	var names []string
	for _, field := range s.Fields.List {
		for _, n := range field.Names {
			if want := "[]" + elems[vs[len(names)].Type.DType]; typeText(field.Type) != want {
				return nil, fmt.Errorf("%s.%s is %s, not %s", id, n.Name, typeText(field.Type), want)
			}
			names = append(names, n.Name)
		}
	}
	return names, nil
}
