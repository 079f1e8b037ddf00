package ir

import (
	"errors"
	"fmt"
	"slices"
)

// CallAttr names the entry point that is called.
type CallAttr struct {
	Func string `attr:"func,positional,ref"`
}

// RepeatAttr describes a repeat, whose body runs Count times. Its operands are, in this order:
//
//   - Carried values, of which the body's parameters have the values in iteration 0. The body's results
//     are their values in the next iteration, and the node's results after the last one.
//   - Invariants, which are the same in every iteration.
//   - Tables of Count weights or states, one after the other. Iteration i reads entry i.
//
// The body has a parameter for each carried value, invariant and table, in the same order. In
//
//	%y = repeat %x, %w, %n0, %n1, %k0, %k1 {count=2, carried=1, invariant=1}
//	body @layer(%h, %w, %norm, %keys) { … return %next }
//
// the body runs with (%x, %w, %n0, %k0) and then with (%next, %w, %n1, %k1); %y is the second %next.
type RepeatAttr struct {
	Count     int64 `attr:"count"`
	Carried   int   `attr:"carried"`
	Invariant int   `attr:"invariant"`
}

// Tables returns the number of tables of a repeat with that many operands; ok is false if the number
// does not match the attributes.
func (a *RepeatAttr) Tables(args int) (tables int, ok bool) {
	rest := args - a.Carried - a.Invariant
	if a.Count < 1 || a.Carried < 0 || a.Invariant < 0 || rest < 0 || int64(rest)%a.Count != 0 {
		return 0, false
	}
	return int(int64(rest) / a.Count), true
}

var callInfo = OpInfo{
	Name:     "call",
	Doc:      "call @f (args…): the results of another function of the module; recursion is not allowed.",
	Args:     []Arg{{Name: "args", Kinds: AnyKind, Variadic: true, Optional: true}},
	Attr:     CallAttr{},
	Traits:   ReadsState | WritesState,
	InferAll: inferCall,

	Undivided: "functions are written out before values are divided",

	Cost: func(n *Node) Cost { return funcCost(n.Func.Module.Func(attrOf[CallAttr](n).Func), 0) },
	Tol:  exact,
}

func inferCall(n *Node) ([]Type, error) {
	name := attrOf[CallAttr](n).Func
	f := n.Func.Module.Func(name)
	if f == nil {
		return nil, noFunction(n.Func.Module, name)
	}
	if len(n.Args) != len(f.Params) {
		return nil, fmt.Errorf("@%s takes %s, not %d", name, count(len(f.Params), "operand"), len(n.Args))
	}
	for i, p := range f.Params {
		if a := n.Args[i]; a == nil || !a.Type.SameData(p.Type) {
			return nil, fmt.Errorf("parameter %v of @%s is %v, not %v", p, name, p.Type, typeOf(a))
		}
	}
	if slices.Contains(f.Results, nil) {
		return nil, fmt.Errorf("@%s lacks a result", name)
	}
	return resultTypes(f), nil
}

// noFunction returns the error that a module does not have a function. While its first function is parsed, the module
// has no functions to list.
func noFunction(m *Module, name string) error {
	if len(m.Funcs) == 0 {
		return fmt.Errorf("the module has no function @%s before this one", name)
	}
	return fmt.Errorf("the module has no function @%s: it has %s", name, m.entryNames())
}

func typeOf(v *Value) string {
	if v == nil {
		return "absent"
	}
	return v.Type.String()
}

func resultTypes(f *Func) []Type {
	types := make([]Type, len(f.Results))
	for i, r := range f.Results {
		types[i] = r.Type
		types[i].Strides, types[i].Space = nil, ""
	}
	return types
}

// maxCallDepth bounds the cost of calls within calls. Verify rejects recursion, but costs may be
// computed before.
const maxCallDepth = 16

func funcCost(f *Func, depth int) Cost {
	var sum Cost
	if f == nil || depth > maxCallDepth {
		return sum
	}
	for _, n := range f.Nodes {
		var c Cost
		switch n.Op {
		case OpCall:
			c = funcCost(f.Module.Func(attrOf[CallAttr](n).Func), depth+1)
		default:
			c = n.Op.Info().Cost(n)
		}
		sum = Cost{sum.FLOPs.Add(c.FLOPs), sum.Read.Add(c.Read), sum.Written.Add(c.Written)}
	}
	return sum
}

var repeatInfo = OpInfo{
	Name: "repeat",
	Doc: "repeat(carried…, invariant…, tables…) {count, carried, invariant} { body }: the body runs count times; its results are the carried values of the next iteration " +
		"and, after the last one, the node's results. Each table has count entries, weights or states, of which iteration i gets entry i.",
	Args:     []Arg{{Name: "args", Kinds: AnyKind, Variadic: true, Optional: true}},
	Attr:     RepeatAttr{},
	Traits:   ReadsState | WritesState | HasBody,
	InferAll: inferRepeat,

	Undivided: "repeats are found after values are divided",

	Cost: func(n *Node) Cost {
		c, times := funcCost(n.Body, 0), Const(attrOf[RepeatAttr](n).Count)
		return Cost{c.FLOPs.Mul(times), c.Read.Mul(times), c.Written.Mul(times)}
	},
	Tol: exact,
}

func inferRepeat(n *Node) ([]Type, error) {
	a, body := attrOf[RepeatAttr](n), n.Body
	if body == nil {
		return nil, errors.New("has no body")
	}
	tables, ok := a.Tables(len(n.Args))
	if !ok {
		return nil, fmt.Errorf("count=%d carried=%d invariant=%d do not fit %s", a.Count, a.Carried, a.Invariant, count(len(n.Args), "operand"))
	}
	if want := a.Carried + a.Invariant + tables; len(body.Params) != want {
		return nil, fmt.Errorf("the body must have %s, not %d", count(want, "parameter"), len(body.Params))
	}
	if len(body.Results) != a.Carried {
		return nil, fmt.Errorf("the body must have %s, the number of carried values, not %d", count(a.Carried, "result"), len(body.Results))
	}
	for i, arg := range n.Args {
		p := body.Params[repeatParam(a, i)]
		if arg == nil || !arg.Type.SameData(p.Type) {
			return nil, fmt.Errorf("operand %d is %s, the body's parameter %v is %v", i, typeOf(arg), p, p.Type)
		}
	}
	if slices.Contains(body.Results, nil) {
		return nil, errors.New("the body lacks a result")
	}
	types := make([]Type, a.Carried)
	for i := range types {
		p, r := body.Params[i], body.Results[i]
		if !r.Type.SameData(p.Type) {
			return nil, fmt.Errorf("the body's result %v is %v, its parameter %v is %v: a carried value keeps its type", r, r.Type, p, p.Type)
		}
		types[i] = p.Type
		types[i].Space = ""
	}
	return types, nil
}

// repeatParam returns the index of the body's parameter for operand i.
func repeatParam(a *RepeatAttr, i int) int {
	fixed := a.Carried + a.Invariant
	if i < fixed {
		return i
	}
	return fixed + int(int64(i-fixed)/a.Count)
}
