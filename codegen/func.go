package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// maxCalls is the largest number of kernel calls in one emitted function: the Go
// compiler's time grows with the square of a function's size (2,000 slice expressions in
// one function took it 92 s).
const maxCalls = 100

// funcEmitter emits the nodes of one IR function: an entry point or the body of a repeat.
type funcEmitter struct {
	g *generator
	m *ir.Module
	f *ir.Func

	// What the part that is being emitted uses, so that only that is declared.
	bases   [len(bases)]bool
	symbols map[*ir.Symbol]bool
	ranges  []ownership
	stmts   []jen.Code
	calls   int
	offsets []offsetUse

	offsetNames map[offset]string // constants of all parts
	locals      map[string]int    // their names, each with the last number that was tried after it

	shareOf *ir.Node   // the first of the run with dynamic shares that is being emitted; nil for none
	before  []jen.Code // stmts before that run

	parts int // emitted so far
	epoch int // of the last node

	outer jen.Code // how often the call that is being emitted has to be made, with i counting; nil is once

	// Of a function with nodes on devices: the command that grows, and what worker 0 does
	// until the host's next statement.
	open   *command
	driven []jen.Code
	slots  bool // something exists once for each step under way

	// self is the variable that has the number of the worker, and of all of them.
	self string

	// Of a command: the device that runs it, and the memory that it uses.
	on     *device
	memory map[int]bool
}

// ownership is a division of an axis that nodes of a function share; it becomes a pair of
// variables, c0 and c1 with a number.
type ownership struct {
	n       ir.Dim
	granule int64
}

// emitFunc emits f as one or more Go functions, the first under that name. A function with
// more than maxCalls calls continues in another, which it calls last.
func (g *generator) emitFunc(f *ir.Func, name string) {
	e := newFuncEmitter(g, f)
	part := name
	for i, n := range f.Nodes {
		e.endShareBefore(n)
		e.node(n)
		if e.shareOf == nil && e.calls >= maxCalls && i < len(f.Nodes)-1 {
			e.endDrive()
			next := g.top.pick(fmt.Sprintf("%sPart%d", name, e.parts+2))
			e.stmts = append(e.stmts, jen.Id(next).Call(e.callArgs()...))
			e.flush(part)
			part = next
		}
	}
	e.endShare()
	e.endDrive()
	if f.Owner == nil {
		e.mark(jen.Qual(g.runtimePath(), "MarkEnd"))
	}
	e.flush(part)
}

func newFuncEmitter(g *generator, f *ir.Func) *funcEmitter {
	return &funcEmitter{self: "w", g: g, m: g.m, f: f, symbols: make(map[*ir.Symbol]bool), offsetNames: make(map[offset]string), locals: make(map[string]int)}
}

// mark emits a note of what the worker begins, in programs with a profile.
func (e *funcEmitter) mark(id jen.Code) {
	if e.g.o.Profile {
		e.stmts = append(e.stmts, jen.Id("w").Dot("Mark").Call(id))
	}
}

// waiting is the note that a worker is about to wait for the others: the first of the names.
func waiting() jen.Code { return jen.Id("w").Dot("Mark").Call(jen.Lit(0)) }

// barriers emits the barrier that separates n's epoch from the one before. It is for nodes that do work: other nodes
// may precede the first node of their epoch, while the loop over a share is still open.
func (e *funcEmitter) barriers(n *ir.Node) {
	if n.Epoch == e.epoch {
		return
	}
	e.epoch = n.Epoch
	e.barrier()
}

func (e *funcEmitter) barrier() {
	if e.shareOf != nil {
		panic(fmt.Sprintf("codegen: internal error: %v: a barrier in the loop over its share, which workers run as often as they get units", e.shareOf))
	}
	e.endDrive()
	e.mark(jen.Lit(0))
	e.stmts = append(e.stmts, jen.Id("w").Dot("Barrier").Call())
}

// node emits one node: nothing for a leaf or a view, a loop for a repeat, a submission for
// a node of a device, and a call for any other node.
func (e *funcEmitter) node(n *ir.Node) {
	if n.Is(ir.Leaf) || n.Is(ir.View) {
		return
	}
	if n.Queue() == "" {
		e.awaits(n)
	}
	e.barriers(n)
	queue, _ := e.g.layout.queueOf(n)
	switch {
	case n.Op == ir.OpRepeat:
		e.endDrive()
		e.repeat(n)
	case queue >= 0:
		e.device(n)
	default:
		e.endDrive()
		e.beginShare(n)
		e.call(n)
	}
}

// call emits the call of the kernel of one node, or that which hands a value out.
func (e *funcEmitter) call(n *ir.Node) {
	e.mark(jen.Lit(len(e.g.marks)))
	e.g.marks = append(e.g.marks, fmt.Sprintf("%s %s %s", e.f.Name, n.Op, n))
	e.outer = nil
	var call *jen.Statement
	if emit := cpuEmitters[n.Op]; n.Op == ir.OpObserve {
		call = e.observe(n)
	} else if emit != nil {
		call = jen.Qual(e.g.cpuPath(), emit.kernel(n)).Call(emit.args(e, n)...)
	} else {
		panic(fmt.Sprintf("codegen: internal error: %v: no emitter for %v", n, n.Op))
	}
	e.calls++
	e.stmts = append(e.stmts, e.byOwners(n, nodeComment(call, n)))
}

// byOwners returns the call of a node's kernel by the workers that the node's partition names, as often as it has to be
// made.
func (e *funcEmitter) byOwners(n *ir.Node, call jen.Code) jen.Code {
	if e.outer != nil {
		call = jen.For(jen.Id("i").Op(":=").Range().Add(e.outer)).Block(call)
	}
	if n.Part.Mode == ir.PartOne {
		call = jen.If(jen.Id(e.self).Dot("Part").Op("==").Lit(0)).Block(call)
	}
	return call
}

// beginShare begins the loop over a worker's dynamic share of a run of nodes, if n is the first of
// such a run. What n waits for is emitted already.
func (e *funcEmitter) beginShare(n *ir.Node) {
	if n.Part.Dynamic && e.shareOf == nil {
		e.shareOf, e.before, e.stmts = n, e.stmts, nil
	}
}

// endShareBefore ends the loop if n does not belong to it.
func (e *funcEmitter) endShareBefore(n *ir.Node) {
	if e.shareOf != nil && !n.Is(ir.Leaf) && !n.Is(ir.View) && !(n.Part.Dynamic && n.Epoch == e.epoch) {
		e.endShare()
	}
}

// endShare closes the loop, if one is open.
func (e *funcEmitter) endShare() {
	if e.shareOf == nil {
		return
	}
	part := e.shareOf.Part
	loop := jen.For(
		jen.Id(shareVar).Op(":=").Id("w").Dot("Share").Call(e.dim(part.N), jen.Lit(int(part.Granule))),
		jen.Id(shareVar).Dot("Next").Call(),
		jen.Empty(),
	).Block(e.stmts...)
	e.stmts, e.shareOf = append(e.before, loop), nil
}

// shareVar is the variable of a loop over a share.
const shareVar = "u"

// repeat emits the loop over a repeat's body, which becomes a function of its own. The
// workers ask together whether to stop, once in each iteration.
func (e *funcEmitter) repeat(n *ir.Node) {
	attr := n.Attr.(*ir.RepeatAttr)
	body := e.g.bodyName(n.Body)
	loop := []jen.Code{}
	if n.Body.HeadBarrier {
		loop = append(loop, e.headWaits(n.Body)...)
		if e.g.o.Profile {
			loop = append(loop, waiting())
		}
		loop = append(loop,
			jen.Id("w").Dot("Barrier").Call(),
			jen.If(jen.Id("w").Dot("Stop").Call()).Block(jen.Return()))
	}
	loop = append(loop, jen.Id(body).Call(jen.Id("w"), jen.Id("a"), jen.Id("l")))
	e.stmts = append(e.stmts, jen.For(jen.Id("l").Op(":=").Range().Lit(int(attr.Count))).Block(loop...))
	e.calls++
}

func (e *funcEmitter) callArgs() []jen.Code {
	args := []jen.Code{jen.Id("w"), jen.Id("a")}
	if e.f.Owner != nil {
		args = append(args, jen.Id("l"))
	}
	return args
}

// flush writes the statements so far as one Go function.
func (e *funcEmitter) flush(name string) {
	params := []jen.Code{
		jen.Id("w").Op("*").Qual(e.g.runtimePath(), "Worker"),
		jen.Id("a").Op("*").Qual(e.g.runtimePath(), "Args"),
	}
	if e.f.Owner != nil {
		params = append(params, jen.Id("l").Int())
	}
	body := slices.Concat(e.constants(), e.prologue(), e.stmts)
	comment(e.g.steps, e.g.stepDoc(e.f, name, e.parts))
	e.g.steps.Func().Id(name).Params(params...).Block(body...)
	e.g.steps.Line()

	e.bases = [len(bases)]bool{}
	clear(e.symbols)
	e.ranges, e.stmts, e.calls, e.slots = nil, nil, 0, false
	e.parts++
}

// prologue declares the bases, sizes and ranges that the statements use.
func (e *funcEmitter) prologue() []jen.Code {
	var ids, vals []jen.Code
	for class, used := range e.bases {
		if !used {
			continue
		}
		b := bases[class]
		ids = append(ids, jen.Id(b.name))
		if b.field == "" {
			vals = append(vals, jen.Qual("unsafe", "Add").Call(jen.Id("a").Dot("Scratch"), jen.Id("w").Dot("Part").Op("*").Lit(int(e.g.scratchBytes()))))
			continue
		}
		vals = append(vals, jen.Id("a").Dot(b.field))
	}
	var out []jen.Code
	if len(ids) > 0 {
		out = append(out, jen.List(ids...).Op(":=").List(vals...))
	}
	for _, o := range e.ranges { // may name more symbols
		e.dim(o.n)
	}
	out = append(out, e.declareSymbols("a")...)
	if e.slots {
		out = append(out, jen.Id("slot").Op(":=").Id("a").Dot("Queues").Dot("Slot").Call())
	}
	return append(out, e.declareRanges()...)
}

// declareRanges declares the borders of what the worker owns.
func (e *funcEmitter) declareRanges() (out []jen.Code) {
	for i, o := range e.ranges {
		out = append(out, jen.List(jen.Id(rangeVar(i, 0)), jen.Id(rangeVar(i, 1))).Op(":=").
			Qual(e.g.tilePath(), "Range").Call(e.dim(o.n), jen.Lit(int(o.granule)), jen.Id(e.self).Dot("Part"), jen.Id(e.self).Dot("Parts")))
	}
	return out
}

// declareSymbols declares the sizes that the statements use; args is what has them.
func (e *funcEmitter) declareSymbols(args string) []jen.Code {
	var out []jen.Code
	for i, s := range e.m.Symbols {
		if e.symbols[s] {
			out = append(out, jen.Id(e.g.symbols[s].Name).Op(":=").Id(args).Dot("Dims").Index(jen.Lit(i)))
		}
	}
	return out
}

func rangeVar(i, end int) string {
	return fmt.Sprintf("%c%d", "abcdefghijk"[min(i, 10)], end) + rangeSuffix(i)
}

func rangeSuffix(i int) string {
	if i < 10 {
		return ""
	}
	return fmt.Sprintf("_%d", i)
}

// owned returns the variables that hold the worker's range of n elements in granules.
func (e *funcEmitter) owned(n ir.Dim, granule int64) (lo, hi string) {
	if e.shareOf != nil {
		return e.shared(shareVar+".Lo", granule), e.shared(shareVar+".Hi", granule)
	}
	i := slices.IndexFunc(e.ranges, func(o ownership) bool { return o.granule == granule && o.n.Equal(n) })
	if i < 0 {
		i = len(e.ranges)
		e.ranges = append(e.ranges, ownership{n, granule})
	}
	return rangeVar(i, 0), rangeVar(i, 1)
}

// shared returns a border of the share of a run, for a node whose units have granule elements. The
// border counts elements of the first node of the run, whose units may have another size: a share
// of the units 2 and 3 is [32,64) for a node with units of 16 elements, and [2,4) for one with units
// of one element (ir.Partition.SameUnits).
func (e *funcEmitter) shared(border string, granule int64) string {
	first := e.shareOf.Part.Granule
	switch {
	case granule > first:
		return fmt.Sprintf("(%s*%d)", border, granule/first)
	case granule < first: // without a remainder: a border is between two units, or at the end
		return fmt.Sprintf("(%s/%d)", border, first/granule)
	}
	return border
}

// box is the part of a result that a worker computes, as code: rows [r0,r1) and columns
// [c0,c1) of the result seen as a matrix.
type box struct{ r0, r1, c0, c1 jen.Code }

// box returns the worker's part of a result of that shape when it is seen as a matrix
// with the axes before cut as rows and the others as columns.
func (e *funcEmitter) box(n *ir.Node, shape []ir.Dim, cut int) box {
	rows, cols := product(shape[:cut]), product(shape[cut:])
	b := box{jen.Lit(0), e.dim(rows), jen.Lit(0), e.dim(cols)}
	if n.Part.Mode != ir.PartSplit {
		return b
	}
	axis := n.Part.Axis
	lo, hi := e.owned(n.Part.N, n.Part.Granule)
	switch {
	case axis < cut: // rows; the axes between are whole
		outer, scale := product(shape[:axis]), product(shape[axis+1:cut])
		if outer.Is(1) {
			b.r0, b.r1 = e.scaled(jen.Id(lo), scale), e.scaled(jen.Id(hi), scale)
			break
		}
		// The rows of the range are not contiguous: the call is made for each index before the axis.
		e.outer = e.dim(outer)
		row := func(v string) jen.Code { return jen.Parens(e.scaled(jen.Id("i"), shape[axis]).Op("+").Id(v)) }
		b.r0, b.r1 = e.scaled(row(lo), scale), e.scaled(row(hi), scale)
	default:
		if !product(shape[cut:axis]).Is(1) {
			panic(fmt.Sprintf("codegen: internal error: %v is divided on axis %d, inside its columns", n, axis))
		}
		scale := product(shape[axis+1:])
		b.c0, b.c1 = e.scaled(jen.Id(lo), scale), e.scaled(jen.Id(hi), scale)
	}
	return b
}

// flat returns the box of a node whose work may be seen as a matrix cut anywhere: it is
// cut right before the divided axis, so that a range of that axis is a range of columns,
// or between rows and the innermost axis. It also returns the length of a row.
func (e *funcEmitter) flat(n *ir.Node) (b box, rowLen jen.Code) {
	shape := n.Result().Type.Shape
	cut := max(0, len(shape)-1)
	if n.Part.Mode == ir.PartSplit && n.Part.Axis > 0 {
		cut = n.Part.Axis
	}
	return e.box(n, shape, cut), e.dim(product(shape[cut:]))
}

func (e *funcEmitter) scaled(v jen.Code, by ir.Dim) *jen.Statement {
	if by.Is(1) {
		return jen.Add(v)
	}
	factor := e.dim(by)
	if strings.ContainsAny(by.String(), "+-/ ") {
		factor = jen.Parens(factor)
	}
	return jen.Add(v).Op("*").Add(factor)
}

func product(ds []ir.Dim) ir.Dim {
	p := ir.Const(1)
	for _, d := range ds {
		p = p.Mul(d)
	}
	return p
}
