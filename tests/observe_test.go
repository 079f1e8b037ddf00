package tests

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestPassesPreserveWhatIsObserved compiles random programs with all values observed. After each pass the nodes hand out
// the same names as after pass observe, each once a call, with the values that the nodes of these names had there.
func TestPassesPreserveWhatIsObserved(t *testing.T) {
	seeds := uint64(16)
	if testing.Short() {
		seeds = 4
	}
	for name, text := range targetLists {
		targets, err := target.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			handed, looped := 0, 0
			for seed := range seeds {
				var budget *pass.BudgetError
				all, inLoops, err := preservesObserved(seed, targets)
				if err != nil && !errors.As(err, &budget) {
					t.Errorf("seed %d: %v", seed, err)
				}
				handed, looped = handed+all, looped+inLoops
			}
			t.Logf("%d names, %d of them in loops", handed, looped)
			if handed < 100 || looped == 0 && !testing.Short() {
				t.Errorf("only %d names, %d of them in loops", handed, looped)
			}
		})
	}
}

// preservesObserved compiles one program. It returns how many names its functions list, and how many of them nodes in
// loops hand out in the end.
func preservesObserved(seed uint64, targets *target.List) (handed, looped int, err error) {
	p, err := irtest.Random(seed, 16)
	if err != nil {
		return 0, 0, err
	}
	ctx := context.Background()
	o := pass.Options{Observe: regexp.MustCompile("."), Debug: []pass.Setting{{Pass: "roll", Flag: "min", Value: "2"}}}
	var want []map[string]eval.Tensor
	check := func(s passes.Step, m *ir.Module) error {
		if m.Props&ir.PropPacked == 0 || s.Pass != "observe" && want == nil {
			return nil
		}
		got, values, err := handOuts(ctx, p, m)
		if err != nil {
			return fmt.Errorf("after %s: %w\n%v", s.Pass, err, m)
		}
		if s.Pass == "observe" {
			want = values
		}
		for i := range got {
			if err := sameHandOuts(m.Func(p.Calls[i].Func), got[i], want[i]); err != nil {
				return fmt.Errorf("after %s: call %d: %w\n%v", s.Pass, i, err, m)
			}
		}
		return roundTrips(p, m, nil)
	}
	_, err = passes.Run(ctx, p.Module, passes.RunOptions{Targets: targets, Options: o, After: check})
	for _, f := range p.Module.AllFuncs() {
		handed += len(f.Observed)
		for _, n := range f.Nodes {
			if n.Op == ir.OpObserve && f.Owner != nil {
				looped += len(n.Attr.(*ir.ObserveAttr).Names)
			}
		}
	}
	return handed, looped, err
}

// handOuts returns what each call hands out, and the values of the functions' own nodes, both by name.
func handOuts(ctx context.Context, p *irtest.Program, m *ir.Module) (handed, values []map[string]eval.Tensor, err error) {
	weights, err := irtest.Weights(m, p.Tensors)
	if err != nil {
		return nil, nil, err
	}
	env := &eval.Env{Weights: weights}
	for _, c := range p.Calls {
		h, v := make(map[string]eval.Tensor), make(map[string]eval.Tensor)
		var twice string
		env.Inputs = c.Inputs
		env.Handed = func(name string, t eval.Tensor) {
			if _, again := h[name]; again {
				twice = name
			}
			h[name] = t
		}
		env.Observe = func(n *ir.Node, results []eval.Tensor) {
			if len(results) == 1 {
				v[n.Result().Name()] = results[0].Dense()
			}
		}
		if _, err := eval.Run(ctx, m, c.Func, env); err != nil {
			return nil, nil, err
		}
		if twice != "" {
			return nil, nil, fmt.Errorf("%s is handed out twice", twice)
		}
		handed, values = append(handed, h), append(values, v)
	}
	return handed, values, nil
}

// sameHandOuts compares what a call hands out with the values of these names, which the function lists.
func sameHandOuts(f *ir.Func, got, want map[string]eval.Tensor) error {
	if len(got) != len(f.Observed) {
		return fmt.Errorf("%d names are handed out, and %d listed", len(got), len(f.Observed))
	}
	for name, t := range got {
		w, known := want[name]
		if !known || !slices.Contains(f.Observed, name) {
			return fmt.Errorf("%s is handed out, and no node has that name, or the function does not list it", name)
		}
		if err := irtest.Compare(t, w, sameNumbers); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
