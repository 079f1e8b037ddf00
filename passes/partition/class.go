package partition

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// maxMembers is how many nodes a class may have, so that epochs of very many nodes do not take
// time that grows with the square. A barrier more after so many nodes is nothing.
const maxMembers = 256

// class is a set of nodes of one epoch whose units belong together: the same worker has
// unit u of each of them. A class never changes; joining makes a new one.
type class struct {
	members []member
	scale   flow.Rational // the smallest for which every granule is a multiple of its base
}

// member is a node in a class. Its granule is ratio times the class's scale.
type member struct {
	node  *ir.Node
	axis  *ir.Axis
	base  int64 // the granule is a multiple of it
	ratio flow.Rational
}

// ownGranule returns the smallest granule in which a node can be divided by itself.
func ownGranule(n *ir.Node, ax *ir.Axis) int64 {
	t, base := n.Result().Type, max(ax.Granule, 1)
	if ax.Axis == t.Rank()-1 {
		base = flow.Lcm(base, int64(t.DType.BlockElems()))
	}
	return base
}

// aloneClass returns the class of a node by itself.
func aloneClass(n *ir.Node, ax *ir.Axis) *class {
	return classOf([]member{{n, ax, ownGranule(n, ax), flow.Rational{Num: 1, Den: 1}}})
}

// classOf returns the class of these members.
func classOf(members []member) *class {
	c := &class{members: members}
	for i := range members {
		m := &members[i]
		need := m.ratio.Inverse().Times(flow.Rational{Num: m.base, Den: 1})
		if i == 0 {
			c.scale = need
		} else {
			c.scale = flow.LcmRat(c.scale, need)
		}
	}
	return c
}

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

// units returns the number of units at the upper bounds; all members have the same.
func (c *class) units() int64 {
	m := &c.members[0]
	n := m.node.Result().Type.Shape[m.axis.Axis]
	return n.CeilDiv(c.scale.Times(m.ratio).Num).Upper()
}

// need returns c with the granule of one member a multiple of base.
func (c *class) need(n *ir.Node, base int64) *class {
	if c.granule(n)%base == 0 {
		return c
	}
	members := slices.Clone(c.members)
	for i := range members {
		if members[i].node == n {
			members[i].base = flow.Lcm(members[i].base, base)
		}
	}
	return classOf(members)
}

// joinClasses returns the class of all members of c and d, where the granule of b, in d, is by times
// that of a, in c. They may be the same class; then ok says whether it already is so.
func joinClasses(c *class, a *ir.Node, d *class, b *ir.Node, by flow.Rational) (joined *class, ok bool) {
	want := c.member(a).ratio.Times(by)
	have := d.member(b).ratio
	if c == d {
		return c, want == have
	}
	change := want.Times(have.Inverse())
	members := slices.Clone(c.members)
	for _, m := range d.members {
		m.ratio = m.ratio.Times(change)
		members = append(members, m)
	}
	return classOf(members), true
}
