package parts

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// additions are how a sum came about: a tree of additions over the values that were added.
type additions struct {
	leaf *ir.Value // what a device had before the exchange; nil for an addition
	a, b *additions
}

// text returns the additions with the numbers of the devices in place of values. ok is false if a value is the summand
// of no device.
func (t *additions) text(device map[*ir.Value]int) (text string, ok bool) {
	if t.leaf != nil {
		j, known := device[t.leaf]
		return fmt.Sprint(j), known
	}
	a, ok1 := t.a.text(device)
	b, ok2 := t.b.text(device)
	return "(" + a + "+" + b + ")", ok1 && ok2
}

// reduction is a sum of the module before: its order, and the summand of each device after.
type reduction struct {
	node   *ir.Node
	device map[*ir.Value]int // the number of the device that has a summand
	with   []int             // these numbers, in order
}

// reductions returns the sums of g by the value that is added up. What the devices have of it is what f states, which
// is compared with what f computes elsewhere.
func reductions(g, f *ir.Func) map[*ir.Value]*reduction {
	values := make(map[string]*ir.Value)
	for _, p := range f.Params {
		values[p.Name()] = p
	}
	for _, n := range f.Nodes {
		for _, r := range n.Results {
			values[r.Name()] = r
		}
	}
	all := make(map[*ir.Value]*reduction)
	for _, n := range g.Nodes {
		if n.Op != ir.OpAllReduce {
			continue
		}
		of := same(n.Result())
		r := &reduction{node: n, device: make(map[*ir.Value]int)}
		for _, p := range f.Parts {
			if p.Of != of.Name() || p.State.Kind != ir.ShardPartial {
				continue
			}
			for j, name := range p.Names {
				if name != "" {
					r.device[values[name]] = j
					r.with = append(r.with, j)
				}
			}
		}
		all[of] = r
	}
	return all
}

// ordered reports a sum that is complete and was not added up in the order that the module before states.
func (c *checker) ordered(p piece) error {
	r := c.sums[p.of]
	if r == nil {
		return c.alike(p)
	}
	want, err := r.want(p)
	if err != nil {
		return err
	}
	got, ok := p.how.text(r.device)
	if !ok {
		return fmt.Errorf("it adds up %v, and one of the values is no device's summand", p)
	}
	if got != want {
		return fmt.Errorf("it adds up %v in the order %s of devices, and %v states %s", p, got, r.node, want)
	}
	return nil
}

// alike reports a sum for which no order is stated, and which another device has added up in another order.
func (c *checker) alike(p piece) error {
	if first, known := c.order[p.of]; known && !equalSums(first, p.sums) {
		return fmt.Errorf("it adds up %v in another order than a device before", p.of)
	}
	c.order[p.of] = p.sums
	return nil
}

// want returns the additions that give a piece of the sum.
func (r *reduction) want(p piece) (string, error) {
	if r.node.Attr.(*ir.AllReduceAttr).Order != ir.SumRing {
		return r.whole(), nil
	}
	last := p.of.Type.Rank() - 1
	size, ok := p.of.Type.Shape[last].IsConst()
	have := p.runs
	if p.axis < 0 {
		have = runs{{0, size}}
	}
	for i := range r.with {
		begin, end := ir.RingChunk(size, i, len(r.with))
		if ok && begin < end && (p.axis < 0 || p.axis == last) && slices.Equal(have, runs{{begin, end}}) {
			return oneByOne(slices.Concat(r.with[i+1:], r.with[:i+1])), nil
		}
	}
	return "", fmt.Errorf("it adds up %v, which is no chunk of a ring of %d devices", p, len(r.with))
}

// whole returns the additions of all elements, for orders without chunks.
func (r *reduction) whole() string {
	if r.node.Attr.(*ir.AllReduceAttr).Order != ir.SumTree {
		return oneByOne(r.with)
	}
	terms := make([]string, len(r.with))
	for i, j := range r.with {
		terms[i] = fmt.Sprint(j)
	}
	for len(terms) > 1 {
		var pairs []string
		for p := range slices.Chunk(terms, 2) {
			if len(p) == 2 {
				pairs = append(pairs, "("+p[0]+"+"+p[1]+")")
			} else {
				pairs = append(pairs, p[0])
			}
		}
		terms = pairs
	}
	return terms[0]
}

// oneByOne returns the additions of devices one after another.
func oneByOne(devices []int) string {
	text := fmt.Sprint(devices[0])
	for _, j := range devices[1:] {
		text = fmt.Sprintf("(%s+%d)", text, j)
	}
	return text
}
