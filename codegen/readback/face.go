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

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// anyFace is what the exported face of each package declares.
const anyFace = `package p
type Options = runtime.Options
type Model struct{ m *runtime.Model }
type Session struct{ s *runtime.Session }
func Open(o Options) (*Model, error) {
	m, err := runtime.Open(&program, o)
	if err != nil { return nil, err }
	return &Model{m}, nil
}
func (m *Model) Close() error { return m.m.Close() }
func (m *Model) Threads() int { return m.m.Threads() }
func (m *Model) NewSession() (*Session, error) {
	s, err := m.m.NewSession()
	if err != nil { return nil, err }
	return &Session{s}, nil
}
`

// languageFace is what sessions of a language model have besides.
const languageFace = `
type GenerateOptions = runtime.GenerateOptions
type Token = runtime.Token
type Message = runtime.Message
type ChatOptions = runtime.ChatOptions
func (s *Session) Chat(ctx context.Context, messages []Message, o ChatOptions) iter.Seq2[Token, error] {
	return s.s.Chat(ctx, messages, o)
}
func (s *Session) Generate(ctx context.Context, prompt string, o GenerateOptions) iter.Seq2[Token, error] {
	return s.s.Generate(ctx, prompt, o)
}
func (s *Session) Prefill(ctx context.Context, tokens []int32) ([]float32, error) { return s.s.Prefill(ctx, tokens) }
func (s *Session) Decode(ctx context.Context, token int32) ([]float32, error) { return s.s.Decode(ctx, token) }
func (s *Session) Prompt(ctx context.Context, tokens []int32) ([]float32, error) { return s.s.Prompt(ctx, tokens) }
func (s *Session) Save(w io.Writer) error { return s.s.Save(w) }
func (s *Session) Load(r io.Reader) error { return s.s.Load(r) }
func (s *Session) Len() int { return s.s.Len() }
func (s *Session) Truncate(n int) error { return s.s.Truncate(n) }
func (s *Session) Reset() { s.s.Reset() }
func (s *Session) Runtime() *runtime.Session { return s.s }
func (s *Session) Close() error { return s.s.Close() }
type Sessions struct{ g *runtime.Sessions }
func (m *Model) NewSessions() (*Sessions, error) {
	g, err := m.m.NewSessions()
	if err != nil { return nil, err }
	return &Sessions{g}, nil
}
func (g *Sessions) NewSession(ctx context.Context) (*Session, error) {
	s, err := g.g.NewSession(ctx)
	if err != nil { return nil, err }
	return &Session{s}, nil
}
func (g *Sessions) Limit() int { return g.g.Limit() }
`

// embedFace is what sessions have that make embeddings.
const embedFace = `
func (s *Session) Embed(ctx context.Context, text string) ([]float32, error) { return s.s.EmbedText(ctx, text) }
`

// runtimeFace is the way to the session of package runtime.
const runtimeFace = `
func (s *Session) Runtime() *runtime.Session { return s.s }
`

// callFace is the method that runs a function of the module, and its types.
const callFace = `
type %[1]sInputs struct { %[3]s }
type %[1]sOutputs struct { %[4]s }
func (s *Session) %[1]s(ctx context.Context, in %[1]sInputs) (out %[1]sOutputs, err error) {
	err = s.s.Call(ctx, %[2]d, []any{%[5]s}, []any{%[6]s})
	return out, err
}
`

// face compares the exported face of a package with the one that follows from the module:
// declaration by declaration, but for comments.
func (c *checker) face(p *program) {
	p.used["Open"] = true
	text := anyFace
	switch {
	case c.m.LM != nil:
		text += languageFace
		if c.m.LM.Pooling != ir.NoEmbeddings {
			text += embedFace
		}
	case c.m.Encoder != nil:
		text += embedFace + runtimeFace
	default:
		for i, f := range c.m.Funcs {
			text += c.callFace(p, i, f)
		}
	}
	want, err := declarations(text)
	if err != nil {
		fail("%v\n%s", err, text)
	}
	got := make(map[string]ast.Node)
	for id, s := range p.types {
		got[id] = s
	}
	for id, d := range p.methods {
		got[id] = d
	}
	if d := p.funcs["Open"]; d != nil {
		got["Open"] = d
	}
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
	out, outFields := c.fields(p, id+"Outputs", f.Results[:f.Returned()], resultNames(f)[:f.Returned()])
	return fmt.Sprintf(callFace, id, i, inFields, outFields, prefixed("in.", in), prefixed("&out.", out))
}

// methodOf returns the name of the method that calls the i-th function.
func (c *checker) methodOf(p *program, i int) string {
	call := fmt.Sprintf("s.s.Call(ctx, %d,", i)
	for _, id := range slices.Sorted(maps.Keys(p.methods)) {
		for _, st := range p.methods[id].Body.List {
			a, ok := st.(*ast.AssignStmt)
			if ok && len(a.Rhs) == 1 && strings.HasPrefix(source(a.Rhs[0]), call) {
				return p.methods[id].Name.Name
			}
		}
	}
	fail("no method runs @%s", c.m.Funcs[i].Name)
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

// declarations returns the declarations of a text by name: types, functions, methods as
// Session.Decode.
func declarations(text string) (map[string]ast.Node, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	list := make(map[string]ast.Node)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			id := d.Name.Name
			if d.Recv != nil {
				id = receiver(d) + "." + id
			}
			list[id] = d
		case *ast.GenDecl:
			s := d.Specs[0].(*ast.TypeSpec)
			list[s.Name.Name] = s
		}
	}
	return list, nil
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
