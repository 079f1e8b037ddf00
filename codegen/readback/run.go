package readback

import (
	"go/ast"
	"go/token"

	"github.com/ggmlc/ggmlc/ir"
)

// event is what a step function does that others can see.
type event struct {
	kind  eventKind
	first bool // worker 0 of the host alone does it
	one   bool // of a kernel that a group runs: its first thread alone does it
	pos   token.Pos
	end   token.Pos

	what string  // the kernel, or the method of the queues
	args []value // of that; of a mark its number

	times *ir.Dim       // of a kernel that is called in a loop over index: how often
	share *shareLoop    // around a kernel; nil for none
	on    *command      // of a kernel that a device runs; nil for the host
	after dispatchOrder // of a dispatch, and of a kernel that a group runs
	node  value         // what a dispatch computes, as its command names it
	count int64         // of iterations
}

type eventKind uint8

const (
	kernelEvent     eventKind = iota
	queueEvent                // of worker 0: a wait, a record, a transfer
	barrierEvent              // all workers meet
	stopEvent                 // all leave if the caller has cancelled the step
	markEvent                 // for the profile
	iterationsEvent           // a loop over a body begins
)

// command is a submission of kernels to a queue.
type command struct {
	queue     int64
	iteration ir.Dim
	label     value
	nodes     []value // what the dispatches that are still to come compute
	backend   string  // name of the package of a backend of another module; "" for others
}

// next returns what the next dispatch computes.
func (c *command) next() (node value) {
	if len(c.nodes) > 0 {
		node, c.nodes = c.nodes[0], c.nodes[1:]
	}
	return node
}

// maxEvents is the largest number of events of an entry point: the bound of check's steps, and the events
// between them.
const maxEvents = 1 << 24

// runner runs a step function for all workers at once: what only worker 0 does is marked.
type runner struct {
	c *checker
	p *program

	events []event
	active map[string]bool // functions that are being run
	first  bool            // inside of `if w.Part == 0`
	one    bool            // inside of `if e.Part == 0` of a command of a group
	share  *shareLoop
	times  *ir.Dim
	on     *command
	after  dispatchOrder // of the next dispatch

	depth  int  // of loops over iterations
	last   bool // the statement is the last one of its function
	leaves bool // where the function returns, the step ends
	head   bool // directly inside of a loop over iterations
}

// run returns the events of a step function.
func (c *checker) run(p *program, id string) []event {
	x := &runner{c: c, p: p, active: make(map[string]bool), last: true, leaves: true}
	x.function(id, []value{obj(objWorker), obj(objArgs)})
	return x.events
}

func (x *runner) emit(e event, n ast.Node) {
	if len(x.events) == maxEvents {
		fail("the step has more than %d events", maxEvents)
	}
	if x.share != nil && e.kind != kernelEvent && e.kind != markEvent {
		fail("%s: %s inside of a loop over shares, which workers go through as often as they get some", x.p.at(n.Pos()), &e)
	}
	e.first, e.pos, e.end = x.first, n.Pos(), n.End()
	x.events = append(x.events, e)
}

// function runs a function of the package with these arguments.
func (x *runner) function(id string, args []value) {
	d := x.p.funcs[id]
	if d == nil || x.active[id] {
		fail("there is no function %s, or it calls itself", id)
	}
	x.p.used[id] = true
	x.active[id] = true
	s, leaves := x.parameters(d, args), x.leaves
	x.leaves = leaves && x.last
	for i, st := range d.Body.List {
		x.last, x.head = i == len(d.Body.List)-1, false
		x.statement(s, st)
	}
	x.leaves = leaves
	x.active[id] = false
}

// parameterType returns the type of the parameter that takes a value.
func (x *runner) parameterType(v value) string {
	switch {
	case v.isObject(objForeign):
		return "*" + x.on.backend + ".Env"
	case v.isObject(objWorker):
		return "*runtime.Worker"
	case v.isObject(objArgs):
		return "*runtime.Args"
	case v.isObject(objEnv):
		return "*fake.Env"
	case v.isObject(objGroup):
		return "*runtime.GroupEnv"
	case v.isObject(objGPU):
		return "*gpu.Env"
	case v.kind == number:
		return "int"
	}
	return "?"
}

// parameters returns the scope in which a function's body begins.
func (x *runner) parameters(d *ast.FuncDecl, args []value) scope {
	s, i := make(scope), 0
	for _, field := range d.Type.Params.List {
		for _, id := range field.Names {
			if i == len(args) || typeText(field.Type) != x.parameterType(args[i]) {
				fail("%s: %s is called with other arguments than it takes", x.p.at(d.Pos()), d.Name.Name)
			}
			s[id.Name] = args[i]
			i++
		}
	}
	if i != len(args) || d.Type.Results != nil {
		fail("%s: %s is called with other arguments than it takes", x.p.at(d.Pos()), d.Name.Name)
	}
	return s
}

// block runs the statements of a loop or of a condition.
func (x *runner) block(s scope, b *ast.BlockStmt, of kindOfBlock) {
	for _, st := range b.List {
		x.last, x.head = false, of == iterationBlock
		x.statement(s, st)
	}
	x.head = false
}

type kindOfBlock uint8

const (
	plainBlock     kindOfBlock = iota
	iterationBlock             // of a loop over iterations
)

func (x *runner) statement(s scope, st ast.Stmt) {
	switch st := st.(type) {
	case *ast.AssignStmt:
		x.assign(s, st)
	case *ast.DeclStmt:
		x.constants(s, st)
	case *ast.ExprStmt:
		if e, ok := st.X.(*ast.CallExpr); ok {
			x.call(s, e)
			return
		}
		x.unknown(st, "statement")
	case *ast.IfStmt:
		x.ifStmt(s, st)
	case *ast.RangeStmt:
		x.rangeStmt(s, st)
	case *ast.ForStmt:
		x.shareStmt(s, st)
	default:
		x.unknown(st, "statement")
	}
}

// assign declares variables. Emitted code never assigns to a variable again.
func (x *runner) assign(s scope, st *ast.AssignStmt) {
	if st.Tok != token.DEFINE {
		x.unknown(st, "assignment")
	}
	var vals []value
	if lo, hi, ok := x.borders(s, st.Rhs[0]); ok && len(st.Rhs) == 1 {
		vals = []value{num(lo), num(hi)}
	} else {
		for _, e := range st.Rhs {
			vals = append(vals, x.eval(s, e))
		}
	}
	if len(vals) != len(st.Lhs) {
		x.unknown(st, "assignment")
	}
	for i, l := range st.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok {
			x.unknown(st, "assignment")
		}
		if _, again := s[id.Name]; again {
			x.unknown(st, "assignment")
		}
		s[id.Name] = vals[i]
	}
}

// constants declares the constants of a function: integers under new names.
func (x *runner) constants(s scope, st *ast.DeclStmt) {
	d, ok := st.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.CONST {
		x.unknown(st, "declaration")
	}
	for _, spec := range d.Specs {
		c := spec.(*ast.ValueSpec)
		if len(c.Names) != 1 || len(c.Values) != 1 || c.Type != nil {
			x.unknown(c, "constant")
		}
		lit, ok := c.Values[0].(*ast.BasicLit)
		_, again := s[c.Names[0].Name]
		if !ok || lit.Kind != token.INT || again {
			x.unknown(c, "constant")
		}
		s[c.Names[0].Name] = literal(lit)
	}
}

// borders returns the results of tile.Range(n, granule, w.Part, w.Parts).
func (x *runner) borders(s scope, e ast.Expr) (lo, hi ir.Dim, ok bool) {
	fn, isCall := e.(*ast.CallExpr)
	if !isCall || len(fn.Args) != 4 {
		return lo, hi, false
	}
	if _, named := fn.Fun.(*ast.SelectorExpr); !named || x.callee(s, fn) != "tile.Range" {
		return lo, hi, false
	}
	n, granule := x.eval(s, fn.Args[0]), x.eval(s, fn.Args[1])
	mine, all := x.eval(s, fn.Args[2]), x.eval(s, fn.Args[3])
	g, known := granule.n.IsConst()
	if n.kind != number || granule.kind != number || !known || !mine.n.Equal(part) || !all.n.Equal(parts) {
		x.unknown(e, "range")
	}
	lo, hi = borders(n.n, g)
	return lo, hi, true
}

// call runs a call statement.
func (x *runner) call(s scope, e *ast.CallExpr) {
	fn := x.callee(s, e)
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		args[i] = x.eval(s, a)
	}
	switch pkg, id := cut(fn); {
	case pkg == "":
		x.function(id, args)
	case pkg == "cpu":
		x.emit(event{kind: kernelEvent, what: id, args: args, times: x.times, share: x.share, on: x.on, one: x.one, after: x.after}, e)
		x.after = besideDispatch
	case fn == objWorker+".Barrier" && len(args) == 0:
		x.emit(event{kind: barrierEvent}, e)
	case fn == objWorker+".Observe":
		x.emit(event{kind: kernelEvent, what: observeCall, args: args, share: x.share, on: x.on}, e)
	case fn == objWorker+".Mark" && len(args) == 1:
		x.emit(event{kind: markEvent, args: args, share: x.share}, e)
	case fn == objQueues+".Run":
		x.submit(e, args)
	case fn == objGPU+"."+dispatchCall:
		x.emit(event{kind: kernelEvent, what: dispatchCall, args: args, on: x.on, node: x.on.next(), after: x.after}, e)
		x.after = besideDispatch
	case (fn == objGPU+"."+barrierCall || fn == objGroup+"."+barrierCall && !x.one) && len(args) == 0 && x.after == besideDispatch:
		x.after = afterBarrier
	case pkg == objForeign:
		x.emit(event{kind: kernelEvent, what: id, args: args, on: x.on, node: x.on.next()}, e)
	case pkg == objQueues:
		x.emit(event{kind: queueEvent, what: id, args: args}, e)
	default:
		x.unknown(e, "call of "+fn)
	}
}

// environments are what the functions of commands are given, by the type of commands.
var environments = map[string]string{"fake.Kernel": objEnv, "gpu.Command": objGPU, "runtime.GroupKernel": objGroup}

// submit runs q.Run(queue, &command, iteration): the kernels of a command.
func (x *runner) submit(e *ast.CallExpr, args []value) {
	if len(args) != 3 || args[0].kind != number || args[1].kind != name || !args[1].addr || args[2].kind != number || x.on != nil {
		x.unknown(e, "submission")
	}
	queue, known := args[0].n.IsConst()
	if !known {
		x.unknown(e, "submission")
	}
	c := x.variable(args[1].text)
	kernel := c.fields["Kernel"]
	env, known := environments[kernel.text]
	b := x.c.commandsOf(kernel.text)
	if b != "" {
		env, known = objForeign, true
	}
	fields := 2
	if env == objGPU || env == objForeign {
		fields = 3 // Nodes too
	}
	if c.text != "runtime.Command" || len(c.fields) != fields || kernel.kind != call || !known || len(kernel.list) != 1 || kernel.list[0].kind != name {
		x.unknown(e, "command")
	}
	x.after = afterCommand
	x.on = &command{queue: queue, iteration: args[2].n, label: c.fields["Label"], nodes: c.fields["Nodes"].list, backend: b}
	x.function(kernel.list[0].text, []value{obj(env), args[2]})
	if len(x.on.nodes) > 0 {
		x.unknown(e, "command that names more nodes than it computes")
	}
	x.on = nil
}

// ifStmt runs what worker 0 does alone, or the question whether to stop.
func (x *runner) ifStmt(s scope, st *ast.IfStmt) {
	if st.Init != nil || st.Else != nil {
		x.unknown(st, "condition")
	}
	if cond, ok := st.Cond.(*ast.CallExpr); ok && x.callee(s, cond) == objWorker+".Stop" && len(cond.Args) == 0 && onlyReturns(st.Body) {
		if !x.head || !x.leaves {
			fail("%s: what is left where the step is to stop is not the step", x.p.at(st.Pos()))
		}
		x.emit(event{kind: stopEvent}, st)
		return
	}
	cond, ok := st.Cond.(*ast.BinaryExpr)
	inGroup := x.on != nil && !x.one // in a command, Part is that of the group's thread
	if !ok || cond.Op != token.EQL || x.first && !inGroup {
		x.unknown(st, "condition")
	}
	if a, b := x.eval(s, cond.X), x.eval(s, cond.Y); a.kind != number || !a.n.Equal(part) || b.kind != number || !b.n.Is(0) {
		x.unknown(st, "condition")
	}
	only := &x.first
	if inGroup {
		only = &x.one
	}
	*only = true
	x.block(inner(s), st.Body, plainBlock)
	*only = false
}

func onlyReturns(b *ast.BlockStmt) bool {
	if len(b.List) != 1 {
		return false
	}
	r, ok := b.List[0].(*ast.ReturnStmt)
	return ok && len(r.Results) == 0
}

// inner returns a scope inside of s.
func inner(s scope) scope {
	in := make(scope, len(s)+4)
	for id, v := range s {
		in[id] = v
	}
	return in
}

// cut returns the package or object before the dot and the name after it.
func cut(id string) (of, what string) {
	for i := range id {
		if id[i] == '.' {
			return id[:i], id[i+1:]
		}
	}
	return "", id
}
