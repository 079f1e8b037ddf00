package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// elideCopyPass removes copies that a shared space or another copy makes needless.
//
// Before: each split has copies of all its inputs. After: a value is copied at most once
// into a space, and not at all for a backend that can address where it lies.
//
// Not earlier: copies are inserted for correctness first. Not later: what remains is what
// the plan gives addresses, and what later passes buffer.
//
// Cost: one walk, O(nodes + operands).
//
// A value never changes once it is defined, so an earlier copy of it is as good as a new
// one; that its bytes still hold it is the planner's business. Copies that are results of
// the function stay: the caller gets bytes of their own.
var elideCopyPass = Pass{
	Name:  "elide-copy",
	Doc:   "remove copies that a shared space or another copy makes needless",
	Run:   elideCopies,
	Needs: ir.PropShaped | ir.PropAssigned | ir.PropSplit | ir.PropCopied,
	Rules: []Rule{
		{ruleShared, "the backend reads the operand where it lies"},
		{ruleAgain, "an earlier split copied it into the same space"},
		{ruleWhole, "an earlier split copied all of what this is a slice of"},
	},
}

const (
	ruleShared = "c.shared"
	ruleAgain  = "c.again"
	ruleWhole  = "c.whole"
)

func elideCopies(c *Context, m *ir.Module) error {
	set, err := ruleSetOf(c.Options)
	if err != nil || !set.elide {
		return err
	}
	for _, f := range m.AllFuncs() {
		s := &elider{c: c, e: newEdit(c, f), made: make(map[copyKey]*ir.Value), removed: make(map[*ir.Value]removal)}
		for _, n := range f.Nodes {
			s.node(n)
		}
		s.e.done()
	}
	return nil
}

// copyKey names what was copied and where to.
type copyKey struct {
	v     *ir.Value
	space string
}

// removal is why a copy went away.
type removal struct{ rule, copied string }

type elider struct {
	c       *Context
	e       *edit
	made    map[copyKey]*ir.Value
	removed map[*ir.Value]removal // by what stands for the copy, until a reader has noted it
}

func (s *elider) node(n *ir.Node) {
	if !isTransfer(n) || slices.Contains(n.Func.Results, n.Result()) {
		before := append([]*ir.Value(nil), n.Args...)
		s.e.keep(n)
		s.followView(n)
		s.note(n, before)
		return
	}
	s.e.update(n)
	from, key := n.Args[0], copyKey{n.Args[0], n.Result().Type.Space}
	t := s.c.Target(n)
	switch {
	case t.Addresses(from.Type.Space) && s.c.Allow(ruleShared, n):
		s.remove(n, from, ruleShared)
	case s.made[key] != nil && s.c.Allow(ruleAgain, n):
		s.remove(n, s.made[key], ruleAgain)
	case s.whole(n) != nil && s.c.Allow(ruleWhole, n):
		view := s.e.add(n, ir.OpSlice, from.Def.Attr, n.Result().Name, s.whole(n))
		s.c.Cause(view, ruleWhole, n.String())
		s.remove(n, view.Result(), ruleWhole)
	default:
		s.made[key] = n.Result()
		s.e.keep(n)
	}
}

// whole returns the copy of what n copies a slice of, if that is contiguous in it.
func (s *elider) whole(n *ir.Node) *ir.Value {
	v := n.Args[0]
	if v.Def == nil || v.Def.Op != ir.OpSlice {
		return nil
	}
	all := s.made[copyKey{v.Def.Args[0], n.Result().Type.Space}]
	if all == nil || !ir.EqualDims(v.Type.Strides, n.Result().Type.Strides) {
		return nil
	}
	return all
}

func (s *elider) remove(n *ir.Node, by *ir.Value, rule string) {
	s.c.Count("elided", 1)
	s.c.Count(rule, 1)
	s.e.replace(n.Result(), by)
	s.removed[n.Result()] = removal{rule, n.Args[0].String()}
}

// followView gives a view, made of a copy that is gone, the space of what it names now.
func (s *elider) followView(n *ir.Node) {
	if n.Is(ir.View) {
		n.Result().Type.Space = n.Args[0].Type.Space
	}
}

// note tells the reader of a copy that is gone why it reads something else.
func (s *elider) note(n *ir.Node, before []*ir.Value) {
	for i, a := range before {
		if r, gone := s.removed[a]; a != nil && gone && n.Args[i] != a && r.rule != ruleWhole {
			s.c.Cause(n, r.rule, r.copied)
		}
	}
}
