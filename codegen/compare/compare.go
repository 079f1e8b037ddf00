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

	// Devices are the names of the group's devices, if there is one.
	Devices []string
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
	Limit     float64 // of MaxAbs; 0 for none

	// The element with the largest difference.
	Index []int
	A, B  float64

	// The devices of the groups of both sides that have the element; empty where all have it, or there is no group.
	OnA, OnB string
}

// Differs reports whether the values are farther from each other than they may be.
func (r *Row) Differs() bool { return r.Missing == "" && (!(r.NMSE <= r.Tolerance) || r.beyond()) }

// beyond reports whether an element differs by more than any may.
func (r *Row) beyond() bool { return r.Limit > 0 && !(r.MaxAbs <= r.Limit) }

// Distance returns how far the values are from each other, and how far they may be.
func (r *Row) Distance() string {
	if r.NMSE <= r.Tolerance && r.beyond() {
		return fmt.Sprintf("a difference of %.3g, allowed is %.3g", r.MaxAbs, r.Limit)
	}
	return fmt.Sprintf("NMSE %.3g, allowed is %.3g", r.NMSE, r.Tolerance)
}

// With compares a program with another one.
func With(a, b *Program, o Options) ([]Row, error) {
	if len(a.Steps) != len(b.Steps) {
		return nil, fmt.Errorf("%s has taken %d steps, %s %d: the steps of both must be alike", a.Name, len(a.Steps), b.Name, len(b.Steps))
	}
	c := &comparison{o: o}
	for i, s := range a.Steps {
		other := b.Steps[i]
		if err := sameInputs(s, other); err != nil {
			return c.rows, fmt.Errorf("step %d: %w", i, err)
		}
		if err := c.step(i, a.step(s), b.step(other)); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
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
	c := &comparison{o: o}
	like := def.withRoundings()
	for i, s := range a.Steps {
		x := a.step(s)
		b, err := bothWays(ctx, x, def, like)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		if err := c.step(i, x, b); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
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
	o    Options
	rows []Row
}

// step compares the nodes of a step in order.
func (c *comparison) step(i int, a *stepOf, b side) error {
	for _, n := range c.o.Nodes.Func(a.s.Func).Nodes {
		if n.Is(ir.Leaf) || len(n.Results) == 0 || !c.o.Wanted(n) {
			continue
		}
		row := Row{Step: i, Func: a.s.Func, Node: n}
		x, missing, err := a.values(n)
		var y []held
		if missing == "" && err == nil {
			y, missing, err = b.values(n)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", n, err)
		}
		if row.Missing = missing; missing == "" {
			name := n.Result().Name()
			row.Tolerance = both(a.tolerance(name), b.tolerance(name))
			row.Limit = b.limit(name, a.tolerance(name))
			if c.o.Tolerance >= 0 {
				row.Tolerance, row.Limit = c.o.Tolerance, 0
			}
			row.copies(x, y)
		}
		c.rows = append(c.rows, row)
	}
	return nil
}

// copies compares what the devices of both sides have of a value. The row is that of the copies that differ most.
func (r *Row) copies(x, y []held) {
	first := *r
	for i, a := range x {
		for j, b := range y {
			if i > 0 && j > 0 {
				continue // both are compared with the first one of the other side
			}
			pair := first
			pair.compare(a.Tensor, b.Tensor)
			pair.OnA, pair.OnB = a.on(pair.Index), b.on(pair.Index)
			if i+j == 0 || pair.Missing != "" || pair.Differs() && !(pair.NMSE <= r.NMSE) {
				*r = pair
			}
			if r.Missing != "" {
				return
			}
		}
	}
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
