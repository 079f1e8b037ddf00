package parts

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// stated compares what f states about its values with what they are. It uses the names of values, and the parts of
// values (ir.Func.Parts).
func (c *checker) stated(f *ir.Func) (errs []error) {
	values := make(map[string]*ir.Value)
	for _, p := range f.Params { // of a sum of which a device adds nothing else, a parameter can be the summand
		values[p.Name()] = p
	}
	for _, n := range f.Nodes {
		r := n.Result()
		values[r.Name()] = r
		if v := c.values[r.Name()]; v != nil && (!c.pieces[r].isWhole() || c.pieces[r].of != same(v)) {
			errs = append(errs, fmt.Errorf("%v: it has the name of a value and is %v", n, c.pieces[r]))
		}
	}
	for _, p := range f.Parts {
		if err := c.statedParts(p, values); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", p, err))
		}
	}
	return errs
}

// statedParts compares what devices have of a value with its state.
func (c *checker) statedParts(p ir.Parts, values map[string]*ir.Value) error {
	of := c.values[p.Of]
	if of == nil {
		return fmt.Errorf("there is no such value before")
	}
	var summands []piece
	for j, name := range p.Names {
		if name == "" {
			continue
		}
		have, known := c.pieces[values[name]]
		if !known {
			return fmt.Errorf("nothing is known of %q", name)
		}
		have = lifted(have, same(of))
		if p.State.Kind == ir.ShardPartial {
			summands = append(summands, have)
			continue
		}
		if want := partOf(same(of), p.State, j); !have.isComplete() || !have.normal().sameRange(want.normal()) {
			return fmt.Errorf("%q is %v, not %v", name, have, want)
		}
	}
	if p.State.Kind != ir.ShardPartial {
		return nil
	}
	return addUp(same(of), summands)
}

// addUp reports summands that are not all of a value.
func addUp(of *ir.Value, list []piece) error {
	if len(list) == 0 {
		return fmt.Errorf("no device has a summand")
	}
	sum := list[0]
	for _, p := range list[1:] {
		sums, err := together(sum.summands(), p.summands())
		if err != nil {
			return err
		}
		if !sum.sameRange(p) {
			return fmt.Errorf("%v is no summand of what %v is one of", p, sum)
		}
		sum.sums, sum.lacking = sums, common(sum.lacking, p.lacking)
	}
	if sum.of != of || sum.axis >= 0 || !sum.isComplete() {
		return fmt.Errorf("they add up to %v", sum)
	}
	return nil
}

// partOf returns what device j has of a value in a state without summands.
func partOf(v *ir.Value, s ir.Sharding, j int) piece {
	p := whole(v)
	if s.IsSplit() {
		p.axis, p.runs = s.Axis, runs{}
		for _, r := range s.Ranges(j) {
			p.runs = p.runs.add(r[0], r[0]+r[1])
		}
	}
	return p.normal()
}
