package readback

import (
	"go/ast"
	"go/token"
	"math"
	"math/big"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
)

// scope holds the variables of a function that is being run.
type scope map[string]value

// eval returns the result of an expression.
func (x *runner) eval(s scope, e ast.Expr) value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return x.eval(s, e.X)
	case *ast.BasicLit:
		return literal(e)
	case *ast.Ident:
		return x.ident(s, e)
	case *ast.SelectorExpr:
		return x.selector(s, e)
	case *ast.IndexExpr:
		return x.index(s, e)
	case *ast.UnaryExpr:
		return x.unary(s, e)
	case *ast.BinaryExpr:
		return x.binary(s, e)
	case *ast.CallExpr:
		return x.callExpr(s, e)
	case *ast.CompositeLit:
		return x.composite(s, e)
	}
	x.unknown(e, "expression")
	return value{}
}

// unknown fails at code that the emitter never writes.
func (x *runner) unknown(n ast.Node, what string) {
	fail("%s: emitted code has no such %s", x.p.at(n.Pos()), what)
}

func literal(e *ast.BasicLit) value {
	switch e.Kind {
	case token.INT:
		if n, err := strconv.ParseInt(e.Value, 0, 64); err == nil {
			return constant(n)
		}
	case token.FLOAT:
		return value{kind: real, text: e.Value}
	case token.STRING:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return value{kind: text, text: s}
		}
	}
	fail("the literal %s is none that emitted code has", e.Value)
	return value{}
}

func (x *runner) ident(s scope, e *ast.Ident) value {
	if v, ok := s[e.Name]; ok {
		return v
	}
	switch e.Name {
	case "nil":
		return value{kind: null, text: "nil"}
	case "true", "false":
		return value{kind: boolean, text: e.Name}
	}
	if x.p.declares(e.Name) {
		x.p.used[e.Name] = true
		return value{kind: name, text: e.Name}
	}
	fail("%s: %s is not declared", x.p.at(e.Pos()), e.Name)
	return value{}
}

// declares reports whether the package declares a function or variable.
func (p *program) declares(id string) bool {
	_, isVar := p.vars[id]
	return isVar || p.funcs[id] != nil
}

// selector returns a field of one of the runtime's objects, or what a package declares.
func (x *runner) selector(s scope, e *ast.SelectorExpr) value {
	if id, ok := e.X.(*ast.Ident); ok {
		if v, local := s[id.Name]; local {
			return x.field(v, e)
		}
		if x.p.imported[id.Name] {
			return value{kind: name, text: id.Name + "." + e.Sel.Name}
		}
	}
	return x.field(x.eval(s, e.X), e)
}

// field returns a field of one of the runtime's objects.
func (x *runner) field(v value, e *ast.SelectorExpr) value {
	field := e.Sel.Name
	switch {
	case (v.isObject(objWorker) || v.isObject(objGroup)) && field == "Part":
		return num(part)
	case (v.isObject(objWorker) || v.isObject(objGroup)) && field == "Parts":
		return num(parts)
	case v.isObject(objShare) && (field == "Lo" || field == "Hi"):
		lo, hi := share(v.n, x.share.granule)
		if field == "Lo" {
			return num(lo)
		}
		return num(hi)
	case (v.isEnvironment() || v.isObject(objForeign)) && field == "Slot":
		return num(slot)
	case v.isObject(objArgs) && field == "Queues":
		return obj(objQueues)
	case v.isObject(objArgs) && (field == "Weights" || field == "State" || field == "IO" || field == "Arena" || field == "Scratch"):
		return value{kind: pointer, base: base{class: field}}
	case v.isObject(objForeign) && field == "Dims":
		return value{kind: name, text: v.text + "." + field}
	case (v.isObject(objArgs) || v.isEnvironment()) && (field == "Dims" || field == "Mem"):
		return value{kind: name, text: v.text + "." + field}
	}
	x.unknown(e, "field")
	return value{}
}

// index returns a size, the memory of a number, or the entry of a table.
func (x *runner) index(s scope, e *ast.IndexExpr) value {
	of, at := x.eval(s, e.X), x.eval(s, e.Index)
	i, known := at.n.IsConst()
	if at.kind != number || !known || i < 0 {
		x.unknown(e, "index")
	}
	switch {
	case of.kind == name && (of.text == objArgs+".Dims" || of.text == objEnv+".Dims" || of.text == objGPU+".Dims" || of.text == objGroup+".Dims" || of.text == objForeign+".Dims"):
		if i < int64(len(x.c.m.Symbols)) {
			return num(ir.Sym(x.c.m.Symbols[i]))
		}
	case of.kind == name && (of.text == objEnv+".Mem" || of.text == objGPU+".Mem" || of.text == objGroup+".Mem"):
		return value{kind: pointer, base: base{memory: int(i)}}
	case of.kind == name:
		if table := x.variable(of.text); i < int64(len(table.list)) {
			return table.list[i]
		}
	}
	fail("%s: %v has no element %d", x.p.at(e.Pos()), of, i)
	return value{}
}

// variable returns the value of a package's variable.
func (x *runner) variable(id string) value {
	if v, ok := x.p.values[id]; ok {
		return v
	}
	e := x.p.vars[id]
	if e == nil {
		return value{kind: name, text: id}
	}
	x.p.values[id] = value{} // a variable that refers to itself has no value
	v := x.eval(nil, e)
	x.p.values[id] = v
	return v
}

// part returns a part of a file with kernels of GPUs.
func (x *runner) part(e *ast.CallExpr, args []value) value {
	of, isName := e.Args[0].(*ast.Ident)
	if !isName || holds(of.Name) == "" || embedded[of.Name] != "" {
		x.unknown(e, "part")
	}
	from, to := args[1], args[2]
	end, known := to.n.IsConst()
	if from.kind != number || to.kind != number || !known {
		x.unknown(e, "part")
	}
	return value{kind: code, text: of.Name, n: from.n, to: end}
}

func (x *runner) unary(s scope, e *ast.UnaryExpr) value {
	v := x.eval(s, e.X)
	switch {
	case e.Op == token.AND && (v.kind == name || v.kind == composite):
		v.addr = true
		return v
	case e.Op == token.SUB && v.kind == number:
		return num(v.n.Mul(ir.Const(-1)))
	case e.Op == token.SUB && v.kind == real:
		v.text = "-" + v.text
		return v
	}
	x.unknown(e, "operation")
	return value{}
}

// binary returns the result of arithmetic. Go's division is that of dimensions where nothing
// is negative.
func (x *runner) binary(s scope, e *ast.BinaryExpr) value {
	a, b := x.eval(s, e.X), x.eval(s, e.Y)
	if a.kind == pointer && a.base.class == "" && b.kind == number && e.Op == token.ADD { // of a GPU: pointers of Go are not added to
		return value{kind: pointer, base: a.base, n: a.n.Add(b.n)}
	}
	if a.kind == number && b.kind == number {
		x.fits(a.n, e.Op, b.n, e)
		switch e.Op {
		case token.ADD:
			return num(a.n.Add(b.n))
		case token.SUB:
			return num(a.n.Sub(b.n))
		case token.MUL:
			return num(a.n.Mul(b.n))
		case token.QUO:
			over, _ := a.n.Bounds()
			if by, _ := b.n.Bounds(); over < 0 || by < 1 {
				fail("%s: Go divides %s by %s with another result, as one may be negative or zero", x.p.at(e.Pos()), readable(a.n), readable(b.n))
			}
			return num(a.n.FloorDiv(b.n))
		}
	}
	x.unknown(e, "operation")
	return value{}
}

// fits fails at constants whose result exceeds an int64. Go's constants are unbounded where a
// float32 is wanted, and the arithmetic of dimensions wraps around.
func (x *runner) fits(a ir.Dim, op token.Token, b ir.Dim, e ast.Expr) {
	n, isConst := a.IsConst()
	m, areConst := b.IsConst()
	if !isConst || !areConst {
		return
	}
	v := big.NewInt(n)
	switch op {
	case token.ADD:
		v.Add(v, big.NewInt(m))
	case token.SUB:
		v.Sub(v, big.NewInt(m))
	case token.MUL:
		v.Mul(v, big.NewInt(m))
	}
	if !v.IsInt64() {
		x.unknown(e, "overflow")
	}
}

// callExpr returns the result of a function of the language, of unsafe or of math, or of a
// function that a table holds the result of.
func (x *runner) callExpr(s scope, e *ast.CallExpr) value {
	fn := x.callee(s, e)
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		args[i] = x.eval(s, a)
	}
	two := len(args) == 2
	switch {
	case fn == "unsafe.Add" && two && args[0].kind == pointer && args[1].kind == number:
		return value{kind: pointer, base: args[0].base, n: args[0].n.Add(args[1].n)}
	case fn == "uint64" && len(args) == 1 && args[0].kind == number:
		return args[0]
	case fn == "min" && two && args[0].kind == number && args[1].kind == number:
		return num(args[0].n.Min(args[1].n))
	case fn == "max" && two && args[0].kind == number && args[1].kind == number:
		return num(args[0].n.Max(args[1].n))
	case fn == objQueues+".Slot" && len(args) == 0:
		return num(slot)
	case fn == "gpu.Part" && len(args) == 3:
		return x.part(e, args)
	case fn == "math.Float32frombits" || fn == "fake.Kernel" || fn == "runtime.GroupKernel" || fn == "gpu.Command" || fn == "runtime.NewDevices" || fn == "runtime.NewProfile" || x.c.commandsOf(fn) != "":
		return value{kind: call, text: fn, list: args}
	}
	x.unknown(e, "call of "+fn)
	return value{}
}

// callee names what is called: a function of the package by its name, that of another as
// cpu.MatMulF32, a method of an object as worker.Barrier.
func (x *runner) callee(s scope, e *ast.CallExpr) string {
	switch fn := e.Fun.(type) {
	case *ast.Ident:
		if _, local := s[fn.Name]; !local {
			return fn.Name
		}
	case *ast.SelectorExpr:
		if id, ok := fn.X.(*ast.Ident); ok {
			if v, local := s[id.Name]; local && v.kind == object {
				return v.text + "." + fn.Sel.Name
			} else if !local && x.p.imported[id.Name] {
				return id.Name + "." + fn.Sel.Name
			}
			break
		}
		if v := x.eval(s, fn.X); v.kind == object {
			return v.text + "." + fn.Sel.Name
		}
	}
	x.unknown(e, "call")
	return ""
}

// composite returns a composite literal. What is inside of a list may leave out its type.
func (x *runner) composite(s scope, e *ast.CompositeLit) value {
	v := value{kind: composite, text: typeText(e.Type)}
	for _, el := range e.Elts {
		pair, keyed := el.(*ast.KeyValueExpr)
		if !keyed {
			v.list = append(v.list, x.eval(s, el))
			continue
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok || v.fields[key.Name].kind != invalid {
			x.unknown(pair, "element")
		}
		if v.fields == nil {
			v.fields = make(map[string]value)
		}
		v.fields[key.Name] = x.eval(s, pair.Value)
	}
	if v.list != nil && v.fields != nil {
		x.unknown(e, "literal")
	}
	return v
}

// typeText returns a type as emitted code writes it; empty where it is left out.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		switch n := e.Len.(type) {
		case nil:
			return "[]" + typeText(e.Elt)
		case *ast.Ellipsis:
			return "[...]" + typeText(e.Elt)
		case *ast.BasicLit:
			return "[" + n.Value + "]" + typeText(e.Elt)
		}
	}
	return "?"
}

// float32Of returns the number that a value is where a float32 is wanted. Literals
// have no negative zero.
func float32Of(v value) (float32, bool) {
	switch v.kind {
	case call:
		if v.text == "math.Float32frombits" && len(v.list) == 1 {
			bits, ok := v.list[0].n.IsConst()
			return math.Float32frombits(uint32(bits)), ok && bits >= 0 && bits <= math.MaxUint32
		}
	case number:
		n, ok := v.n.IsConst()
		return float32(n), ok
	case real:
		// As Go does: the literal is exact, then rounded once.
		r, ok := new(big.Rat).SetString(v.text)
		if !ok {
			return 0, false
		}
		f, _ := r.Float32()
		return f, true
	}
	return 0, false
}
