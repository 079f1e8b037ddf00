package partition

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// maxMembers is how many nodes a class may have: without a limit, the time of the pass grows with the square of an
// epoch's nodes. One more barrier after so many nodes costs next to nothing.
const maxMembers = 256

// class is a set of nodes of one epoch that own alike: for every u, unit u of each of them is the same worker's. A
// class never changes; joining makes a new one.
//
// The granule of each member is a fixed ratio times the scale of the class. The scale is the smallest for which each
// granule is a multiple of what the member's kernel demands. An example with heads of 64 elements:
//
//	member          index   demands a multiple of   ratio   granule at scale 64
//	%q = matmul     column  16 columns              1       64 columns
//	%r = rope %q    head    1 head                  1/64    1 head
//
// With 16 columns, a unit of the product would be a quarter of a head, and a unit of rope cannot be less than one: so
// the scale is 64. If attention joins the class and wants groups of 4 heads with the ratio 1/64, the scale becomes 256,
// and the units of the product and of rope grow to 4 heads.
type class struct {
	members []member
	scale   flow.Rational
}

// member is a node in a class.
type member struct {
	node   *ir.Node
	axis   *ir.Axis      // along which it is divided
	effort flow.Effort   // of one execution
	base   int64         // its granule is a multiple of this
	ratio  flow.Rational // its granule is this times the scale
}

// ownGranule returns the smallest granule in which a node can be divided along an axis: whole granules of the kernel,
// and whole blocks of a quantized result.
func ownGranule(n *ir.Node, ax *ir.Axis) int64 {
	t, base := n.Result().Type, max(ax.Granule, 1)
	if ax.Axis == t.Rank()-1 {
		base = flow.Lcm(base, int64(t.DType.BlockElems()))
	}
	return base
}

// aloneClass returns the class of a node by itself.
func aloneClass(n *ir.Node, ax *ir.Axis, effort flow.Effort) *class {
	return newClass([]member{{n, ax, effort, ownGranule(n, ax), flow.Rational{Num: 1, Den: 1}}})
}

// newClass returns the class of these members, with the smallest scale.
func newClass(members []member) *class {
	c := &class{members: members}
	for i := range members {
		m := &members[i]
		least := m.ratio.Inverse().Times(flow.Rational{Num: m.base, Den: 1}) // the scale is a multiple of it
		if i == 0 {
			c.scale = least
		} else {
			c.scale = flow.LcmRat(c.scale, least)
		}
	}
	return c
}

// joinClasses returns the class of all members of two classes, where the granule of b, which is in d, is ratio times
// that of a, which is in c.
func joinClasses(c *class, a *ir.Node, d *class, b *ir.Node, ratio flow.Rational) *class {
	change := c.member(a).ratio.Times(ratio).Times(d.member(b).ratio.Inverse())
	members := slices.Clone(c.members)
	for _, m := range d.members {
		m.ratio = m.ratio.Times(change)
		members = append(members, m)
	}
	return newClass(members)
}

// hasRatio reports whether the granule of b is ratio times that of a, where both are members.
func (c *class) hasRatio(a, b *ir.Node, ratio flow.Rational) bool {
	return c.member(a).ratio.Times(ratio) == c.member(b).ratio
}

// enlarge returns c with the granule of one member a multiple of base.
func (c *class) enlarge(n *ir.Node, base int64) *class {
	if c.granule(n)%base == 0 {
		return c
	}
	members := slices.Clone(c.members)
	for i := range members {
		if members[i].node == n {
			members[i].base = flow.Lcm(members[i].base, base)
		}
	}
	return newClass(members)
}

// member returns the member that n is.
func (c *class) member(n *ir.Node) *member {
	for i := range c.members {
		if c.members[i].node == n {
			return &c.members[i]
		}
	}
	panic("passes: internal error: a class without the node that it was made for")
}

// granule returns the granule of a member.
func (c *class) granule(n *ir.Node) int64 { return c.scale.Times(c.member(n).ratio).Num }

// units returns how many units there are at the upper bounds of symbols. All members have equally many.
func (c *class) units() int64 {
	m := &c.members[0]
	return m.node.Result().Type.Shape[m.axis.Axis].CeilDiv(c.granule(m.node)).Upper()
}
