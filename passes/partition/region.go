package partition

import (
	"iter"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// region is what runs between two barriers. Without repeats, an epoch of a function is one region. With a repeat whose
// body has a barrier, an epoch is several regions: the first one has the nodes before the repeat and the beginning of
// the body, the last one the end of the body and the nodes after the repeat.
type region struct {
	buffers  buffers
	accesses map[*ir.Value][]*flow.Access // by buffer, in the order of the nodes
	divided  []*ir.Node                   // nodes that workers divide, in order
	classes  map[*ir.Node]*class          // of these
}

func newRegion(b buffers) *region {
	return &region{buffers: b, accesses: make(map[*ir.Value][]*flow.Access), classes: make(map[*ir.Node]*class)}
}

// add adds the accesses of a node.
func (r *region) add(accesses []flow.Access) {
	for i := range accesses {
		b := r.buffers.of(accesses[i].Value)
		r.accesses[b] = append(r.accesses[b], &accesses[i])
	}
}

// divide adds a node that workers divide. All members of its class own alike from now on.
func (r *region) divide(n *ir.Node, c *class) {
	r.divided = append(r.divided, n)
	for i := range c.members {
		r.classes[c.members[i].node] = c
	}
}

// hazard is two accesses to the same buffer, one of which writes: workers have to keep their order.
type hazard struct{ before, now *flow.Access }

// hazards yields the hazards between the region and the accesses of a node that comes next.
func (r *region) hazards(accesses []flow.Access) iter.Seq[hazard] {
	return func(yield func(hazard) bool) {
		for i := range accesses {
			now := &accesses[i]
			for _, before := range r.accesses[r.buffers.of(now.Value)] {
				if (before.Write || now.Write) && !yield(hazard{before, now}) {
					return
				}
			}
		}
	}
}

// conflict returns the first hazard between different workers. Only a barrier keeps its order.
func (r *region) conflict(accesses []flow.Access) (h hazard, found bool) {
	for h := range r.hazards(accesses) {
		if !flow.SameOwner(*h.before, *h.now) {
			return h, true
		}
	}
	return hazard{}, false
}

// rule returns the rule that places a barrier because of a hazard.
func (h hazard) rule() pass.RuleName {
	switch {
	case h.before.Write && h.now.Write:
		return pass.RulePartitionWAW
	case h.before.Write:
		return pass.RulePartitionRAW
	}
	return pass.RulePartitionWAR
}

// fit is how a node can be divided within a region.
type fit struct {
	kind   fitKind
	class  *class   // the node's class in the region; not for fitsNot
	joins  []*class // the region's classes that are joined in class, as they were
	hazard hazard   // for fitsJoined the first hazard that demanded a join, for fitsNot one that no join avoids
}

type fitKind uint8

const (
	fitsFreely fitKind = iota // there is no hazard
	fitsJoined                // its units follow those of nodes in the region
	fitsNot                   // only after a barrier
)

// fit tries to divide a node so that both accesses of each hazard are those of one worker. alone is the class of the
// node by itself.
func (r *region) fit(alone *class, accesses []flow.Access) fit {
	f := fit{kind: fitsFreely, class: alone}
	for h := range r.hazards(accesses) {
		if !r.join(&f, h) {
			return fit{kind: fitsNot, hazard: h}
		}
		if f.kind == fitsFreely {
			f.kind, f.hazard = fitsJoined, h
		}
	}
	return f
}

// join makes both accesses of a hazard those of one worker: it joins f.class, the class of the later node, with the
// class of the earlier one. It returns false if this is not possible.
func (r *region) join(f *fit, h hazard) bool {
	ratio, ok := granuleRatio(h)
	if !ok {
		return false
	}
	before, now := h.before.Node, h.now.Node
	theirs := r.classes[before]
	if slices.Contains(f.joins, theirs) { // an earlier hazard has joined them: its ratio has to be the same
		f.class = f.class.enlarge(before, h.before.Span.Multiple()).enlarge(now, h.now.Span.Multiple())
		return f.class.hasRatio(before, now, ratio)
	}
	if len(theirs.members)+len(f.class.members) > maxMembers {
		return false
	}
	f.joins = append(f.joins, theirs)
	f.class = joinClasses(theirs.enlarge(before, h.before.Span.Multiple()), before, f.class.enlarge(now, h.now.Span.Multiple()), now, ratio)
	return true
}

// granuleRatio returns the granule of the later node divided by that of the earlier one if a unit of each touches the
// same bytes. There is no such ratio if units do not determine what both touch, or if the earlier granule cannot grow
// any more, as in the body of a repeat.
//
// For example, a product is divided along columns, and rope along heads of 64 columns. A unit of the product covers
// granule*1 elements, a unit of rope granule*64: the ratio is 1/64.
func granuleRatio(h hazard) (flow.Rational, bool) {
	a, b := h.before, h.now
	if a.Granule != 0 || a.By != flow.Owners || b.By != flow.Owners || !a.Span.Period.Equal(b.Span.Period) {
		return flow.Rational{}, false
	}
	strides, ok := flow.DimRatio(a.Span.Stride, b.Span.Stride)
	if !ok {
		return flow.Rational{}, false
	}
	// A unit covers granule*num/den*stride elements, equally many on both sides.
	return strides.Times(flow.Rational{Num: a.Span.Num, Den: a.Span.Den}).Times(flow.Rational{Num: b.Span.Den, Den: b.Span.Num}), true
}

// close decides the granules of the region's nodes. No node joins the region any more.
func (r *region) close(c *pass.Context) {
	for _, n := range r.divided {
		class := r.classes[n]
		n.Part.Granule = class.granule(n)
		if len(class.members) == 1 {
			c.Cause(n, pass.RulePartitionSplit)
			continue
		}
		other := class.members[0].node
		if other == n {
			other = class.members[1].node
		}
		own := ownGranule(n, class.member(n).axis)
		c.CauseChange(n, pass.RulePartitionOwn, strconv.FormatInt(own, 10), strconv.FormatInt(n.Part.Granule, 10), other.String())
		c.Count("owned", 1)
	}
}
