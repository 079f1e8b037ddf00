// Package parts proves that a module which is written out for the devices of a group computes what it did before: every
// node computes a piece of a node before, from the pieces that it needs; sums that are read are complete, with each
// summand once and on all devices in one order; and results are whole. It shares no code with package shard, which
// writes modules out, and believes no state: of the module before it knows what each op means (ir.Ways), that
// collectives change no value, and names. It follows which elements of which value each value after has.
package parts

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Check compares a module before it was written out with the one after. It reports every node that computes something
// else. A module with weights that state no value computes nothing that is known, and is not compared.
func Check(before, after *ir.Module) error {
	if slices.ContainsFunc(before.Weights, func(w *ir.Weight) bool { return w.Expr == nil }) {
		return nil
	}
	var errs []error
	kept := make(map[string]piece)
	for _, learning := range []bool{true, false} { // what states have follows from what any function writes to them
		errs = nil
		for _, f := range after.Funcs {
			g := before.Func(f.Name)
			if g == nil || len(g.Params) != len(f.Params) || len(g.Results) != len(f.Results) {
				errs = append(errs, fmt.Errorf("@%s: there is no such function before", f.Name))
				continue
			}
			c := &checker{before: before, after: after, values: make(map[string]*ir.Value), leaves: make(map[string]*ir.Value), pieces: make(map[*ir.Value]piece),
				order: make(map[*ir.Value][]summand), written: make(map[string]int), kept: kept, learning: learning, sums: reductions(g, f)}
			for _, err := range c.function(g, f) {
				errs = append(errs, fmt.Errorf("@%s %w", f.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checker is the state of the check of a function.
type checker struct {
	before, after *ir.Module
	values        map[string]*ir.Value     // before, by name
	leaves        map[string]*ir.Value     // weights and states before, by their names
	pieces        map[*ir.Value]piece      // by value after
	order         map[*ir.Value][]summand  // of each sum without a stated order: that in which the first device added it up
	sums          map[*ir.Value]*reduction // by value that is added up
	read          []string                 // states after that are read
	written       map[string]int           // number of writes, by state after
	kept          map[string]piece         // what states after have, by what is first written to them
	learning      bool                     // kept is not complete yet, and errors do not count
}

// function follows the nodes of f, which is written out of g.
func (c *checker) function(g, f *ir.Func) (errs []error) {
	for i, p := range g.Params {
		c.pieces[f.Params[i]], c.values[p.Name()] = whole(p), p
	}
	for _, n := range g.Nodes {
		for _, r := range n.Results {
			c.values[r.Name()] = r
		}
		switch a := n.Attr.(type) {
		case *ir.WeightAttr:
			c.leaves[a.Name] = n.Result()
		case *ir.StateAttr:
			c.leaves[a.Name] = n.Result()
		}
	}
	for _, n := range f.Nodes {
		if len(errs) > 0 && slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && c.pieces[a].of == nil }) {
			continue // what it reads is reported
		}
		p, err := c.node(n)
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", n, err))
			continue
		}
		if p = p.normal(); !sameShape(p, n.Result().Type) {
			errs = append(errs, fmt.Errorf("%v is %v, which has another shape than %v", n, p, n.Result().Type))
			continue
		}
		c.pieces[n.Result()] = p
	}
	for i, r := range f.Results {
		if p, ok := c.pieces[r]; !ok || !p.isWhole() || p.of != same(g.Results[i]) {
			errs = append(errs, fmt.Errorf("returns %v, which is not all of %v", r, g.Results[i]))
		}
	}
	if errs = append(errs, c.states(g)...); len(errs) > 0 {
		return errs
	}
	return c.stated(f)
}

// same returns the value that v is: collectives change no value.
func same(v *ir.Value) *ir.Value {
	for v.Def != nil && ir.IsCollective(v.Def.Op) {
		v = v.Def.Args[0]
	}
	return v
}

// sameShape reports whether a type has the extents of a piece.
func sameShape(p piece, t ir.Type) bool {
	want := slices.Clone(p.of.Type.Shape)
	if p.axis >= 0 {
		want[p.axis] = ir.Const(p.runs.len())
	}
	return t.DType == p.of.Type.DType && slices.EqualFunc(want, t.Shape, ir.Dim.Equal)
}

// device matches what names after end in: the number of a device, and one that makes them unique.
var device = regexp.MustCompile(`@(\d+)(\.\d+)?$`)

// original returns the value of the module before with this name, without the number of a device; nil if there is none.
func original(values map[string]*ir.Value, name string) *ir.Value {
	if v := values[name]; v != nil {
		return v
	}
	if at := device.FindStringIndex(name); at != nil {
		return values[name[:at[0]]]
	}
	return nil
}

// node returns what a node after computes.
func (c *checker) node(n *ir.Node) (piece, error) {
	if len(n.Results) != 1 || n.Body != nil {
		return piece{}, fmt.Errorf("it has %d results or a body", len(n.Results))
	}
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return c.weight(a.Name)
	case *ir.StateAttr:
		return c.state(a.Name)
	}
	args := make([]piece, len(n.Args))
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		p, ok := c.pieces[a]
		if !ok {
			return piece{}, fmt.Errorf("it reads %v, of which nothing is known", a)
		}
		if p.how == nil {
			p.how = &additions{leaf: a}
		}
		args[i] = p
	}
	x := original(c.values, n.Result().Name())
	if x != nil && x.Def != nil && x.Def.Op == n.Op {
		c.learn(n, x.Def, args)
		p, err := c.part(n, x.Def, slices.Clone(args))
		if err != nil {
			if q, ok := gathered(n, x.Def, args); ok {
				p, err = q, nil
			}
		}
		if p.how = nil; err == nil {
			c.note(n)
			return p, nil
		}
		if q, other := c.moved(n, x, args); other == nil {
			return q, nil // it adds up what the devices have of a sum, and has the name of that
		}
		return piece{}, err
	}
	return c.moved(n, x, args)
}

// note counts reads and writes of states.
func (c *checker) note(n *ir.Node) {
	for i, a := range n.Args {
		if a == nil || a.Root().Def == nil || a.Root().Def.Op != ir.OpState {
			continue
		}
		name := a.Root().Def.Attr.(*ir.StateAttr).Name
		if n.Is(ir.WritesState) && i == n.Op.Info().AliasArg {
			c.written[name]++
		} else {
			c.read = append(c.read, name)
		}
	}
}

// states reports states that are read and not written as often as the one before: later steps would read old elements.
func (c *checker) states(g *ir.Func) (errs []error) {
	writes := make(map[string]int)
	for _, n := range g.Nodes {
		if n.Is(ir.WritesState) {
			if r := n.Args[n.Op.Info().AliasArg].Root(); r.Def != nil && r.Def.Op == ir.OpState {
				writes[r.Def.Attr.(*ir.StateAttr).Name]++
			}
		}
	}
	slices.Sort(c.read)
	for _, name := range slices.Compact(c.read) {
		v := original(c.leaves, name)
		if v == nil {
			continue // reported where it is read
		}
		if want := writes[v.Def.Attr.(*ir.StateAttr).Name]; c.written[name] != want {
			errs = append(errs, fmt.Errorf("reads the state %q, which it writes %d times instead of %d", name, c.written[name], want))
		}
	}
	return errs
}
