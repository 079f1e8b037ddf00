package eval_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/opcase"
)

// TestEveryOpHasWays demands of every op its ways, or a reason why it has none.
func TestEveryOpHasWays(t *testing.T) {
	for op := range ir.Ops {
		switch info := op.Info(); {
		case info.Undivided == "" && info.Axes == nil && info.Ways == nil:
			t.Errorf("%v: it has neither ways in which devices compute it together, nor a reason (Undivided)", op)
		case info.Undivided != "" && info.Ways != nil:
			t.Errorf("%v: it has ways, and a reason why it has none (Undivided)", op)
		}
	}
}

// TestWrongWaysAreSeen has ways that compute something else, so that the test above would fail on them.
func TestWrongWaysAreSeen(t *testing.T) {
	all, sum := ir.Share{Kind: ir.ShardMirrored}, ir.Share{Kind: ir.ShardPartial}
	on := func(axis int) ir.Share { return ir.Share{Kind: ir.ShardSplit, Axis: axis, Num: 1, Den: 1} }
	for _, tt := range []struct {
		name, params, node string
		way                ir.Way
		wrong              bool
	}{
		{"rows of a softmax", "%x: f32[6,8]", "softmax %x", ir.Way{Result: on(0), Args: []ir.Share{on(0)}}, false},
		{"parts of rows", "%x: f32[6,8]", "softmax %x", ir.Way{Result: on(1), Args: []ir.Share{on(1)}}, true},
		{"a product's sum", "%x: f32[6,8], %w: f32[4,8]", "matmul %x, %w", ir.Way{Result: sum, Args: []ir.Share{on(1), on(1)}}, false},
		{"with what is added on every device", "%x: f32[6,8], %w: f32[4,8], %r: f32[6,4]", "matmul %x, %w, %r", ir.Way{Result: sum, Args: []ir.Share{on(1), on(1), all}}, true},
		{"with its summands", "%x: f32[6,8], %w: f32[4,8], %r: f32[6,4]", "matmul %x, %w, %r", ir.Way{Result: sum, Args: []ir.Share{on(1), on(1), sum}}, false},
		{"a sum squared", "%x: f32[6,8]", "square %x", ir.Way{Result: sum, Args: []ir.Share{sum}}, true},
		{"a sum and what is added on every device", "%x: f32[6,8], %y: f32[6,8]", "add %x, %y", ir.Way{Result: sum, Args: []ir.Share{sum, all}}, true},
		{"two sums multiplied", "%x: f32[6,8], %y: f32[6,8]", "mul %x, %y", ir.Way{Result: sum, Args: []ir.Share{sum, sum}}, true},
		{"operands of other rows", "%x: f32[6,6], %y: f32[6,6]", "add %x, %y", ir.Way{Result: on(0), Args: []ir.Share{on(0), on(1)}}, true},
	} {
		m, err := ir.Parse("test", []byte("func @f("+tt.params+") {\n  %out = "+tt.node+"\n  return\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		n := m.Funcs[0].Nodes[0]
		p := &parter{n: n}
		for i, a := range n.Args {
			x := eval.New(6, 8)
			if x.Shape[0], _ = constant(a.Type.Shape[0]); len(a.Type.Shape) > 1 {
				x.Shape[1], _ = constant(a.Type.Shape[1])
			}
			x = eval.New(x.Shape...)
			for k := range x.Data {
				x.Data[k] = float64((k*7+i*3)%11) - 4
			}
			p.args = append(p.args, x)
		}
		done, err := p.try(tt.way, n.Op.Info().Tol)
		if !done && err == nil || (err != nil) != tt.wrong {
			t.Errorf("%s: tried %v, error %v, want one: %v", tt.name, done, err, tt.wrong)
		}
	}
}

func constant(d ir.Dim) (int, bool) {
	n, ok := d.IsConst()
	return int(n), ok
}

// TestWaysComputeTheWhole computes the sample cases of every op in every way on two devices, one of which has more, and
// compares what they have together with the whole.
func TestWaysComputeTheWhole(t *testing.T) {
	for op := range ir.Ops {
		info := op.Info()
		if info.Undivided != "" || info.Cases == nil {
			continue
		}
		tried := make(map[ir.ShardKind]int)
		for c := range info.Cases {
			for kind, n := range tryWays(t, op, c) {
				tried[kind] += n
			}
		}
		if tried[ir.ShardSplit]+tried[ir.ShardPartial] == 0 {
			t.Errorf("%v: no case has a way", op)
		}
	}
}

// tryWays computes a case in every way, and counts the ways by the state of their results.
func tryWays(t *testing.T, op ir.Op, c ir.Case) map[ir.ShardKind]int {
	tried := make(map[ir.ShardKind]int)
	if len(c.Sizes) > 0 {
		return tried // parts have constant sizes
	}
	call, err := opcase.Case(op, c, 3)
	if err != nil {
		t.Fatal(err)
	}
	f := call.Module.Func(call.Func)
	n := f.Nodes[len(f.Nodes)-1]
	p := &parter{n: n, args: operands(t, n, call.Env)}
	for i, w := range ir.Ways(n) {
		done, err := p.try(w, op.Info().Tol)
		if err != nil {
			t.Errorf("%v, case %q, way %d %+v: %v", op, c.Name, i, w, err)
		}
		if done {
			tried[w.Result.Kind]++
		}
	}
	return tried
}

// operands returns the values of a node's operands.
func operands(t *testing.T, n *ir.Node, env *eval.Env) []eval.Tensor {
	args := make([]eval.Tensor, len(n.Args))
	for i, a := range n.Args {
		if a != nil {
			args[i] = operand(t, a, env)
		}
	}
	return args
}

func operand(t *testing.T, v *ir.Value, env *eval.Env) eval.Tensor {
	if v.IsParam() {
		return env.Inputs[v.Name()]
	}
	switch a := v.Def.Attr.(type) {
	case *ir.WeightAttr:
		return env.Weights[a.Name]
	case *ir.StateAttr:
		return env.States[a.Name]
	case *ir.SliceAttr: // the sample case wants a view
		start, _ := constant(a.Start)
		n, _ := constant(a.Len)
		part, err := operand(t, v.Def.Args[0], env).Slice(a.Axis, start, n)
		if err != nil {
			t.Fatal(err)
		}
		return part.Dense()
	}
	t.Fatalf("%v is no operand of a sample case", v)
	return eval.Tensor{}
}

// parter computes a node on parts of its operands.
type parter struct {
	n    *ir.Node
	args []eval.Tensor
}

// try computes the node on two devices. It reports false if the axis has too few elements for two.
func (p *parter) try(w ir.Way, tol ir.Tolerance) (bool, error) {
	total, g := p.extent(w), w.Granule(p.n)
	first := (total/g + 2) / 3 * 2 * g // about two thirds
	if first >= total {
		first = total / g / 2 * g
	}
	for w.Result.Kind == ir.ShardSplit && first > 0 && !(inRange(w, 0, first) && inRange(w, first, total)) {
		first -= g
	}
	if w.Result.Kind != ir.ShardPartial && (first == 0 || total%g != 0) {
		return false, nil
	}
	whole, err := p.run(p.args, p.n.Attr)
	if err != nil {
		return false, err
	}
	var results []eval.Tensor
	for device, r := range [][2]int64{{0, first}, {first, total}} {
		args, err := p.parts(w, r, device)
		if err != nil {
			return false, err
		}
		attr := p.n.Attr
		if w.Attr != nil {
			attr = w.Attr(r[0], r[1])
		}
		y, err := p.run(args, attr)
		if err != nil {
			return false, fmt.Errorf("device %d: %w", device, err)
		}
		results = append(results, y)
	}
	return true, compareParts(w, results, whole, tol)
}

// inRange reports whether all operands have ranges for one of the result.
func inRange(w ir.Way, lo, hi int64) bool {
	return !slices.ContainsFunc(w.Args, func(s ir.Share) bool {
		if s.Kind != ir.ShardSplit {
			return false
		}
		_, _, ok := s.Range(lo, hi)
		return !ok
	})
}

// extent returns the extent of the axis whose ranges the devices have: that of the result, or the one that is summed.
func (p *parter) extent(w ir.Way) int64 {
	if w.Result.Kind == ir.ShardSplit {
		n, _ := p.n.Results[0].Type.Shape[w.Result.Axis].IsConst()
		return n
	}
	for i, s := range w.Args {
		if s.Kind == ir.ShardSplit {
			return int64(p.args[i].Shape[s.Axis])
		}
	}
	return 0
}

// parts returns what a device has of the operands if it has a range of the axis.
func (p *parter) parts(w ir.Way, r [2]int64, device int) ([]eval.Tensor, error) {
	args := slices.Clone(p.args)
	for i, s := range w.Args {
		switch s.Kind {
		case ir.ShardSplit:
			lo, hi, _ := s.Range(r[0], r[1])
			part, err := args[i].Slice(s.Axis, int(lo), int(hi-lo))
			if err != nil {
				return nil, err
			}
			args[i] = part.Dense()
		case ir.ShardPartial:
			args[i] = summand(args[i], device)
		}
	}
	return args, nil
}

// summand returns one of two tensors whose sum is x.
func summand(x eval.Tensor, device int) eval.Tensor {
	data := slices.Clone(x.Flat())
	for i := range data {
		share := float64(i%5)/4 - 0.25
		if device == 1 {
			share = 1 - share
		}
		data[i] *= share
	}
	return eval.Of(data, x.Shape...)
}

// run computes the op on operands of these shapes.
func (p *parter) run(args []eval.Tensor, attr any) (eval.Tensor, error) {
	m := &ir.Module{Name: "part", Props: ir.PropImported, Last: "import"}
	f := m.AddFunc("part")
	env := &eval.Env{Inputs: make(map[string]eval.Tensor), States: make(map[string]eval.Tensor), Weights: make(map[string]eval.Tensor)}
	values := make([]*ir.Value, len(args))
	for i, a := range p.n.Args {
		if a == nil {
			continue
		}
		name := fmt.Sprintf("x%d", i)
		typ := ir.Type{DType: a.Type.DType, Shape: dims(args[i].Shape)}
		if a.Def != nil && a.Def.Op == ir.OpState {
			m.States = append(m.States, &ir.State{Name: name, Type: typ})
			env.States[name] = args[i]
			v, err := opcase.Emit(f, ir.OpState, &ir.StateAttr{Name: name}, nil, name)
			if err != nil {
				return eval.Tensor{}, err
			}
			values[i] = v
			continue
		}
		values[i], env.Inputs[name] = f.AddParam(name, typ), args[i]
	}
	y, err := opcase.Emit(f, p.n.Op, attr, values, "y")
	if err != nil {
		return eval.Tensor{}, err
	}
	f.AddResult("y", y)
	out, err := eval.Run(context.Background(), m, "part", env)
	if err != nil {
		return eval.Tensor{}, err
	}
	return out[0].Dense(), nil
}

func dims(shape []int) []ir.Dim {
	ds := make([]ir.Dim, len(shape))
	for i, n := range shape {
		ds[i] = ir.Const(int64(n))
	}
	return ds
}

// compareParts compares what the devices have together with the whole.
func compareParts(w ir.Way, parts []eval.Tensor, whole eval.Tensor, tol ir.Tolerance) error {
	sum := slices.Clone(parts[0].Flat())
	if w.Result.Kind == ir.ShardPartial {
		for i, x := range parts[1].Flat() {
			sum[i] += x
		}
		return opcase.Compare(eval.Of(sum, parts[0].Shape...), whole, ir.Tolerance{NMSE: max(tol.NMSE, 1e-12), MaxAbs: max(tol.MaxAbs, 1e-6)})
	}
	lo := 0
	for device, x := range parts {
		n := x.Shape[w.Result.Axis]
		want, err := whole.Slice(w.Result.Axis, lo, n)
		if err != nil {
			return err
		}
		if err := opcase.Compare(x, want.Dense(), tol); err != nil {
			return fmt.Errorf("device %d: %w", device, err)
		}
		lo += n
	}
	if lo != whole.Shape[w.Result.Axis] {
		return fmt.Errorf("the devices have %d of %d elements", lo, whole.Shape[w.Result.Axis])
	}
	return nil
}
