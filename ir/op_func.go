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

// RepeatAttr describes a repeat: its body runs Count times.
//
// The operands are Carried values (what the body's parameters start with; the body's
// results are their next values and, at last, the node's results), then Invariant values
// (the same in every round), then tables of Count values each, table after table: in
// round i the body's parameter is the table's entry i. The body's parameters stand in
// that order, one for each carried value, invariant and table. Tables hold weights and
// states.
type RepeatAttr struct {
	Count     int64 `attr:"count"`
	Carried   int   `attr:"carried"`
	Invariant int   `attr:"invariant"`
}

// Tables returns the number of tables of a repeat with that many operands; ok is false
// where they do not come out even.
func (a *RepeatAttr) Tables(args int) (tables int, ok bool) {
	rest := args - a.Carried - a.Invariant
	if a.Count < 1 || a.Carried < 0 || a.Invariant < 0 || rest < 0 || int64(rest)%a.Count != 0 {
		return 0, false
	}
	return int(int64(rest) / a.Count), true
}

// ForeignAttr describes a node of unknown origin.
type ForeignAttr struct {
	Op     string `attr:"op,positional"` // the name it has where it comes from, such as MUL_MAT
	Source string `attr:"source,default="`

	// Srcs are the source positions of the operands, where these are not their numbers.
	Srcs []int `attr:"srcs,default="`

	// View and InPlace say that the result has the bytes of the last operand, which then is
	// no source: a view only names them and does no work, an in-place op writes them.
	View    bool `attr:"view,default=false"`
	InPlace bool `attr:"inplace,default=false"`

	// Offset is where a view begins, in bytes behind the operand that it names. Bytes is the
	// extent of the result, from its first byte to its last; 0 is that of its type laid out
	// densely.
	Offset int64 `attr:"offset,default=0"`
	Bytes  int64 `attr:"bytes,default=0"`

	// Takes are the operands whose bytes the result may take over, if they are no views, as
	// OpInfo.InPlace says of other ops.
	Takes []int `attr:"takes,default="`

	Leaf  bool `attr:"leaf,default=false"`  // it does no work and has no operands
	Input bool `attr:"input,default=false"` // of a leaf: the caller writes it before each step
}

func (a *ForeignAttr) traits() Traits {
	var t Traits
	if a.View {
		t |= View
	}
	if a.Leaf {
		t |= Leaf
	}
	return t
}

// sources returns how many of a number of operands are sources.
func (a *ForeignAttr) sources(args int) int {
	if a.View || a.InPlace {
		return args - 1
	}
	return args
}

var callInfo = OpInfo{
	Name:     "call",
	Doc:      "call @f (args…): the results of another function of the module; nothing calls itself.",
	Args:     []Arg{{Name: "args", Kinds: AnyKind, Variadic: true, Optional: true}},
	Attr:     CallAttr{},
	Traits:   ReadsState | WritesState,
	InferAll: inferCall,
	Cost:     func(n *Node) Cost { return funcCost(n.Func.Module.Func(attrOf[CallAttr](n).Func), 0) },
	Tol:      exact,
}

func inferCall(n *Node) ([]Type, error) {
	name := attrOf[CallAttr](n).Func
	f := n.Func.Module.Func(name)
	if f == nil {
		return nil, fmt.Errorf("the module has no function @%s", name)
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

// maxCallDepth bounds the cost of functions that call functions; what calls itself is
// refused by Verify, but costs may be asked before.
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
	Doc: "repeat(carried…, invariant…, tables…) {count, carried, invariant} { body }: the body runs count times; its results are the carried values of the next round " +
		"and at last the node's results. Each table has count entries, weights or states, of which round i gets entry i.",
	Args:     []Arg{{Name: "args", Kinds: AnyKind, Variadic: true, Optional: true}},
	Attr:     RepeatAttr{},
	Traits:   ReadsState | WritesState | HasBody,
	InferAll: inferRepeat,
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
		return nil, fmt.Errorf("the body must have %s, as carried says, not %d", count(a.Carried, "result"), len(body.Results))
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

// repeatParam returns which parameter of the body operand i goes to.
func repeatParam(a *RepeatAttr, i int) int {
	fixed := a.Carried + a.Invariant
	if i < fixed {
		return i
	}
	return fixed + int(int64(i-fixed)/a.Count)
}

// foreignSource returns the operand whose bytes the result of a foreign node has, or nil.
func (n *Node) foreignSource(a *ForeignAttr) *Value {
	if last := a.sources(len(n.Args)); last < len(n.Args) && last >= 0 {
		return n.Args[last]
	}
	return nil
}

var foreignInfo = OpInfo{
	Name: "foreign",
	Doc: "foreign OP (args…) {srcs, view, inplace, offset, bytes, takes, leaf, input}: a node of unknown meaning, such as one of a scheduler's trace. Its type is as declared. srcs are the operands' " +
		"source positions. A view names the bytes of the last operand, from an offset on; an in-place op writes them: that operand is no source. bytes is the extent, where it is not that of dense rows; " +
		"takes are the operands whose bytes the result may take over. A leaf has no operands; the caller writes those that are inputs.",
	Args:   []Arg{{Name: "args", Kinds: AnyKind, Variadic: true, Optional: true}},
	Attr:   ForeignAttr{},
	Traits: 0,
	InferAll: func(n *Node) ([]Type, error) {
		if len(n.Results) == 0 {
			return nil, errors.New("needs a declared type")
		}
		a := attrOf[ForeignAttr](n)
		if err := firstErr(a.check(len(n.Args)), a.checkBytes(n)); err != nil {
			return nil, err
		}
		types := make([]Type, len(n.Results))
		for i, r := range n.Results {
			types[i] = r.Type
		}
		return types, nil
	},
	Cost: moved,
	Tol:  exact,
}

// check reports attributes that do not fit a number of operands, or each other.
func (a *ForeignAttr) check(args int) error {
	switch sources := a.sources(args); {
	case sources < 0:
		return errors.New("its last operand has the bytes of the result, and there is no operand")
	case len(a.Srcs) != 0 && len(a.Srcs) != sources:
		return fmt.Errorf("srcs has %s for %s", count(len(a.Srcs), "position"), count(sources, "source"))
	case a.View && a.InPlace:
		return errors.New("is a view or writes in place, not both")
	case a.Leaf && (args != 0 || a.View || a.InPlace):
		return errors.New("a leaf has no operands")
	case a.Input && !a.Leaf:
		return errors.New("only a leaf is an input")
	case slices.ContainsFunc(a.Takes, func(i int) bool { return i < 0 || i >= a.sources(args) }):
		return fmt.Errorf("takes %v: it has %s", a.Takes, count(a.sources(args), "source"))
	case len(a.Takes) != 0 && (a.View || a.InPlace):
		return errors.New("its result has the bytes of the last operand and takes no others")
	}
	return nil
}

// checkBytes reports an extent or an offset that leaves the bytes it is in.
func (a *ForeignAttr) checkBytes(n *Node) error {
	switch from := n.foreignSource(a); {
	case a.Offset < 0 || a.Bytes < 0:
		return fmt.Errorf("offset %d, bytes %d: one is negative", a.Offset, a.Bytes)
	case a.Offset != 0 && !a.View && !a.InPlace:
		return errors.New("an offset belongs to a view")
	case from != nil && a.Offset > from.MaxBytes()-n.Results[0].MaxBytes():
		return fmt.Errorf("%d bytes from %d on are not within the %d of %v", n.Results[0].MaxBytes(), a.Offset, from.MaxBytes(), from)
	}
	return nil
}
