package ir

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Attribute structs are printed, read, compared and cloned by the tags of their fields:
//
//	attr:"name[,positional][,ref][,default=VALUE]"
//
// A positional attribute follows the op's name and has no name of its own in the text. With ref it is
// written @name instead of "name". A field with a default is omitted if it has that value; an empty
// default is the zero value. For example,
//
//	type RopeAttr struct {
//		NeoX bool `attr:"neox,default=false"`
//	}
//
// is printed as {neox=true}, or not at all.

// attrField is one field of an attribute struct.
type attrField struct {
	name       string
	index      int
	positional bool
	ref        bool
	optional   bool          // has a default
	def        reflect.Value // the default
	codec      *attrCodec
}

// attrCodec prints, reads and compares values of one Go type.
type attrCodec struct {
	print func(v reflect.Value) string
	parse func(p *parser, v reflect.Value)
	equal func(a, b reflect.Value) bool
	clone func(v reflect.Value) reflect.Value // nil if values hold no pointers
}

// attrFields are the fields of each op's attribute struct.
var attrFields [NumOps][]attrField

// attrOf returns the attributes of a node whose op has the attribute struct T.
func attrOf[T any](n *Node) *T { return n.Attr.(*T) }

// compileAttrs fills attrFields from the op table.
func compileAttrs() {
	for op := range NumOps {
		if a := opTable[op].Attr; a != nil {
			attrFields[op] = fieldsOf(reflect.TypeOf(a))
		}
	}
}

func fieldsOf(t reflect.Type) []attrField {
	fields := make([]attrField, t.NumField())
	for i := range fields {
		sf := t.Field(i)
		parts := strings.Split(sf.Tag.Get("attr"), ",")
		f := attrField{name: parts[0], index: i, codec: attrCodecs[sf.Type]}
		if f.name == "" || f.codec == nil {
			panic(fmt.Sprintf("ir: internal error: field %s of %v has no attr tag, or a type without a text form", sf.Name, t))
		}
		for _, part := range parts[1:] {
			f.option(part, sf.Type)
		}
		fields[i] = f
	}
	return fields
}

func (f *attrField) option(text string, t reflect.Type) {
	def, isDefault := strings.CutPrefix(text, "default=")
	switch {
	case text == "positional":
		f.positional = true
	case text == "ref":
		f.ref = true
	case isDefault:
		f.optional = true
		f.def = reflect.New(t).Elem()
		p := newParser("tag", []byte(def))
		if def != "" {
			f.codec.parse(p, f.def)
		}
		if p.failed() {
			panic(fmt.Sprintf("ir: internal error: attribute %s: %v", f.name, p.err()))
		}
	default:
		panic(fmt.Sprintf("ir: internal error: attribute %s: unknown option %q", f.name, text))
	}
}

// NewAttr returns a new attribute struct for op with the defaults set; nil if the op has none.
func NewAttr(op Op) any {
	a := op.Info().Attr
	if a == nil {
		return nil
	}
	v := reflect.New(reflect.TypeOf(a))
	for _, f := range attrFields[op] {
		if f.optional {
			v.Elem().Field(f.index).Set(f.def)
		}
	}
	return v.Interface()
}

// checkAttr reports whether n's attributes are of its op's type.
func checkAttr(n *Node) error {
	want := n.Op.Info().Attr
	if want == nil {
		if n.Attr != nil {
			return errors.New("takes no attributes")
		}
		return nil
	}
	v := reflect.ValueOf(n.Attr)
	if n.Attr == nil || v.Type() != reflect.PointerTo(reflect.TypeOf(want)) || v.IsNil() {
		return fmt.Errorf("needs attributes of type *%T", want)
	}
	return nil
}

// EqualAttr reports whether two attribute structs of an op are equal; floats are compared
// by their bits, dimensions by value.
func EqualAttr(op Op, a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if va.Type() != vb.Type() {
		return false
	}
	for _, f := range attrFields[op] {
		if !f.codec.equal(va.Elem().Field(f.index), vb.Elem().Field(f.index)) {
			return false
		}
	}
	return true
}

// CloneAttr returns a deep copy of an op's attribute struct.
func CloneAttr(op Op, a any) any {
	if a == nil {
		return nil
	}
	v := reflect.ValueOf(a).Elem()
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	for _, f := range attrFields[op] {
		if f.codec.clone != nil {
			field := c.Elem().Field(f.index)
			field.Set(f.codec.clone(field))
		}
	}
	return c.Interface()
}

// AttrText returns the attributes of a node in the text form: the positional one, which follows the
// op's name, and those in braces, which follow the operands.
func AttrText(n *Node) (positional, braces string) {
	if n.Attr == nil {
		return "", ""
	}
	v := reflect.ValueOf(n.Attr).Elem()
	var named []string
	for _, f := range attrFields[n.Op] {
		field := v.Field(f.index)
		switch {
		case f.ref:
			positional = "@" + quoteName(field.String())
		case f.positional:
			positional = f.codec.print(field)
		case f.optional && f.codec.equal(field, f.def):
		default:
			named = append(named, f.name+"="+f.codec.print(field))
		}
	}
	if len(named) > 0 {
		braces = "{" + strings.Join(named, ", ") + "}"
	}
	return positional, braces
}

// positionalField returns the op's positional attribute, or nil.
func positionalField(op Op) *attrField {
	i := slices.IndexFunc(attrFields[op], func(f attrField) bool { return f.positional })
	if i < 0 {
		return nil
	}
	return &attrFields[op][i]
}

// parsePositional reads the positional attribute of op, if it has one, into attr.
func (p *parser) parsePositional(op Op, attr any) {
	f := positionalField(op)
	if f == nil {
		return
	}
	field := reflect.ValueOf(attr).Elem().Field(f.index)
	if f.ref && p.tok.kind != tokString {
		field.SetString(p.take(tokAt, "@ and the name of a function"))
		return
	}
	f.codec.parse(p, field)
}

// parseAttrs reads the attributes in braces, if any, into attr.
func (p *parser) parseAttrs(op Op, attr any) {
	seen := make(map[string]bool)
	if p.accept("{") {
		for first := true; !p.lineFailed() && !p.accept("}"); first = false {
			if !first {
				p.expect(",")
			}
			p.parseAttr(op, attr, seen)
		}
	}
	for _, f := range attrFields[op] {
		if !f.positional && !f.optional && !seen[f.name] {
			p.errorf("%v needs the attribute %s", op, f.name)
		}
	}
}

func (p *parser) parseAttr(op Op, attr any, seen map[string]bool) {
	at := p.tok
	name := p.ident("the name of an attribute")
	i := slices.IndexFunc(attrFields[op], func(f attrField) bool { return !f.positional && f.name == name })
	switch {
	case p.lineFailed():
		return
	case i < 0:
		p.errorAt(at, "%v has no attribute %s", op, name)
		return
	case seen[name]:
		p.errorAt(at, "attribute %s occurs twice", name)
		return
	}
	seen[name] = true
	p.expect("=")
	f := attrFields[op][i]
	f.codec.parse(p, reflect.ValueOf(attr).Elem().Field(f.index))
}

var attrCodecs = map[reflect.Type]*attrCodec{
	reflect.TypeFor[string]():       codecOf(quote, func(p *parser) string { return p.str("a text in quotes") }, same[string]),
	reflect.TypeFor[bool]():         codecOf(strconv.FormatBool, (*parser).boolean, same[bool]),
	reflect.TypeFor[int]():          codecOf(strconv.Itoa, func(p *parser) int { return int(p.integer()) }, same[int]),
	reflect.TypeFor[int64]():        codecOf(func(v int64) string { return strconv.FormatInt(v, 10) }, (*parser).integer, same[int64]),
	reflect.TypeFor[float32]():      codecOf(floatText, (*parser).float, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	reflect.TypeFor[Dim]():          codecOf(Dim.String, (*parser).dim, Dim.Equal),
	reflect.TypeFor[dtype.DType]():  codecOf(dtype.DType.String, (*parser).dtype, same[dtype.DType]),
	reflect.TypeFor[dtype.Layout](): codecOf(dtype.Layout.String, (*parser).layout, same[dtype.Layout]),
	reflect.TypeFor[SumOrder]():     codecOf(SumOrder.String, (*parser).sumOrder, same[SumOrder]),
	reflect.TypeFor[[]int]():        cloning(codecOf(intsText, (*parser).ints, slices.Equal[[]int]), slices.Clone[[]int]),
	reflect.TypeFor[[]string]():     cloning(codecOf(quotedList, (*parser).texts, slices.Equal[[]string]), slices.Clone[[]string]),
	reflect.TypeFor[[]ChainStep]():  chainSteps(),
	reflect.TypeFor[[]Dim]():        cloning(codecOf(dimsText, (*parser).dims, EqualDims), slices.Clone[[]Dim]),
	reflect.TypeFor[[]byte](): cloning(codecOf(func(b []byte) string { return `"` + hex.EncodeToString(b) + `"` },
		(*parser).hexBytes, bytes.Equal), bytes.Clone),
}

// codecOf returns a codec for values of type T.
func codecOf[T any](print func(T) string, parse func(*parser) T, equal func(a, b T) bool) *attrCodec {
	of := func(v reflect.Value) T { return v.Interface().(T) }
	return &attrCodec{
		print: func(v reflect.Value) string { return print(of(v)) },
		parse: func(p *parser, v reflect.Value) { v.Set(reflect.ValueOf(parse(p))) },
		equal: func(a, b reflect.Value) bool { return equal(of(a), of(b)) },
	}
}

func cloning[T any](c *attrCodec, clone func(T) T) *attrCodec {
	c.clone = func(v reflect.Value) reflect.Value { return reflect.ValueOf(clone(v.Interface().(T))) }
	return c
}

func same[T comparable](a, b T) bool { return a == b }

func intsText(ns []int) string {
	texts := make([]string, len(ns))
	for i, n := range ns {
		texts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// quietNaN is the NaN that is written as nan. Others are written with their bits.
const quietNaN = 0x7fc00000

// floatText returns the shortest text that is parsed to the same bits.
func floatText(f float32) string {
	switch bits := math.Float32bits(f); {
	case bits == quietNaN:
		return "nan"
	case f != f:
		return fmt.Sprintf("nan(0x%x)", bits)
	case math.IsInf(float64(f), 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(float64(f), 'g', -1, 32)), "+")
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 32)
}

// AttrDims returns the dimensions in an attribute struct.
func AttrDims(attr any) []Dim {
	switch a := attr.(type) {
	case *ReshapeAttr:
		return a.Shape
	case *SliceAttr:
		return []Dim{a.Start, a.Len}
	case *AttentionSegmentsAttr:
		return []Dim{a.Segments}
	}
	return nil
}
