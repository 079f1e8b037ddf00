package readback_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// expr changes an expression.
func (g *mutator) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		g.literal(e)
	case *ast.Ident:
		g.ident(e)
	case *ast.SelectorExpr:
		g.selector(e)
	case *ast.CallExpr:
		g.call(e)
	case *ast.BinaryExpr:
		g.binary(e)
	case *ast.UnaryExpr:
		g.add("no operator", g.put(e, g.text(e.X)))
		if e.Op == token.SUB {
			g.add("operator twice", g.put(e, "-("+g.text(e)+")"))
		}
	case *ast.ParenExpr:
		g.add("no parentheses", g.put(e, g.text(e.X)))
	case *ast.IndexExpr:
		for _, table := range g.tables {
			if g.text(e.X) != table {
				g.add("another table", g.put(e.X, table))
			}
		}
		g.add("first entry", g.put(e.Index, "0"))
		g.add("next entry", g.put(e.Index, "("+g.text(e.Index)+"+1)"))
	case *ast.CompositeLit:
		g.elements(e)
	case *ast.StructType:
		g.fields(e)
	case *ast.ArrayType:
		if e.Len == nil {
			g.add("another type", g.put(e.Elt, "uint32"))
		}
	case *ast.StarExpr:
		g.add("no pointer", g.put(e, g.text(e.X)))
	}
}

// literal changes a number or a string.
func (g *mutator) literal(e *ast.BasicLit) {
	switch e.Kind {
	case token.INT:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		if err != nil {
			return
		}
		for _, to := range []int64{n + 1, n - 1, n + 64, n - 64, 2 * n, 0, -n, n + 1<<32} {
			if to != n {
				g.add("number", g.put(e, fmt.Sprint(to)))
			}
		}
		g.add("number of another form", g.put(e, fmt.Sprintf("0b%b", n)))
		g.add("number of another form", g.put(e, fmt.Sprintf("(%d+%d)", n-3, 3)))
		g.add("number that overflows", g.put(e, "0x7fffffffffffffffff"))
		g.add("number that wraps", g.put(e, fmt.Sprintf("(0x7fffffffffffffff*2+2+%d)", n)))
		if slices.Contains(g.vars, "l") && g.text(e) != "0" {
			g.add("iteration", g.put(e, "l"))
		}
	case token.FLOAT:
		g.float(e)
	case token.STRING:
		g.add("string", g.put(e, strings.TrimSuffix(e.Value, `"`)+`x"`))
		g.add("string", g.put(e, `""`))
	}
}

// float changes a floating-point constant by as little as its type shows, and in its sign.
func (g *mutator) float(e *ast.BasicLit) {
	f, err := strconv.ParseFloat(e.Value, 32)
	if err != nil {
		return
	}
	for _, to := range []float32{next(float32(f), 1), next(float32(f), -1), -float32(f), 0} {
		g.add("floating-point number", g.put(e, fmt.Sprint(to)))
	}
	g.add("number of another form", g.put(e, strconv.FormatFloat(f, 'x', -1, 64)))
}

// ident puts another variable in the place of one, or the other truth.
func (g *mutator) ident(e *ast.Ident) {
	switch e.Name {
	case "true":
		g.add("truth", g.put(e, "false"))
	case "false":
		g.add("truth", g.put(e, "true"))
	case "nil":
		for _, v := range g.vars {
			g.add("nil", g.put(e, v))
		}
	}
	if slices.Contains(g.labels, e.Name) {
		for _, other := range g.labels {
			if other != e.Name {
				g.add("another command or label", g.put(e, other))
			}
		}
	}
	if !slices.Contains(g.vars, e.Name) {
		return
	}
	for _, v := range g.vars {
		if v != e.Name {
			g.add("another variable", g.put(e, v))
		}
	}
	g.add("one more", g.put(e, "("+e.Name+"+1)"))
	if e.Name == "l" {
		g.add("iteration", g.put(e, "0"))
	}
}

// Names that may replace each other after a dot.
var alike = [][]string{
	{"Weights", "State", "IO", "Arena", "Scratch"}, {"Part", "Parts"}, {"Lo", "Hi"},
	{"Wait", "WaitPrev", "Record"}, {"Await", "AwaitPrev", "Finish"},
	{"Weights", "State", "IO", "Activations", "Scratch"}, {"F32", "I32", "F16", "BF16", "U8"},
	{"Decode", "Prefill"}, {"Len", "Reset", "Close", "Threads"}, {"Barrier", "Stop"}, {"Slot", "Step"},
}

func (g *mutator) selector(e *ast.SelectorExpr) {
	for _, names := range alike {
		if slices.Contains(names, e.Sel.Name) {
			for _, other := range names {
				if other != e.Sel.Name {
					g.add("another "+e.Sel.Name, g.put(e.Sel, other))
				}
			}
		}
	}
}

// call exchanges arguments, and calls what takes the same ones.
func (g *mutator) call(e *ast.CallExpr) {
	for i := 1; i < len(e.Args); i++ {
		g.swap("swap arguments", e.Args[i-1], e.Args[i])
	}
	switch fn := e.Fun.(type) {
	case *ast.Ident:
		for _, list := range g.funcs {
			if slices.Contains(list, fn.Name) {
				for _, other := range list {
					if other != fn.Name {
						g.add("another function", g.put(fn, other))
					}
				}
			}
		}
		if fn.Name == "min" || fn.Name == "max" {
			g.add("another function", g.put(fn, map[string]string{"min": "max", "max": "min"}[fn.Name]))
		}
	case *ast.SelectorExpr:
		if g.text(fn.X) == "cpu" {
			g.kernel(fn)
		}
		if g.text(fn) == "unsafe.Add" && len(e.Args) == 2 {
			g.add("base alone", g.put(e, g.text(e.Args[0])))
		}
	}
}

// kernel calls others that take the same arguments: those whose names are next to it.
func (g *mutator) kernel(fn *ast.SelectorExpr) {
	for _, list := range g.kernels {
		i := slices.Index(list, fn.Sel.Name)
		if i < 0 || len(list) == 1 {
			continue
		}
		for _, by := range []int{1, len(list) - 1, 2} {
			if other := list[(i+by)%len(list)]; other != fn.Sel.Name {
				g.add("another kernel", g.put(fn.Sel, other))
			}
		}
	}
}

// binary changes an operator, the order of operands and how operands are grouped.
func (g *mutator) binary(e *ast.BinaryExpr) {
	x, y := g.text(e.X), g.text(e.Y)
	for _, op := range []string{"+", "-", "*", "/", "%", "<<", "|"} {
		if op != e.Op.String() && e.Op != token.EQL {
			g.add("operator", g.put(e, "("+x+op+y+")"))
		}
	}
	g.add("one operand", g.put(e, x))
	g.add("one operand", g.put(e, y))
	switch e.Op {
	case token.ADD, token.MUL:
		g.add("operands in another order", g.put(e, "("+y+e.Op.String()+x+")"))
	default:
		g.add("operands exchanged", g.put(e, "("+y+e.Op.String()+x+")"))
	}
	if in, ok := e.X.(*ast.BinaryExpr); ok {
		g.add("operands grouped otherwise", g.put(e, "("+g.text(in.X)+in.Op.String()+"("+g.text(in.Y)+e.Op.String()+y+"))"))
	}
}

// elements drops, doubles and exchanges what is in a literal.
func (g *mutator) elements(e *ast.CompositeLit) {
	for i, el := range e.Elts {
		if unread(el) || i > 0 && unread(e.Elts[i-1]) {
			continue
		}
		g.add("drop element", edit{g.file, g.at(el.Pos()), g.afterComma(el), ""})
		g.add("double element", g.after(el, ", "+g.text(el)))
		if i == 0 {
			continue
		}
		before := e.Elts[i-1]
		a, keyed := before.(*ast.KeyValueExpr)
		if !keyed {
			g.swap("swap elements", before, el)
			g.rows(before, el)
			continue
		}
		b := el.(*ast.KeyValueExpr)
		g.swap("swap values", a.Value, b.Value)
		g.add("elements in another order", g.put(a, g.text(b)), g.put(b, g.text(a)))
	}
	if _, keyed := anyOf(e.Elts).(*ast.KeyValueExpr); keyed {
		var values []string
		for _, el := range e.Elts {
			values = append(values, g.text(el.(*ast.KeyValueExpr).Value))
		}
		g.add("values without keys", edit{g.file, g.at(e.Elts[0].Pos()), g.at(e.Elts[len(e.Elts)-1].End()), strings.Join(values, ", ")})
	}
	if len(e.Elts) > 0 {
		g.add("empty literal", edit{g.file, g.at(e.Elts[0].Pos()), g.afterComma(e.Elts[len(e.Elts)-1]), ""})
	}
}

// anyOf returns the first of the elements; nil if there is none.
func anyOf(list []ast.Expr) ast.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// afterComma returns where an element and the comma after it end.
func (g *mutator) afterComma(el ast.Expr) int {
	end := g.at(el.End())
	if strings.HasPrefix(g.src[end:], ",") {
		end++
	}
	return end
}

// rows exchanges values of the same field in two rows of a table.
func (g *mutator) rows(a, b ast.Expr) {
	x, ok := a.(*ast.CompositeLit)
	y, also := b.(*ast.CompositeLit)
	if !ok || !also {
		return
	}
	for _, p := range x.Elts {
		for _, q := range y.Elts {
			p, keyed := p.(*ast.KeyValueExpr)
			q, also := q.(*ast.KeyValueExpr)
			if keyed && also && g.text(p.Key) == g.text(q.Key) {
				g.swap("swap among rows", p.Value, q.Value)
			}
		}
	}
}

// fields changes a struct of the exported face.
func (g *mutator) fields(e *ast.StructType) {
	for i, f := range e.Fields.List {
		g.add("drop field", g.put(f, ""))
		if len(f.Names) == 1 {
			g.add("another field", g.after(f, "\n"+f.Names[0].Name+"2 int"))
		}
		if i > 0 {
			g.swap("swap fields", e.Fields.List[i-1], f)
		}
		g.add("another type", g.put(f.Type, "[]int16"))
	}
}
