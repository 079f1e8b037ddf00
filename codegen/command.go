package codegen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
)

// command is a run of nodes that one queue executes without a wait in between.
type command struct {
	queue int
	split int
	waits bool // the host waits until it is done
	nodes []*ir.Node
}

// device emits a node that the host does not run: a transfer, or a kernel of a command.
func (e *funcEmitter) device(n *ir.Node) {
	queue, waits := e.g.layout.queueOf(n)
	if c := e.open; c != nil && (c.queue != queue || c.split != n.Split || c.waits != waits || n.Submit != nil && len(n.Submit.Waits) > 0 || len(c.nodes) == maxCalls) {
		e.closeCommand()
	}
	if n.Queue() != "" { // otherwise the host has waited: see awaits
		e.waitsOf(n, queue)
	}
	if isCopy(n) {
		e.closeCommand()
		e.transfer(n, queue)
		if waits {
			e.finish(queue)
		}
	} else {
		if e.open == nil {
			e.open = &command{queue: queue, split: n.Split, waits: waits}
		}
		e.open.nodes = append(e.open.nodes, n)
	}
	if n.Submit != nil && n.Submit.Event > 0 {
		e.closeCommand()
		e.record(n.Submit.Event, queue)
	}
}

// drive adds a statement that worker 0 alone executes; q are the queues.
func (e *funcEmitter) drive(s jen.Code) {
	e.driven = append(e.driven, s)
	e.calls++
}

// endDrive ends a run of statements of worker 0.
func (e *funcEmitter) endDrive() {
	e.closeCommand()
	if len(e.driven) == 0 {
		return
	}
	body := append([]jen.Code{jen.Id("q").Op(":=").Id("a").Dot("Queues")}, e.driven...)
	e.stmts = append(e.stmts, jen.If(jen.Id("w").Dot("Part").Op("==").Lit(0)).Block(body...))
	e.driven = nil
}

// closeCommand submits the open command.
func (e *funcEmitter) closeCommand() {
	c := e.open
	if c == nil {
		return
	}
	e.open = nil
	name := e.g.emitCommand(e.f, c)
	e.drive(jen.Id("q").Dot("Run").Call(jen.Lit(c.queue), jen.Op("&").Id(name), e.iteration()))
	if c.waits {
		e.finish(c.queue)
	}
}

// iteration returns the expression for the iteration of the enclosing repeat.
func (e *funcEmitter) iteration() jen.Code {
	if e.f.Owner != nil {
		return jen.Id("l")
	}
	return jen.Lit(0)
}

// finish makes the host wait until the queue is empty.
func (e *funcEmitter) finish(queue int) {
	e.drive(jen.Id("q").Dot("Finish").Call(jen.Lit(queue)))
}

// waitsOf emits what a node waits for: on its queue, or, with queue -1, on the host. Where a
// queue has no events the host waits: for the event, or until the queue is empty.
func (e *funcEmitter) waitsOf(n *ir.Node, queue int) {
	if n.Submit == nil {
		return
	}
	l := e.g.layout
	for _, w := range n.Submit.Waits {
		on := l.recorder(e.f, w.Event)
		method, args := "Wait", []jen.Code{jen.Lit(queue), jen.Lit(w.Event)}
		switch {
		case !l.hasEvents(on):
			e.finish(on)
			continue
		case queue < 0 || !l.hasEvents(queue):
			method, args = "Await", args[1:]
		}
		if w.Prev {
			method += "Prev"
		}
		e.drive(jen.Id("q").Dot(method).Call(args...))
	}
}

// awaits emits what the host waits for before n: worker 0 waits, and a barrier of the plan keeps the
// other workers back. The barrier is before n, or at the head of each iteration of the repeat n, or at
// the head of each iteration that begins with n. In the last case repeat has emitted the wait.
func (e *funcEmitter) awaits(n *ir.Node) {
	if n.Submit == nil || len(n.Submit.Waits) == 0 || awaitedAtHead(e.f) == n {
		return
	}
	e.closeCommand() // what was submitted before the wait stays before it
	e.waitsOf(n, -1)
}

// headWaits returns what worker 0 waits for at the head of each iteration of a body.
func (e *funcEmitter) headWaits(body *ir.Func) []jen.Code {
	n := awaitedAtHead(body)
	if n == nil {
		return nil
	}
	before := e.stmts
	e.stmts = nil
	e.waitsOf(n, -1)
	e.endDrive()
	waits := e.stmts
	e.stmts = before
	return waits
}

// awaitedAtHead returns the node of a repeat's body that the host's wait at the head of each
// iteration belongs to; nil if there is none.
func awaitedAtHead(f *ir.Func) *ir.Node {
	i := slices.IndexFunc(f.Nodes, func(n *ir.Node) bool { return !n.Is(ir.Leaf) && !n.Is(ir.View) })
	if f.Owner == nil || !f.HeadBarrier || i < 0 || f.Nodes[i].Epoch != 0 || f.Nodes[i].Queue() != "" {
		return nil
	}
	return f.Nodes[i]
}

// record emits the record of an event on a queue. Queues without events record none: see
// waitsOf.
func (e *funcEmitter) record(event, queue int) {
	if e.g.layout.hasEvents(queue) {
		e.drive(jen.Id("q").Dot("Record").Call(jen.Lit(queue), jen.Lit(event)))
	}
}

// label emits what the runtime calls a command or transfer in f.
func (g *generator) label(f *ir.Func, split int, what string) jen.Code {
	fields := []jen.Code{jen.Id("Func").Op(":").Lit(f.Entry().Name), jen.Id("Split").Op(":").Lit(split)}
	if what != "" {
		fields = append(fields, jen.Id("What").Op(":").Lit(what))
	}
	if f.Owner != nil {
		fields = append(fields, jen.Id("Repeated").Op(":").True())
	}
	return jen.Qual(g.runtimePath(), "Label").Values(fields...)
}

// emitCommand emits the kernels of a command as a function, and the variable that the
// runtime knows it by, whose name it returns.
func (g *generator) emitCommand(f *ir.Func, c *command) string {
	on := g.layout.devices[g.layout.queues[c.queue].device]
	name := g.top.pick(fmt.Sprintf("%sSplit%d", g.goName(f), c.split))
	kernels := g.top.pick(name + "Kernels")
	k := newFuncEmitter(g, f)
	k.on, k.memory, k.self = &on, make(map[int]bool), "e"
	b := backend.Get(on.Kind)
	var nodes []jen.Code
	for _, n := range c.nodes {
		whole := *n // workers of the host share nothing that a device runs
		whole.Part = ir.Partition{}
		if on.Kind == kindGroup {
			whole.Part = n.Submit.Within
			k.meet(n)
		}
		if gpuKinds[on.Kind] != nil {
			if len(k.stmts) > 0 && !concurrent(n) {
				k.stmts = append(k.stmts, jen.Id("e").Dot("Barrier").Call())
			}
			k.stmts = append(k.stmts, k.dispatch(&whole))
			nodes = append(nodes, jen.Lit(nodeName(n)))
			continue
		}
		if b != nil {
			k.stmts = append(k.stmts, k.foreignCall(b, &whole))
			nodes = append(nodes, jen.Lit(nodeName(n)))
			continue
		}
		emit := cpuEmitters[n.Op]
		if emit == nil {
			panic(fmt.Sprintf("codegen: internal error: %v: no emitter for %v", n, n.Op))
		}
		k.outer = nil
		call := nodeComment(jen.Qual(g.cpuPath(), emit.kernel(n)).Call(emit.args(k, &whole)...), n)
		k.stmts = append(k.stmts, k.byOwners(&whole, call))
	}
	comment(g.steps, fmt.Sprintf("%s is part of @%s, split %d, on %s.", name, f.Entry().Name, c.split, g.layout.queues[c.queue].name))
	path, typ, env := g.fakePath(), "Kernel", "Env"
	if b != nil {
		path = b.Package
	}
	fields := []jen.Code{jen.Id("Label").Op(":").Add(g.label(f, c.split, ""))}
	if on.Kind == kindGroup {
		path, typ, env = g.runtimePath(), "GroupKernel", "GroupEnv"
	}
	if gpuKinds[on.Kind] != nil {
		path, typ = g.gpuPath(), "Command"
	}
	if nodes != nil {
		fields = append(fields, jen.Id("Nodes").Op(":").Index().String().Values(nodes...))
	}
	fields = append(fields, jen.Id("Kernel").Op(":").Qual(path, typ).Call(jen.Id(kernels)))
	g.steps.Var().Id(name).Op("=").Qual(g.runtimePath(), "Command").Values(fields...)
	g.steps.Line()
	g.steps.Func().Id(kernels).Params(jen.Id("e").Op("*").Qual(path, env), jen.Id("l").Int()).
		Block(append(k.commandPrologue(), k.stmts...)...)
	g.steps.Line()
	return name
}

// meet emits the barrier of a group's threads before a node, unless it is the first of its command or may run at the
// same time as the one before it.
func (e *funcEmitter) meet(n *ir.Node) {
	if len(e.stmts) > 0 && !concurrent(n) {
		e.stmts = append(e.stmts, jen.Id(e.self).Dot("Barrier").Call())
	}
}

// concurrent reports whether a node may run at the same time as the one before it on its queue.
func concurrent(n *ir.Node) bool { return n.Submit != nil && n.Submit.Concurrent }

// goName returns the Go name of the function that f is emitted as.
func (g *generator) goName(f *ir.Func) string {
	if f.Owner != nil {
		return g.bodies[f]
	}
	return g.names.steps[f]
}

// commandPrologue declares the offsets, the memory and the sizes that a command uses.
func (e *funcEmitter) commandPrologue() []jen.Code {
	out := e.constants()
	for _, k := range slices.Sorted(maps.Keys(e.memory)) {
		out = append(out, jen.Id(memoryVar(k)).Op(":=").Id("e").Dot("Mem").Index(jen.Lit(k)))
	}
	for _, o := range e.ranges { // may name more symbols
		e.dim(o.n)
	}
	return append(append(out, e.declareSymbols("e")...), e.declareRanges()...)
}

// memoryVar is the variable of a command that points to the beginning of a chunk.
func memoryVar(number int) string { return fmt.Sprintf("mem%d", number) }

// transfer emits a copy that a queue makes, mostly from one memory into another. Contiguous bytes
// are copied by one transfer.
func (e *funcEmitter) transfer(n *ir.Node, queue int) {
	label := e.g.top.pick(e.g.goName(e.f) + "Copy")
	e.g.steps.Var().Id(label).Op("=").Add(e.g.label(e.f, n.Split, fmt.Sprintf("%v = %v %v", n.Result(), n.Op, n.Args[0])))
	e.g.steps.Line()
	dst, src := e.addrOf(n.Result()), e.addrOf(n.Args[0])
	args := []jen.Code{jen.Lit(queue), jen.Op("&").Id(label), e.iteration(),
		e.memoryOf(dst), e.offset(dst), e.memoryOf(src), e.offset(src)}
	if n.Op == ir.OpCopyExperts {
		index := e.addrOf(n.Args[1])
		w := n.Args[0].Type
		e.drive(nodeComment(jen.Id("q").Dot("CopyPicked").Call(append(args, e.dim(ir.ExpertBytes(w)), e.dim(w.Shape[0]),
			e.memoryOf(index), e.offset(index), e.dim(n.Args[1].Type.Elems()))...), n))
		return
	}
	if t := n.Args[0].Type; t.Strides != nil && t.Rank() > 0 {
		e.drive(nodeComment(jen.Id("q").Dot("CopyBox").Call(append(args, e.box4(t)...)...), n))
		return
	}
	e.drive(nodeComment(jen.Id("q").Dot("Copy").Call(append(args, e.dim(n.Args[0].Type.Bytes()))...), n))
}

// maxBoxRank is the largest rank of a strided view that is copied.
const maxBoxRank = 4

// box4 returns the elements of a strided view for the runtime: the bytes of an element, and for
// each axis how many there are and the bytes from one to the next. The innermost dimension of a
// block format is dense: there an element is a block.
func (e *funcEmitter) box4(t ir.Type) []jen.Code {
	var shape, stride []jen.Code
	for range maxBoxRank - t.Rank() {
		shape, stride = append(shape, jen.Lit(1)), append(stride, jen.Lit(0))
	}
	bytes, block := ir.Const(int64(t.DType.BlockBytes())), ir.Const(int64(t.DType.BlockElems()))
	for axis, n := range t.Shape {
		step := t.Strides[axis].Mul(bytes).FloorDiv(block)
		if axis == t.Rank()-1 && !block.Is(1) {
			n, step = n.FloorDiv(block), bytes
		}
		shape, stride = append(shape, e.dim(n)), append(stride, e.dim(step))
	}
	array := func(vals []jen.Code) jen.Code { return jen.Index(jen.Lit(maxBoxRank)).Int().Values(vals...) }
	return []jen.Code{jen.Lit(t.DType.BlockBytes()), array(shape), array(stride)}
}
