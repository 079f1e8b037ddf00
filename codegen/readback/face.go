package readback

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/ggmlc/ggmlc/codegen/model"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// callFace is the method that runs a function of the module, and its types.
const callFace = `
type %[1]sInputs struct { %[3]s }
type %[1]sOutputs struct { %[4]s }
func (s *Session) %[1]s(ctx context.Context, in %[1]sInputs) (out %[1]sOutputs, err error) {
	err = s.s.Call(ctx, %[2]d, []any{%[5]s}, []any{%[6]s})
	return out, err
}
`

// resetFace is the method that clears the state of a session.
const resetFace = `
func (s *Session) Reset() { s.s.Reset() }
`

// face compares the exported face of a package with the one that follows from the module: declaration by declaration,
// but for comments. Declarations that are the same for all modules are those of codegen/model.
func (c *checker) face(p *program) {
	want := make(map[string]ast.Node)
	for _, name := range model.Files {
		src, err := model.Source.ReadFile(name)
		if err != nil {
			fail("%v", err)
		}
		c.declare(want, c.forFeatures(string(src)))
	}
	if c.m.LM == nil && c.m.Encoder == nil {
		if len(c.m.States) > 0 {
			c.declare(want, "package p\n"+resetFace)
		}
		for i, f := range c.m.Funcs {
			c.declare(want, "package p\n"+c.callFace(p, i, f))
		}
	}
	got := p.face(want)
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if want[id] == nil || !sameCode(reflect.ValueOf(got[id]), reflect.ValueOf(want[id])) {
			c.report("%s: %s is not what the package exports", p.at(got[id].Pos()), id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got[id] == nil {
			c.report("the package does not export %s", id)
		}
	}
}

// face returns all types, methods and constants of a package, and those functions and variables that its face may have.
func (p *program) face(want map[string]ast.Node) map[string]ast.Node {
	got := make(map[string]ast.Node)
	for id, s := range p.types {
		got[id] = s
	}
	for id, d := range p.methods {
		got[id] = d
	}
	for id, s := range p.consts {
		got[id] = s
	}
	for id := range want {
		if d := p.funcs[id]; d != nil {
			got[id], p.used[id] = d, true
		}
		if s := p.specs[id]; s != nil {
			got[id], p.used[id] = s, true
		}
	}
	return got
}

// forFeatures returns a source of codegen/model without the lines that are for other packages.
func (c *checker) forFeatures(src string) string {
	language, tokenizer := c.m.LM != nil, c.facts.Tokenizer != nil
	has := map[string]bool{
		"language": language, "tokenizer": tokenizer, "chat": language && tokenizer, "encoder": !language && c.m.Encoder != nil,
		"states":     len(c.m.States) > 0,
		"rank":       c.m.Encoder != nil && c.m.Encoder.Pooling == ir.PoolRank,
		"embeddings": c.m.Encoder != nil || language && c.m.LM.Pooling != ir.NoEmbeddings,
	}
	lines := strings.Split(src, "\n")
	depth, off := 0, 0 // blocks around the line; the outermost one that is left out, or 0
	for i, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) > 0 && words[0] == "//api:if":
			if depth++; off == 0 && !slices.ContainsFunc(words[1:], func(w string) bool { return has[w] }) {
				off = depth
			}
		case len(words) > 0 && words[0] == "//api:end":
			if off == depth {
				off = 0
			}
			depth--
		case off > 0:
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// callFace returns what the package has to declare for the i-th function. The names are the
// emitter's: they have to be spelled like those of the module.
func (c *checker) callFace(p *program, i int, f *ir.Func) string {
	id := c.methodOf(p, i)
	if !spells(id, f.Name) {
		fail("the method %s runs @%s", id, f.Name)
	}
	var params []string
	for _, v := range f.Params {
		params = append(params, v.Name())
	}
	in, inFields := c.fields(p, id+"Inputs", f.Params, params)
	out, outFields := c.fields(p, id+"Outputs", f.Results, resultNames(f))
	call := fmt.Sprintf(callFace, id, i, inFields, outFields, prefixed("in.", in), prefixed("&out.", out))
	return call + fmt.Sprintf(startFace, id, i, c.startOf(p, i, id), prefixed("in.", in), prefixed("&st.out.", out))
}

// methodOf returns the name of the method that calls the i-th function.
func (c *checker) methodOf(p *program, i int) string {
	if id := p.methodThat(fmt.Sprintf("s.s.Call(ctx, %d,", i)); id != "" {
		return id
	}
	fail("no method runs @%s", c.m.Funcs[i].Name)
	return ""
}

// methodThat returns the name of the method that assigns the result of a call; "" if there is none.
func (p *program) methodThat(call string) string {
	for _, id := range slices.Sorted(maps.Keys(p.methods)) {
		for _, st := range p.methods[id].Body.List {
			a, ok := st.(*ast.AssignStmt)
			if ok && len(a.Rhs) == 1 && strings.HasPrefix(source(a.Rhs[0]), call) {
				return p.methods[id].Name.Name
			}
		}
	}
	return ""
}

// spells reports whether an exported name consists of the letters and digits of another name. A
// name that does not begin with a letter gets an X before it. A number or underlines after it
// make it differ from other names.
func spells(id, name string) bool {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	got, want := letters(id), letters(name)
	for _, spelled := range []string{want, "x" + want} {
		if number, ok := strings.CutPrefix(got, spelled); ok && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
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

// fields returns the names that the fields of a struct have, and what they have to be: arrays
// of the values' elements, named like the values.
func (c *checker) fields(p *program, id string, vs []*ir.Value, names []string) (ids []string, code string) {
	var s *ast.StructType
	if spec := p.types[id]; spec != nil {
		s, _ = spec.Type.(*ast.StructType)
	}
	if s == nil || s.Fields.NumFields() != len(vs) {
		fail("the type %s has not %d fields", id, len(vs))
	}
	for _, field := range s.Fields.List {
		for _, n := range field.Names {
			i := len(ids)
			if !spells(n.Name, names[i]) {
				fail("%s: the field %s is for %q", p.at(n.Pos()), n.Name, names[i])
			}
			ids = append(ids, n.Name)
			code += n.Name + " []" + elems[vs[i].Type.DType] + "\n"
		}
	}
	return ids, code
}

// declare adds the declarations of a text by name: types, functions, constants, variables, methods as Session.Decode.
func (c *checker) declare(to map[string]ast.Node, text string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		fail("%v\n%s", err, text)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			id := d.Name.Name
			if d.Recv != nil {
				id = receiver(d) + "." + id
			}
			to[id] = d
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					to[s.Name.Name] = s
				case *ast.ValueSpec:
					to[s.Names[0].Name] = s
				}
			}
		}
	}
}

// sameCode reports whether two syntax trees are equal. Comments and positions are ignored.
func sameCode(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameCode(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameCode(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			switch a.Field(i).Interface().(type) {
			case *ast.CommentGroup:
				continue
			case token.Pos:
				if id := a.Type().Field(i).Name; id != "Assign" && id != "Ellipsis" || a.Field(i).IsZero() == b.Field(i).IsZero() {
					continue // but for = of an alias and for … there is no more than a place
				}
				return false
			}
			if !sameCode(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Interface() == b.Interface()
}
