// Package foreigntest makes small graphs of foreign nodes for tests.
package foreigntest

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// Step is a tensor of a graph, with dimensions as in ggml. A step without an op is a weight.
type Step struct {
	Op     string
	DType  dtype.DType // f32 by default
	NE     [4]int64
	NB     [4]int64 // dense by default
	Src    []int    // numbers of steps; -1 is absent
	Of     int      // in a view or an op that writes into a tensor: that tensor
	Into   bool     // it writes into Of
	Offset int64
	Params string
	Output bool
	Given  ir.Sharding // of a weight; axes count from the fastest
}

// Weight returns a weight of f32 with a state.
func Weight(given ir.Sharding, ne ...int64) Step { return Step{NE: dims(ne), Given: given} }

// Input returns an input.
func Input(ne ...int64) Step { return Step{Op: "NONE", NE: dims(ne)} }

// Node returns a node.
func Node(op string, ne []int64, src ...int) Step { return Step{Op: op, NE: dims(ne), Src: src} }

// View returns a view of step of, which is no view, with dense rows from an offset on.
func View(of int, offset int64, ne ...int64) Step {
	return Step{Op: "VIEW", NE: dims(ne), Src: []int{of}, Of: of, Offset: offset}
}

// With returns the step with parameters.
func (s Step) With(params string) Step { s.Params = params; return s }

// Strides returns the step with strides in bytes.
func (s Step) Strides(nb ...int64) Step { copy(s.NB[:], nb); return s }

// Out returns the step as an output.
func (s Step) Out() Step { s.Output = true; return s }

// Writes returns the step as one that writes into another.
func (s Step) Writes(of int) Step { s.Of, s.Into = of, true; return s }

// Split returns a state with one segment.
func Split(axis int, counts ...int64) ir.Sharding {
	return ir.SplitOn(axis, ir.Segment{Times: 1, Counts: counts})
}

func dims(ne []int64) [4]int64 {
	d := [4]int64{1, 1, 1, 1}
	copy(d[:], ne)
	return d
}

// Build returns a function of steps, their values, and the states of weights by name.
func Build(t *testing.T, steps []Step) (*ir.Func, []*ir.Value, map[string]ir.Sharding) {
	t.Helper()
	b := ir.NewBuilder("test")
	f := b.Func("graph")
	values, given := make([]*ir.Value, len(steps)), make(map[string]ir.Sharding)
	for i, s := range steps {
		name := string(rune('a' + i))
		if s.Op == "" {
			b.Weight(name, s.typ(), nil)
			values[i], given[name] = f.Weight(name), foreign.Flip(s.Given)
			continue
		}
		values[i] = f.Named(name, s.node(f, values))
		if s.Output {
			f.Return(name, values[i])
		}
	}
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	return f.Func(), values, given
}

// node appends the step, which is no weight.
func (s *Step) node(f *ir.FuncBuilder, values []*ir.Value) *ir.Value {
	a := ir.ForeignAttr{Op: s.Op, Leaf: s.Op == "NONE", Params: s.Params, Offset: s.Offset, InPlace: s.Into}
	a.View = slices.Contains([]string{"VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"}, s.Op)
	var args []*ir.Value
	for k, src := range s.Src {
		if src >= 0 {
			a.Srcs, args = append(a.Srcs, k), append(args, values[src])
		}
	}
	if a.View || a.InPlace {
		args = append(args, values[s.Of])
	}
	return f.Foreign(a, args, s.typ())[0]
}

func (s *Step) typ() ir.Type {
	typ := ir.Type{DType: s.DType}
	if typ.DType == dtype.Invalid {
		typ.DType = dtype.F32
	}
	for i, n := range slices.Backward(s.NE[:]) {
		typ.Shape = append(typ.Shape, ir.Const(n))
		if s.NB != [4]int64{} {
			typ.Strides = append(typ.Strides, ir.Const(s.NB[i]/4))
		}
	}
	return typ
}
