// Package gputest runs functions of modules node by node with the kernels of package gpu, on any machine that runs
// kernels, and compares the results with those of package eval.
package gputest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Machine has memory, and runs kernels on it, one after the other.
type Machine interface {
	Assumes() gpu.Machine   // what kernels are built for
	Alloc(bytes int) uint64 // the address, aligned to 256
	Write(address uint64, data []byte)
	Read(address uint64, data []byte) error
	Run(k *kir.Kernel, groups int, args []uint64) error
}

// ErrNoKernel reports a call with a node for which there is no kernel.
var ErrNoKernel = gpu.ErrNoKernel

// Compare runs the call on the machine, with at most that many workgroups, and returns an error if a result or a state
// differs from what eval computes by more than tol.
func Compare(ctx context.Context, call *opcase.Call, on Machine, groups int, tol ir.Tolerance) error {
	f := call.Module.Func(call.Func)
	r := &runner{call: call, on: on, groups: groups, at: make(map[*ir.Value]uint64), states: make(map[string]uint64)}
	if err := r.run(f); err != nil {
		return err
	}
	env := *call.Env
	want, err := eval.Run(ctx, call.Module, call.Func, &env)
	if err != nil {
		return err
	}
	var errs []error
	for i, v := range f.Results {
		if v.Source() != nil && v.Def.Op == ir.OpStateWrite {
			continue // compared as a state
		}
		got, err := r.read(v.Type, r.at[v])
		if err == nil {
			err = opcase.Compare(got, want[i], tol)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", v, err))
		}
	}
	for name, address := range r.states {
		got, err := r.read(call.Module.State(name).Type, address)
		if err == nil {
			err = opcase.Compare(got, env.States[name], tol)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("state %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// runner runs a function.
type runner struct {
	call   *opcase.Call
	on     Machine
	groups int
	at     map[*ir.Value]uint64 // addresses
	states map[string]uint64
}

func (r *runner) size(d ir.Dim) int64 {
	return d.Eval(func(s *ir.Symbol) int64 { return r.call.Env.Sizes[s.Name] })
}

func (r *runner) shape(t ir.Type) []int {
	shape := make([]int, t.Rank())
	for i, d := range t.Shape {
		shape[i] = int(r.size(d))
	}
	return shape
}

func (r *runner) run(f *ir.Func) error {
	for _, p := range f.Params {
		address, err := r.put(p.Type, r.call.Env.Inputs[p.Name()])
		if err != nil {
			return fmt.Errorf("%v: %w", p, err)
		}
		r.at[p] = address
	}
	for _, n := range f.Nodes {
		if err := r.node(n); err != nil {
			return fmt.Errorf("%v: %w", n, err)
		}
	}
	return nil
}

// put stores a tensor.
func (r *runner) put(t ir.Type, x eval.Tensor) (uint64, error) {
	data, err := encode(t.DType, x.Flat())
	if err != nil {
		return 0, err
	}
	if t.Layout == dtype.Planar {
		data = planar(t, data, r.shape(t))
	}
	address := r.on.Alloc(len(data))
	r.on.Write(address, data)
	return address, nil
}

// planar returns the bytes of a tensor in layout planar, given its plain ones.
func planar(t ir.Type, plain []byte, shape []int) []byte {
	rows, k := 1, shape[len(shape)-1]
	for _, n := range shape[:len(shape)-1] {
		rows *= n
	}
	data := make([]byte, dtype.PackedBytes(t.DType, t.Layout, int64(rows), int64(k)))
	dtype.PackPlanes(t.DType, data, plain, rows, k)
	return data
}

func encode(d dtype.DType, x []float64) ([]byte, error) {
	narrow := make([]float32, len(x))
	for i := range x {
		narrow[i] = float32(x[i])
	}
	data := make([]byte, d.Bytes(len(x)))
	return data, dtype.Encode(d, data, narrow)
}

// read returns the dense tensor at an address.
func (r *runner) read(t ir.Type, address uint64) (eval.Tensor, error) {
	shape := r.shape(t)
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]byte, t.DType.Bytes(n))
	if err := r.on.Read(address, data); err != nil {
		return eval.Tensor{}, err
	}
	return eval.Decode(t.DType, data, shape...)
}

// node computes a node, or finds the address of its result.
func (r *runner) node(n *ir.Node) error {
	v := n.Result()
	switch {
	case n.Op == ir.OpWeight:
		address, err := r.put(v.Type, r.call.Env.Weights[n.Attr.(*ir.WeightAttr).Name])
		r.at[v] = address
		return err
	case n.Op == ir.OpState:
		return r.state(n)
	case n.Op == ir.OpConstant:
		data := n.Attr.(*ir.ConstantAttr).Data
		r.at[v] = r.on.Alloc(len(data))
		r.on.Write(r.at[v], data)
		return nil
	case v.Source() != nil:
		r.at[v] = r.at[v.Source()] + uint64(r.offset(n))
		if n.Is(ir.View) {
			return nil
		}
	default:
		elems := r.size(v.Type.Elems())
		r.at[v] = r.on.Alloc(v.Type.DType.Bytes(int(elems)))
	}
	return r.dispatch(n)
}

// state finds the address of a state, which is stored when it is first named.
func (r *runner) state(n *ir.Node) error {
	name, v := n.Attr.(*ir.StateAttr).Name, n.Result()
	address, ok := r.states[name]
	if !ok {
		x, given := r.call.Env.States[name]
		if !given {
			x = eval.New(r.shape(v.Type)...)
		}
		var err error
		if address, err = r.put(v.Type, x); err != nil {
			return err
		}
		r.states[name] = address
	}
	r.at[v] = address
	return nil
}

// offset returns the bytes from the first element of n's operand to that of its result, which is a view of it.
func (r *runner) offset(n *ir.Node) int64 {
	a, ok := n.Attr.(*ir.SliceAttr)
	if !ok {
		return 0
	}
	t := n.Args[0].Type
	elems := r.size(a.Start) * r.size(t.StrideDims()[a.Axis])
	return elems / int64(t.DType.BlockElems()) * int64(t.DType.BlockBytes())
}

// dispatch runs the kernels of a node.
func (r *runner) dispatch(n *ir.Node) error {
	list, err := gpu.Lower(n, r.on.Assumes())
	if err != nil {
		return err
	}
	var args []uint64
	for _, v := range gpu.Operands(n) {
		args = append(args, r.at[v])
	}
	for _, s := range gpu.Symbols(n) {
		args = append(args, uint64(r.call.Env.Sizes[s.Name]))
	}
	for _, d := range list {
		if err := r.on.Run(d.Kernel, int(min(int64(r.groups), max(r.size(d.Units), 1))), args); err != nil {
			return err
		}
	}
	return nil
}

// Case is a sample case of an op with its name.
type Case struct {
	Op   ir.Op
	Name string
	ir.Case
}

// Cases returns the cases of all ops that have kernels.
func Cases() []Case {
	var list []Case
	for op := range ir.Ops {
		if !gpu.Has(op) || op.Info().Cases == nil {
			continue
		}
		for c := range op.Info().Cases {
			list = append(list, Case{op, fmt.Sprintf("%v/%s", op, c.Name), c})
		}
	}
	slices.SortStableFunc(list, func(a, b Case) int { return int(a.Op) - int(b.Op) })
	return list
}
