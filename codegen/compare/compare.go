package compare

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// Program is one side: a compiled module, and what its program has written.
type Program struct {
	Name   string     // for the table
	Module *ir.Module // compiled
	Steps  []*Step
}

// Definition is the other side where that is no program.
type Definition struct {
	Module  *ir.Module // as it was imported
	Sources codegen.Sources
}

// Options control a comparison.
type Options struct {
	// Nodes are the nodes to list: those of the module as it was imported.
	Nodes *ir.Module

	// Wanted reports whether a node is to be compared.
	Wanted func(*ir.Node) bool

	// Tolerance is the largest NMSE for all values; negative for that of the ops.
	Tolerance float64
}

// Row is one value of one step.
type Row struct {
	Step int
	Func string
	Node *ir.Node // as it was imported

	Missing string // why there is nothing to compare; empty for a value that both sides have

	NMSE      float64 // sum of squared differences over that of the second side's squares
	MaxAbs    float64 // largest difference
	Tolerance float64 // of NMSE

	// The element with the largest difference.
	Index []int
	A, B  float64
}

// Differs reports whether the values are farther from each other than they may be.
func (r *Row) Differs() bool { return r.Missing == "" && !(r.NMSE <= r.Tolerance) }

// With compares a program with another one.
func With(a, b *Program, o Options) ([]Row, error) {
	if len(a.Steps) != len(b.Steps) {
		return nil, fmt.Errorf("%s has taken %d steps, %s %d: the steps of both must be alike", a.Name, len(a.Steps), b.Name, len(b.Steps))
	}
	c := &comparison{a: a, o: o}
	for i, s := range a.Steps {
		other := b.Steps[i]
		if err := sameInputs(s, other); err != nil {
			return c.rows, fmt.Errorf("step %d: %w", i, err)
		}
		tols := tolerances(b.Module.Func(s.Func))
		err := c.step(i, s, func(n *ir.Node) (eval.Tensor, string, error) {
			t, ok, err := other.value(n.Result().Name())
			if !ok {
				return t, b.Name + ": " + whyMissing(b.Module.Func(s.Func), n), nil
			}
			return t, "", err
		}, func(name string) float64 { return tols[name] })
		if err != nil {
			return nil, err
		}
	}
	return c.rows, nil
}

// WithDefinition compares a program with what its graph means.
func WithDefinition(ctx context.Context, a *Program, d Definition, o Options) ([]Row, error) {
	def, err := newDefinition(ctx, d.Module, d.Sources)
	if err != nil {
		return nil, err
	}
	c := &comparison{a: a, o: o}
	for i, s := range a.Steps {
		values, err := def.step(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		err = c.step(i, s, func(n *ir.Node) (eval.Tensor, string, error) {
			return values[n.Result().Name()], "", nil
		}, func(string) float64 { return 0 })
		if err != nil {
			return nil, err
		}
	}
	return c.rows, nil
}

// First returns the first row that differs; nil if there is none.
func First(rows []Row) *Row {
	for i := range rows {
		if rows[i].Differs() {
			return &rows[i]
		}
	}
	return nil
}

// comparison collects rows.
type comparison struct {
	a    *Program
	o    Options
	rows []Row
}

// step compares the nodes of a step in order. other returns the value of a node on the other side, or why it has none.
func (c *comparison) step(i int, s *Step, other func(*ir.Node) (eval.Tensor, string, error), tolerance func(string) float64) error {
	f := c.a.Module.Func(s.Func)
	tols := tolerances(f)
	for _, n := range c.o.Nodes.Func(s.Func).Nodes {
		if n.Is(ir.Leaf) || len(n.Results) == 0 || !c.o.Wanted(n) {
			continue
		}
		row := Row{Step: i, Func: s.Func, Node: n}
		name := n.Result().Name()
		x, ok, err := s.value(name)
		if err != nil {
			return err
		}
		var y eval.Tensor
		if ok {
			y, row.Missing, err = other(n)
		} else {
			row.Missing = c.a.Name + ": " + whyMissing(f, n)
		}
		if err != nil {
			return err
		}
		if row.Missing == "" {
			row.compare(x, y)
			row.Tolerance = both(tols[name], tolerance(name))
			if c.o.Tolerance >= 0 {
				row.Tolerance = c.o.Tolerance
			}
		}
		c.rows = append(c.rows, row)
	}
	return nil
}

// compare sets the distances of two values.
func (r *Row) compare(x, y eval.Tensor) {
	if !slices.Equal(x.Shape, y.Shape) {
		r.Missing = fmt.Sprintf("of the shapes %v and %v", x.Shape, y.Shape)
		return
	}
	a, b := x.Flat(), y.Flat()
	var diff, norm float64
	at := -1
	for i := range a {
		d := math.Abs(a[i] - b[i])
		if a[i] == b[i] {
			d = 0 // for infinities too
		}
		diff, norm = diff+d*d, norm+b[i]*b[i]
		if at < 0 || d > r.MaxAbs || math.IsNaN(d) && !math.IsNaN(r.MaxAbs) {
			at, r.MaxAbs = i, d
		}
	}
	if at >= 0 {
		r.Index, r.A, r.B = indexOf(at, x.Shape), a[at], b[at]
	}
	if r.NMSE = diff / norm; diff == 0 {
		r.NMSE = 0
	}
}

// indexOf returns the index of an element by its position in row order.
func indexOf(at int, shape []int) []int {
	index := make([]int, len(shape))
	for i, n := range slices.Backward(shape) {
		index[i], at = at%n, at/n
	}
	return index
}

// sameInputs reports an input that differs between two programs.
func sameInputs(a, b *Step) error {
	if a.Func != b.Func || !maps.Equal(a.Sizes, b.Sizes) {
		return fmt.Errorf("one program runs @%s with %v, the other @%s with %v: the inputs of both must be alike", a.Func, a.Sizes, b.Func, b.Sizes)
	}
	for _, name := range slices.Sorted(maps.Keys(a.inputs)) {
		x, err := a.read(a.inputs[name])
		if err != nil {
			return err
		}
		y, err := b.read(b.inputs[name])
		if err != nil {
			return err
		}
		if !slices.Equal(x.Data, y.Data) {
			return fmt.Errorf("the programs get different values of the input %s: choose -n 1, as they have generated different tokens", name)
		}
	}
	return nil
}
