package codegen

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// base is a variable of a step function that points to the beginning of an arena.
type base struct {
	name  string // of the variable in emitted code
	field string // of runtime.Args; empty for scratch, which belongs to the worker
}

// bases are the variables of the arenas, by lifetime class.
var bases = [...]base{
	ir.ClassWeights:     {"m", "Weights"},
	ir.ClassState:       {"s", "State"},
	ir.ClassIO:          {"io", "IO"},
	ir.ClassActivations: {"x", "Arena"},
	ir.ClassScratch:     {"t", ""},
}

// addr is an address as emitted code writes it: a base plus a constant offset, a stride for
// each iteration of the enclosing repeat, a stride for each step in progress, and the start of a
// view where that is symbolic. The address of
//
//	unsafe.Add(x, attnQ+l*0x4000+slot*0x2000+4*n)
//
// has the arena of x, the offset attnQ, the stride 0x4000, the instance 0x2000 and the extra 4*n.
type addr struct {
	arena, chunk int
	chunks       []int // of the iterations, where they are not all in one
	offset       int64
	buffer       *ir.Value // that offset is named after
	skip         int64     // bytes of offset that views leave out at the buffer's beginning
	stride       int64
	table        []int64 // offsets of the iterations where no stride fits them; offset is then 0
	instance     int64   // bytes from what one step uses to what the next one does
	extra        ir.Dim  // bytes
}

// addrOf returns where the bytes of v are: where its root is, plus what views skip.
func (e *funcEmitter) addrOf(v *ir.Value) addr {
	var skip ir.Dim
	for s := v.Source(); s != nil; v, s = s, s.Source() {
		if v.Def.Op == ir.OpSlice {
			skip = skip.Add(sliceBytes(v.Def))
		}
	}
	a := e.rootAddr(v)
	if c, ok := skip.IsConst(); ok {
		a.offset += c
		a.skip += c
		return a
	}
	a.extra = skip
	return a
}

// sliceBytes returns how many bytes of its operand a slice skips.
func sliceBytes(n *ir.Node) ir.Dim {
	attr := n.Attr.(*ir.SliceAttr)
	t := n.Args[0].Type
	elems := attr.Start.Mul(t.StrideDims()[attr.Axis])
	return elems.Mul(ir.Const(int64(t.DType.BlockBytes()))).FloorDiv(ir.Const(int64(t.DType.BlockElems())))
}

// rootAddr returns the address of a value that owns its bytes.
func (e *funcEmitter) rootAddr(v *ir.Value) addr {
	switch {
	case v.Def != nil && v.Def.Op == ir.OpWeight:
		w := e.m.Weight(v.Def.Attr.(*ir.WeightAttr).Name)
		return e.placeAddr(w.Place, v)
	case v.Def != nil && v.Def.Op == ir.OpState:
		s := e.m.State(v.Def.Attr.(*ir.StateAttr).Name)
		return e.placeAddr(s.Place, v)
	case v.IsParam() && v.Func.Owner != nil:
		return e.bodyParamAddr(v)
	}
	return e.placeAddr(v.Place, v)
}

// bodyParamAddr returns the address of a parameter of a repeat's body: that of the
// carried or invariant operand, or the table's entry for this iteration.
func (e *funcEmitter) bodyParamAddr(v *ir.Value) addr {
	n := v.Func.Owner
	attr := n.Attr.(*ir.RepeatAttr)
	fixed := attr.Carried + attr.Invariant
	if v.Index < fixed {
		if v.Place != nil {
			return e.placeAddr(v.Place, v)
		}
		return e.addrOf(n.Args[v.Index])
	}
	a := e.tableAddr(entriesOf(v))
	a.buffer, a.skip = v, 0
	return a
}

// entriesOf returns what a parameter of a repeat's body denotes: an operand, or the entries of a table.
func entriesOf(v *ir.Value) []*ir.Value {
	n := v.Func.Owner
	attr := n.Attr.(*ir.RepeatAttr)
	fixed := attr.Carried + attr.Invariant
	if v.Index < fixed {
		return n.Args[v.Index : v.Index+1]
	}
	first := fixed + (v.Index-fixed)*int(attr.Count)
	return n.Args[first : first+int(attr.Count)]
}

// tableAddr returns the address of a table's entry: with a stride where the entries are at
// equal distances, otherwise with a list of offsets.
func (e *funcEmitter) tableAddr(entries []*ir.Value) addr {
	a := e.addrOf(entries[0])
	if len(entries) == 1 {
		return a
	}
	offsets, chunks := make([]int64, len(entries)), make([]int, len(entries))
	even, one := true, true
	for i, v := range entries {
		at := e.addrOf(v)
		offsets[i], chunks[i] = at.offset, at.chunk
		even = even && offsets[i]-offsets[0] == int64(i)*(offsets[1]-offsets[0])
		one = one && at.arena == a.arena && at.chunk == a.chunk
		if at.arena != a.arena {
			panic(fmt.Sprintf("codegen: internal error: %v and %v are entries of one table and are in two arenas", entries[0], v))
		}
	}
	if !one {
		a.chunks = chunks
	}
	if even {
		a.stride = offsets[1] - offsets[0]
		return a
	}
	a.offset, a.table = 0, offsets
	return a
}

func (e *funcEmitter) placeAddr(p *ir.Place, v *ir.Value) addr {
	if p == nil {
		panic(fmt.Sprintf("codegen: internal error: %v has no address", v))
	}
	a := addr{arena: p.Arena, chunk: p.Chunk, offset: p.Offset, buffer: e.bufferOf(v)}
	if slots := v.Slots(); slots > 1 {
		if slots != e.m.Plan.Pipeline {
			panic(fmt.Sprintf("codegen: internal error: %v has %d instances, and %d steps are under way", v, slots, e.m.Plan.Pipeline))
		}
		a.instance = e.m.Plan.Arenas[p.Arena].Stride(p)
	}
	return a
}

// ptr returns the expression for the address of v, such as unsafe.Add(m, 0x1c0+l*0x4000).
func (e *funcEmitter) ptr(v *ir.Value) jen.Code {
	if v == nil {
		return jen.Nil()
	}
	a := e.addrOf(v)
	if a.chunks != nil && e.on != nil {
		e.base(a) // that the device sees one chunk means that it sees them all
		return jen.Qual("unsafe", "Add").Call(jen.Id("e").Dot("Mem").Index(e.memoryOf(a)), e.offset(a))
	}
	return jen.Qual("unsafe", "Add").Call(jen.Id(e.base(a)), e.offset(a))
}

// memoryOf returns the expression for the number of the memory that an address is in.
func (e *funcEmitter) memoryOf(a addr) jen.Code {
	if a.chunks == nil {
		return jen.Lit(e.g.layout.number(a.arena, a.chunk))
	}
	numbers := make([]int64, len(a.chunks))
	for i, c := range a.chunks {
		numbers[i] = int64(e.g.layout.number(a.arena, c))
	}
	return jen.Id(e.g.tableName(numbers)).Index(jen.Id("l"))
}

// base returns the variable for the beginning of the arena.
func (e *funcEmitter) base(a addr) string {
	if e.on == nil {
		arena := &e.m.Plan.Arenas[a.arena]
		if e.g.layout.owner(arena.Space) >= 0 {
			panic(fmt.Sprintf("codegen: internal error: @%s: the host reads the space %s", e.f.Name, arena.Space))
		}
		e.bases[arena.Class] = true
		return bases[arena.Class].name
	}
	number := e.g.layout.number(a.arena, a.chunk)
	if !e.g.layout.sees(e.on, number) {
		panic(fmt.Sprintf("codegen: internal error: @%s: %s reads the space %s", e.f.Name, e.on.Name, e.m.Plan.Arenas[a.arena].Space))
	}
	if a.chunks == nil {
		e.memory[number] = true
	}
	return memoryVar(number)
}

// offset returns the expression for what an address adds to its base.
func (e *funcEmitter) offset(a addr) jen.Code {
	var off *jen.Statement
	if a.table != nil {
		off = jen.Id(e.g.tableName(a.table)).Index(jen.Id("l"))
	} else {
		off = jen.Add(e.literal(a))
	}
	if a.stride != 0 {
		off.Op("+").Id("l").Op("*").Id(inHex(a.stride))
	}
	if a.instance != 0 {
		off.Op("+").Add(e.slot()).Op("*").Id(inHex(a.instance))
	}
	if !a.extra.Is(0) {
		off.Op("+").Add(e.dim(a.extra))
	}
	return off
}

// slot returns the expression for the instance that the step uses.
func (e *funcEmitter) slot() jen.Code {
	if e.on != nil {
		return jen.Id("e").Dot("Slot")
	}
	e.slots = true
	return jen.Id("slot")
}

// dim returns the expression for a dimension. Its text form is Go already: renamed symbols are
// identifiers, and min, max and / of extents mean the same in both.
func (e *funcEmitter) dim(d ir.Dim) jen.Code {
	d.Symbols(func(s *ir.Symbol) { e.symbols[s] = true })
	return jen.Id(d.Subst(func(s *ir.Symbol) ir.Dim { return ir.Sym(e.g.symbols[s]) }).String())
}
