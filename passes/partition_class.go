package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// rat is a positive rational number. It is reduced where it comes from a function.
type rat struct{ num, den int64 }

func (r rat) reduced() rat {
	g := gcd(r.num, r.den)
	return rat{r.num / g, r.den / g}
}

func (r rat) times(s rat) rat { return rat{r.num * s.num, r.den * s.den}.reduced() }

func (r rat) inverse() rat { return rat{r.den, r.num} }

// lcmRat returns the smallest number of which both are divisors.
func lcmRat(r, s rat) rat {
	r, s = r.reduced(), s.reduced()
	return rat{lcm(r.num, s.num), gcd(r.den, s.den)}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }

// dimRatio returns a/b where that is the same number for all sizes.
func dimRatio(a, b ir.Dim) (rat, bool) {
	num, den := a.Upper(), b.Upper()
	if num <= 0 || den <= 0 {
		return rat{}, false
	}
	r := rat{num, den}.reduced()
	return r, a.Mul(ir.Const(r.den)).Equal(b.Mul(ir.Const(r.num)))
}

// maxMembers is how many nodes a class may have, so that epochs of very many nodes do not take
// time that grows with the square. A barrier more after so many nodes is nothing.
const maxMembers = 256

// class is a set of nodes of one epoch whose units belong together: the same worker has
// unit u of each of them. A class never changes; joining makes a new one.
type class struct {
	members []member
	scale   rat // the smallest for which every granule is a multiple of its base
}

// member is a node in a class. Its granule is ratio times the class's scale.
type member struct {
	node  *ir.Node
	axis  *ir.Axis
	base  int64 // the granule is a multiple of it
	ratio rat
}

// ownGranule returns the smallest granule in which a node can be divided by itself.
func ownGranule(n *ir.Node, ax *ir.Axis) int64 {
	t, base := n.Result().Type, max(ax.Granule, 1)
	if ax.Axis == t.Rank()-1 {
		base = lcm(base, int64(t.DType.BlockElems()))
	}
	return base
}

// aloneClass returns the class of a node by itself.
func aloneClass(n *ir.Node, ax *ir.Axis) *class {
	return classOf([]member{{n, ax, ownGranule(n, ax), rat{1, 1}}})
}

// classOf returns the class of these members.
func classOf(members []member) *class {
	c := &class{members: members}
	for i := range members {
		m := &members[i]
		need := m.ratio.inverse().times(rat{m.base, 1})
		if i == 0 {
			c.scale = need
		} else {
			c.scale = lcmRat(c.scale, need)
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
func (c *class) granule(n *ir.Node) int64 { return c.scale.times(c.member(n).ratio).num }

// units returns the number of units at the upper bounds; all members have the same.
func (c *class) units() int64 {
	m := &c.members[0]
	n := m.node.Result().Type.Shape[m.axis.Axis]
	return n.CeilDiv(c.scale.times(m.ratio).num).Upper()
}

// need returns c with the granule of one member a multiple of base.
func (c *class) need(n *ir.Node, base int64) *class {
	if c.granule(n)%base == 0 {
		return c
	}
	members := slices.Clone(c.members)
	for i := range members {
		if members[i].node == n {
			members[i].base = lcm(members[i].base, base)
		}
	}
	return classOf(members)
}

// joinClasses returns the class of all members of c and d, where the granule of b, in d, is by times
// that of a, in c. They may be the same class; then ok says whether it already is so.
func joinClasses(c *class, a *ir.Node, d *class, b *ir.Node, by rat) (joined *class, ok bool) {
	want := c.member(a).ratio.times(by)
	have := d.member(b).ratio
	if c == d {
		return c, want == have
	}
	change := want.times(have.inverse())
	members := slices.Clone(c.members)
	for _, m := range d.members {
		m.ratio = m.ratio.times(change)
		members = append(members, m)
	}
	return classOf(members), true
}
