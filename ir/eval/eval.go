// Package eval runs modules in float64, one value at a time. It defines what a module computes: the
// results of passes, kernels and emitted programs are compared with it. It is written for clarity, not
// for speed.
//
// Numbers are rounded only where an op is defined so: quantize and rms_norm_quantize round like the activation format,
// state_write and cast like their dtype. Everything else is float64, also if the type is f32. Layouts, spaces,
// backends, partitions, epochs and addresses do not change what a module means, so that modules of every level run.
package eval

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Env is the environment of a call: its inputs and the data of the module.
type Env struct {
	// Inputs are keyed by the name of the parameter. Integers are whole numbers.
	Inputs map[string]Tensor

	// Weights are keyed by name. They are decoded and in plain row order, for any layout: see
	// [Decode]. The expressions of weights are not evaluated.
	Weights map[string]Tensor

	// States are keyed by name. Absent ones are zero. If Run succeeds it stores the next versions here.
	States map[string]Tensor

	// Sizes are the sizes of symbols that the shapes of inputs do not determine.
	Sizes map[string]int64

	// Observe, if not nil, is called with the results of each node of the function itself, not of functions that it
	// runs.
	Observe func(n *ir.Node, results []Tensor)

	// Handed, if not nil, is called by each observe of the module with its operand and the name of this iteration.
	Handed func(name string, t Tensor)

	// Operand, if not nil, returns what a node of the function itself reads in place of t, the value of its operand i.
	// It is not called for absent operands.
	Operand func(n *ir.Node, i int, t Tensor) (Tensor, error)
}

// Run calls an entry point of m and returns its results in order. It reports all errors in the inputs;
// an error during the call names the function and the node.
func Run(ctx context.Context, m *ir.Module, fn string, env *Env) ([]Tensor, error) {
	f := m.Func(fn)
	if f == nil {
		return nil, fmt.Errorf("the module has no function @%s", fn)
	}
	sizes, err := bind(f, env)
	if err != nil {
		return nil, fmt.Errorf("@%s: %w", fn, err)
	}
	r := &run{ctx: ctx, module: m, env: env, sizes: sizes, latest: maps.Clone(env.States)}
	if r.latest == nil {
		r.latest = make(map[string]Tensor)
	}
	args := make([]value, len(f.Params))
	for i, p := range f.Params {
		args[i] = value{Tensor: env.Inputs[p.Name()]}
	}
	results, err := r.call(f, args, 0)
	if err != nil {
		return nil, err
	}
	env.States = r.latest
	return tensors(results), nil
}

// Node computes a node from its operands; absent operands are zero Tensors. The node must not be a leaf
// or access a state. sizes has the symbols in its types.
func Node(ctx context.Context, n *ir.Node, args []Tensor, sizes map[string]int64) ([]Tensor, error) {
	values := make([]value, len(args))
	for i, a := range args {
		values[i].Tensor = a
	}
	r := &run{ctx: ctx, module: n.Func.Module, env: &Env{}, sizes: sizes, latest: make(map[string]Tensor)}
	results, err := (&frame{run: r, before: r.latest}).apply(n, values)
	return tensors(results), err
}

func tensors(values []value) []Tensor {
	var out []Tensor
	for _, v := range values {
		out = append(out, v.Tensor)
	}
	return out
}

// value is a tensor. If its bytes are those of a state, state is its name and Data is the whole state,
// as views share it.
type value struct {
	Tensor
	state string
}

// run is the state of one Run, for all its functions.
type run struct {
	ctx    context.Context
	module *ir.Module
	env    *Env
	sizes  map[string]int64
	latest map[string]Tensor // versions of the states

	iteration int // of the innermost repeat
}

// frame is one execution of a function.
type frame struct {
	*run
	depth  int
	before map[string]Tensor // versions of the states when it began
	values []value           // by id
}

// maxDepth bounds calls in a module that was not verified and may be recursive.
const maxDepth = 64

// call runs a function or a body.
func (r *run) call(f *ir.Func, args []value, depth int) ([]value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("@%s: functions call each other %d deep", f.Name, depth)
	}
	fr := &frame{run: r, depth: depth, before: maps.Clone(r.latest), values: make([]value, f.NumValues())}
	for i, p := range f.Params {
		if err := r.check(p.Type, args[i].Tensor); err != nil {
			return nil, fmt.Errorf("@%s: parameter %v: %w", f.Name, p, err)
		}
		fr.values[p.ID] = args[i]
	}
	for _, n := range f.Nodes {
		if err := fr.step(n); err != nil {
			return nil, fmt.Errorf("@%s: %v: %v: %w", f.Name, n, n.Op, err)
		}
	}
	return fr.gather(f.Results), nil
}

// gather returns the values of vs, the zero value for nil.
func (fr *frame) gather(vs []*ir.Value) []value {
	out := make([]value, len(vs))
	for i, v := range vs {
		if v != nil {
			out[i] = fr.values[v.ID]
		}
	}
	return out
}

// step runs one node and stores its results.
func (fr *frame) step(n *ir.Node) error {
	if err := fr.ctx.Err(); err != nil {
		return err
	}
	args := fr.gather(n.Args)
	if fr.env.Operand != nil && fr.depth == 0 {
		for i, a := range n.Args {
			if a == nil {
				continue
			}
			t, err := fr.env.Operand(n, i, args[i].Tensor)
			if err != nil {
				return err
			}
			args[i].Tensor = t
		}
	}
	results, err := fr.apply(n, args)
	if err != nil {
		return err
	}
	for i, r := range n.Results {
		fr.values[r.ID] = results[i]
	}
	if fr.env.Observe != nil && fr.depth == 0 {
		fr.env.Observe(n, tensors(results))
	}
	return nil
}

// apply computes the results of a node and checks their shapes. It infers their types first, so that
// the functions of the ops can rely on the shape rules.
func (fr *frame) apply(n *ir.Node, args []value) ([]value, error) {
	if _, err := ir.Infer(n); err != nil {
		return nil, err
	}
	compute := table[n.Op]
	if compute == nil {
		return nil, fmt.Errorf("the table of ir/eval has no meaning for %v", n.Op)
	}
	results, err := compute(&call{fr, n, args})
	if err != nil {
		return nil, err
	}
	if len(results) != len(n.Results) {
		return nil, fmt.Errorf("makes %d results, not %d", len(results), len(n.Results))
	}
	for i, r := range n.Results {
		if err := fr.check(r.Type, results[i].Tensor); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// check compares the shape of t with its type at the actual sizes.
func (r *run) check(typ ir.Type, t Tensor) error {
	want, err := r.dims(typ.Shape)
	if err != nil {
		return err
	}
	if !slices.Equal(want, t.Shape) {
		return fmt.Errorf("its shape is %v, the type %v makes it %v", t.Shape, typ, want)
	}
	return nil
}

// dims returns the values of dimensions at the actual sizes.
func (r *run) dims(ds []ir.Dim) ([]int, error) {
	out := make([]int, len(ds))
	for i, d := range ds {
		var missing error
		n := d.Eval(func(s *ir.Symbol) int64 {
			n, ok := r.sizes[s.Name]
			if !ok && missing == nil {
				missing = fmt.Errorf("the size of symbol %s is unknown: no input's shape tells it, give it in Sizes", s.Name)
			}
			if !ok {
				return 1 // not 0, as it may be a divisor
			}
			return n
		})
		if missing != nil {
			return nil, missing
		}
		if n < 0 {
			return nil, fmt.Errorf("dimension %v is %d", d, n)
		}
		out[i] = int(n)
	}
	return out, nil
}
