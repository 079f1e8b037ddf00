// Package backendtest shows that a backend computes what its descriptor claims.
package backendtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/codegen/casetest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Conformance runs the sample cases of the ops that a registered backend claims, and compares the results with those of
// ir/eval within the tolerances of the ops.
//
// Where the result of an op may take the bytes of an operand, it does so in a further case. All cases become functions
// of one program, which is compiled, read back and built as those of models are. Each is called by name, in a process
// of its own, and is a subtest. The test fails if a row of the descriptor, or a dtype that it names, has no case.
func Conformance(t *testing.T, name string) {
	t.Helper()
	if err := backend.Err(); err != nil {
		t.Fatal(err)
	}
	if backend.Get(name) == nil {
		t.Fatalf("no backend %s is registered: import the package that does it", name)
	}
	targets, err := target.Select(name + "," + target.CPU().Name)
	if err != nil {
		t.Fatal(err)
	}
	d := targets.Get(name)
	cases, err := casesOf(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range unshown(d, cases) {
		t.Errorf("%s: no sample case shows it", claim)
	}
	if len(cases) == 0 {
		return
	}
	p, err := compile(t, cases, targets)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.fn, func(t *testing.T) {
			if !p.runsOn(c, name) {
				t.Fatalf("%v, case %q: %s does not run it", c.op, c.name, name)
			}
			want, err := p.expected(t, c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Call(t.Context(), c.call)
			if err != nil {
				t.Fatal(err)
			}
			if err := opcase.Compare(got, want, c.op.Info().Tol); err != nil {
				t.Errorf("%v, case %q: %v", c.op, c.name, err)
			}
		})
	}
}

// opCase is a sample case of an op as a function of the program.
type opCase struct {
	op   ir.Op
	name string // of the case
	fn   string // of the function
	call *opcase.Call
	row  *target.Row
}

// node returns the node of the op, whose result is called y.
func (c *opCase) node() *ir.Node {
	nodes := c.call.Module.Funcs[0].Nodes
	return nodes[slices.IndexFunc(nodes, func(n *ir.Node) bool { return n.Result().Name() == "y" })]
}

// casesOf returns the cases that a backend claims to run, and that can be called.
func casesOf(d *target.Descriptor) ([]*opCase, error) {
	var cases []*opCase
	done := make(map[ir.Op]bool)
	for _, r := range d.Rows {
		if done[r.Op] || r.Op.Info().Cases == nil {
			continue
		}
		done[r.Op] = true
		i := 0
		for sample := range r.Op.Info().Cases {
			own, err := variants(d, r.Op, sample, fmt.Sprintf("%v%d", r.Op, i))
			if err != nil {
				return nil, err
			}
			cases = append(cases, own...)
			i++
		}
	}
	return cases, nil
}

// variants returns a sample case, and the case once more for each operand whose bytes the result may take. There are
// none if the backend does not claim to run the case, or if it cannot be called.
func variants(d *target.Descriptor, op ir.Op, sample ir.Case, fn string) (cases []*opCase, err error) {
	for _, arg := range append([]int{-1}, op.Info().InPlace...) {
		call, err := opcase.Case(op, sample, 1)
		if err != nil {
			return nil, err
		}
		c := &opCase{op: op, name: sample.Name, fn: fn, call: call}
		if arg >= 0 {
			if v := c.node().Arg(arg); v == nil || !v.IsParam() || !v.Type.Equal(c.node().Result().Type) {
				continue
			}
			c.between(arg)
			c.fn += fmt.Sprint("inplace", arg)
		}
		if c.row, _ = d.Kernel(c.node()); c.row == nil || !casetest.Callable(call.Module) {
			continue
		}
		if err := casetest.Rename(c.call, c.fn); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// between applies the op three times, each time with the result of the time before as an operand. The bytes of
// parameters and results are not used again, those between them are.
func (c *opCase) between(arg int) {
	f, y := c.call.Module.Funcs[0], c.node()
	again := func(name string) *ir.Node {
		return f.NewNode(y.Op, y.Attr, slices.Clone(y.Args), name, y.Result().Type)
	}
	before, after := again("before"), again("after")
	f.Nodes = append(slices.Insert(f.Nodes, slices.Index(f.Nodes, y), before), after)
	y.Args[arg], after.Args[arg] = before.Result(), y.Result()
	f.Results[0] = after.Result()
}

// unshown returns the claims of a descriptor that no case shows: rows, and dtypes of operands.
func unshown(d *target.Descriptor, cases []*opCase) (claims []string) {
	for i := range d.Rows {
		r := &d.Rows[i]
		own := slices.DeleteFunc(slices.Clone(cases), func(c *opCase) bool { return c.row != r })
		if len(own) == 0 {
			claims = append(claims, "ops="+r.String())
			continue
		}
		for arg, f := range r.Args {
			for _, dt := range f.DTypes {
				reads := func(c *opCase) bool {
					v := c.node().Arg(arg)
					return v != nil && v.Type.DType == dt
				}
				if !slices.ContainsFunc(own, reads) {
					claims = append(claims, fmt.Sprintf("ops=%s: operand %d of %v", r, arg, dt))
				}
			}
		}
	}
	return claims
}

// program is an executable with a function for each case.
type program struct {
	*casetest.Program
	module  *ir.Module // after all passes
	weights map[string]eval.Tensor
}

// compile builds the program. The nodes of all ops are pinned to the first target.
func compile(t *testing.T, cases []*opCase, targets *target.List) (*program, error) {
	calls := make([]*opcase.Call, len(cases))
	weights := make(map[string]eval.Tensor)
	for i, c := range cases {
		calls[i] = c.call
		maps.Copy(weights, c.call.Env.Weights)
	}
	m, err := casetest.Join(calls)
	if err != nil {
		return nil, err
	}
	pin, err := pass.ParsePin("^(before|y|after)$=" + targets.All()[0].Name)
	if err != nil {
		return nil, err
	}
	if _, err := passes.Run(t.Context(), m, passes.RunOptions{Targets: targets, Options: pass.Options{Pins: []pass.Pin{pin}}}); err != nil {
		return nil, err
	}
	exe, err := casetest.Build(t.Context(), t.TempDir(), m, casetest.Weights(calls), targets)
	return &program{exe, m, weights}, err
}

// runsOn reports whether the op of a case has a node on a backend.
func (p *program) runsOn(c *opCase, backend string) bool {
	return slices.ContainsFunc(p.module.Func(c.fn).Nodes, func(n *ir.Node) bool { return n.Op == c.op && n.Backend == backend })
}

// expected is what the definition of the function computes after all passes.
func (p *program) expected(t *testing.T, c *opCase) (eval.Tensor, error) {
	env := *c.call.Env
	var err error
	if env.Weights, err = opcase.Weights(p.module, p.weights); err != nil {
		return eval.Tensor{}, err
	}
	want, err := eval.Run(t.Context(), p.module, c.fn, &env)
	if err != nil {
		return eval.Tensor{}, err
	}
	return want[0], nil
}
