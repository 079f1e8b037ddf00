package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// An offset that a function uses more than once is a constant of that function, named after the buffer that begins
// there:
//
//	const (
//		attnNorm = 0x1d800
//		attnQ    = 0x25800
//	)
//
// A buffer is the bytes of a value and of what replaces that value in place. Buffers that share bytes at different
// times have different names.

// offsetUse is one place of emitted code that has an offset.
type offsetUse struct {
	offset
	skip int64          // bytes from the offset on, which a view leaves out
	code *jen.Statement // a literal, until it is known how often the offset is used
}

// offset is where a buffer begins.
type offset struct {
	buffer       *ir.Value
	arena, chunk int
	bytes        int64
}

// literal returns the constant part of an address. It becomes a name where that is used more than once.
func (e *funcEmitter) literal(a addr) jen.Code {
	code := jen.Id(inHex(a.offset))
	e.offsets = append(e.offsets, offsetUse{offset{a.buffer, a.arena, a.chunk, a.offset - a.skip}, a.skip, code})
	return code
}

func inHex(n int64) string { return fmt.Sprintf("%#x", n) }

// constants declares the offsets that the statements use more than once, in the order of their first uses, and puts
// the names in their places.
func (e *funcEmitter) constants() []jen.Code {
	uses := make(map[offset]int)
	for _, u := range e.offsets {
		uses[u.offset]++
	}
	var defs []jen.Code
	names := make(map[offset]string)
	for _, u := range e.offsets {
		if uses[u.offset] < 2 {
			continue
		}
		name, declared := names[u.offset]
		if !declared {
			name = e.offsetName(u.offset)
			names[u.offset] = name
			defs = append(defs, jen.Id(name).Op("=").Id(inHex(u.bytes)))
		}
		*u.code = *jen.Id(name)
		if u.skip != 0 {
			u.code.Op("+").Id(inHex(u.skip))
		}
	}
	e.offsets = nil
	switch len(defs) {
	case 0:
		return nil
	case 1:
		return []jen.Code{jen.Const().Add(defs[0])}
	}
	return []jen.Code{jen.Const().Defs(defs...)}
}

// offsetName returns the constant for an offset. A function that is emitted in parts uses the same name in all of them.
func (e *funcEmitter) offsetName(o offset) string {
	if name, ok := e.offsetNames[o]; ok {
		return name
	}
	name := e.local(bufferName(o.buffer))
	e.offsetNames[o] = name
	return name
}

// local returns a name for a constant of a function. It differs from the function's other constants and from what the
// package declares; constants of other functions may have it.
func (e *funcEmitter) local(want string) string {
	g := e.g
	declared := func(name string) bool { return g.top[name] && !g.locals[name] }
	if isReserved(want) || isMemory(want) || declared(want) {
		want += "At"
	}
	name := want
	for n := max(e.locals[want], 1); e.locals[name] > 0 || declared(name); e.locals[want] = n {
		n++
		name = want + strconv.Itoa(n)
	}
	e.locals[name] = max(e.locals[name], 1)
	g.locals.take(name)
	g.top.take(name) // what the package declares later is not hidden by it
	return name
}

// bufferOf returns the value that the buffer of v is named after: the first that has these bytes. That is v, or an
// operand whose bytes v takes over where the plan places both at one address.
func (e *funcEmitter) bufferOf(v *ir.Value) *ir.Value {
	first := v
	var later []*ir.Value
	for e.g.buffers[first] == nil {
		later = append(later, first)
		before := e.overwritten(first)
		if before == nil {
			e.g.buffers[first] = first
			break
		}
		first = before
	}
	first = e.g.buffers[first]
	for _, v := range later {
		e.g.buffers[v] = first
	}
	return first
}

// overwritten returns the value whose bytes v takes over in place; nil if there is none.
func (e *funcEmitter) overwritten(v *ir.Value) *ir.Value {
	at := e.placeOf(v)
	for _, from := range takenFrom(v) {
		from = from.Root()
		if was := e.placeOf(from); at != nil && was != nil && samePlace(was, at) {
			return from
		}
	}
	return nil
}

// takenFrom returns the values whose bytes v may have taken over: operands of its node, and for parameters of a body
// and results of a repeat what the repeat is given for them.
func takenFrom(v *ir.Value) []*ir.Value {
	n := v.Def
	switch {
	case n == nil && v.Func.Owner != nil:
		if a := v.Func.Owner.Attr.(*ir.RepeatAttr); v.Index < a.Carried+a.Invariant {
			return v.Func.Owner.Args[v.Index : v.Index+1]
		}
		return nil
	case n == nil || n.Is(ir.Leaf):
		return nil
	case n.Op == ir.OpRepeat:
		return n.Args[v.Index : v.Index+1]
	}
	return n.Args
}

// placeOf returns the place of a value that owns its bytes; nil for the entries of a table, which have several.
func (e *funcEmitter) placeOf(v *ir.Value) *ir.Place {
	switch {
	case v.Def != nil && v.Def.Op == ir.OpWeight:
		return e.m.Weight(v.Def.Attr.(*ir.WeightAttr).Name).Place
	case v.Def != nil && v.Def.Op == ir.OpState:
		return e.m.State(v.Def.Attr.(*ir.StateAttr).Name).Place
	case v.Def == nil && v.Place == nil:
		if from := takenFrom(v); from != nil {
			return e.placeOf(from[0].Root())
		}
	}
	return v.Place
}

func samePlace(a, b *ir.Place) bool {
	return a.Arena == b.Arena && a.Chunk == b.Chunk && a.Offset == b.Offset
}

// bufferName returns a name for a buffer that begins with v: the name of v if a person has given it,
// otherwise that of the weight that v is computed with, or the layer part and the op.
func bufferName(v *ir.Value) string {
	for _, text := range []string{given(v.Name()), strings.TrimSuffix(weightOf(v), ".weight"), partOf(v), v.Name()} {
		if name := exportedName(text); text != "" && isWord(name) {
			return lowerFirst(name)
		}
	}
	return "offset"
}

// given returns a value's name unless it is a number, as in v25.
func given(name string) string {
	if strings.Trim(strings.TrimPrefix(name, "v"), "0123456789") == "" {
		return ""
	}
	return name
}

// weightOf returns the name of the weight that v is computed with; empty if there is none.
func weightOf(v *ir.Value) string {
	if v.Def == nil {
		return ""
	}
	for _, a := range v.Def.Args {
		a = a.Root()
		from := a
		if a.Def == nil && a.Func.Owner != nil {
			from = entriesOf(a)[0].Root()
		}
		if from.Def != nil && from.Def.Op == ir.OpWeight {
			return a.Name()
		}
	}
	return ""
}

// partOf returns the layer part and the op of a value, such as attn.rope; of attention the part alone, as in shapeName.
func partOf(v *ir.Value) string {
	if v.Def == nil || v.Def.Pos == "" {
		return ""
	}
	part := v.Def.Pos
	if v.Func.Owner != nil {
		part = part[strings.LastIndex(part, ".")+1:]
	}
	if isAttention(v.Def) {
		return part
	}
	return part + "." + v.Def.Op.String()
}
