package copies

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// ElideCopy removes copies that a shared space or another copy makes needless.
//
// Before: each split has copies of all its inputs. After: a value is copied at most once
// into a space, and not at all for a backend that can address where it lies; where a limit of
// memory asks for it, once for each region of its use (copy_again.go).
//
// Not earlier: copies are inserted for correctness first. Not later: what remains is what
// the plan gives addresses, and what later passes buffer.
//
// Cost: one walk, O(nodes + operands); where a space has a limit, besides a few rehearsals of the
// passes up to plan.
//
// A copy that the module came with, or that pack made, is there for dense bytes if what it
// copies is strided, and stays.
//
// A value never changes once it is defined, so an earlier copy of it is as good as a new
// one; that its bytes still hold it is the planner's business. A copy that is a result of the
// function goes only where an earlier one can be that result: the caller gets bytes that
// nothing else is given.
var ElideCopy = pass.Pass{
	Name:   "elide-copy",
	Doc:    "remove copies that a shared space or another copy makes needless",
	Run:    elideCopies,
	Needs:  ir.PropShaped | ir.PropAssigned | ir.PropSplit | ir.PropCopied,
	Breaks: pass.FromQueued,
	Rules: []pass.Rule{
		{Name: pass.RuleCopyShared, Doc: "the backend reads the operand where it lies"},
		{Name: pass.RuleCopyAgain, Doc: "an earlier split copied it into the same space, or another that the backend addresses"},
		{Name: pass.RuleCopyApart, Doc: "an earlier split copied it as well, but to keep its bytes until now takes more memory than the limit of the space allows"},
	},
}

func elideCopies(c *pass.Context, m *ir.Module) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil || !set.Elide {
		return err
	}
	var keep pass.CopySet
	if c.Dry != nil {
		keep = c.Dry.Keep
	}
	var over map[string]int64
	if keep == nil {
		if keep, over, err = copiesApart(c, m); err != nil {
			return err
		}
	}
	elideAll(c, m, keep, over)
	return nil
}

// elideAll removes the copies of all functions but those to keep, and returns, function by
// function, those that were merged with earlier ones. over is by how many bytes spaces would
// exceed their limits without those to keep, for the causes.
func elideAll(c *pass.Context, m *ir.Module, keep pass.CopySet, over map[string]int64) (merges [][]mergedCopy) {
	for i, f := range m.AllFuncs() {
		s := newElider(c, f)
		s.over = over
		for at, n := range f.Nodes {
			s.at, s.apart = pass.NodeAt{Fn: i, Node: at}, keep[pass.NodeAt{Fn: i, Node: at}]
			s.node(n)
		}
		s.e.Done()
		flow.CloseGaps(f)
		merges = append(merges, s.merges)
	}
	flow.NumberBodies(m)
	return merges
}

// CopyKey names what was copied and where to.
type CopyKey struct {
	V     *ir.Value
	Space string
}

// expertsMade names a copy of the experts that idx names.
type expertsMade struct {
	CopyKey
	idx *ir.Value
}

// removal is why a copy went away.
type removal struct {
	rule   pass.RuleName
	copied string
}

// mergedCopy is a copy that went away because an earlier one serves as well.
type mergedCopy struct {
	at  pass.NodeAt
	by  *ir.Value
	pos int // of the node that came next
}

type elider struct {
	c       *pass.Context
	e       *rewrite.Edit
	at      pass.NodeAt // the node that is looked at
	apart   bool        // it begins a region of use
	over    map[string]int64
	merges  []mergedCopy
	uses    *ir.UseLists
	made    map[CopyKey]*ir.Value
	experts map[expertsMade]*ir.Value
	given   map[*ir.Value]bool    // copies that became results
	removed map[*ir.Value]removal // by what stands for the copy, until a reader has noted it
	before  []*ir.Value           // the operands of the node that is looked at
}

// numCopies returns how many copies f has.
func numCopies(f *ir.Func) (sum int) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpCopy {
			sum++
		}
	}
	return sum
}

// tooMuch says what a limit would be exceeded by.
func tooMuch(bytes int64) string {
	return fmt.Sprintf("%d bytes%s too many with one copy each", bytes, ir.RoundedBytes(bytes))
}

func newElider(c *pass.Context, f *ir.Func) *elider {
	return &elider{
		c: c, e: rewrite.NewEdit(c, f), uses: ir.Uses(f), made: make(map[CopyKey]*ir.Value, numCopies(f)), experts: make(map[expertsMade]*ir.Value),
		given: make(map[*ir.Value]bool), removed: make(map[*ir.Value]removal),
	}
}

func (s *elider) node(n *ir.Node) {
	if !flow.IsTransfer(n) || slices.Contains(n.Func.Results, n.Result()) && !s.spare(n) {
		s.before = append(s.before[:0], n.Args...)
		s.e.Keep(n)
		s.followView(n)
		s.note(n, s.before)
		return
	}
	s.e.Update(n)
	if n.Op == ir.OpCopyExperts {
		s.chosen(n)
		return
	}
	from, key := n.Args[0], CopyKey{n.Args[0], n.Result().Type.Space}
	t := s.c.Target(n)
	switch {
	case t.Addresses(from.Type.Space) && s.reached(n.Result(), from.Type.Space) && (flow.IsSplitInput(n) || from.Type.Dense()) && s.c.Allow(pass.RuleCopyShared, n):
		// The model's own copy of a strided value stays: its readers may need dense bytes.
		s.remove(n, from, pass.RuleCopyShared)
	case s.apart && s.earlier(n) != nil && s.c.Allow(pass.RuleCopyApart, n):
		s.c.Cause(n, pass.RuleCopyApart, s.earlier(n).String(), key.Space, tooMuch(s.over[key.Space]))
		s.c.Count(string(pass.RuleCopyApart), 1)
		s.made[key] = n.Result()
		s.e.Keep(n)
	case s.earlier(n) != nil && s.c.Allow(pass.RuleCopyAgain, n):
		by := s.earlier(n)
		if slices.Contains(n.Func.Results, n.Result()) {
			s.given[by] = true
		} else {
			s.merges = append(s.merges, mergedCopy{s.at, by, len(s.e.Out)})
		}
		s.remove(n, by, pass.RuleCopyAgain)
	default:
		s.made[key] = n.Result()
		s.e.Keep(n)
	}
}

// reached reports whether whoever reads v, or views of it that other splits may share, can
// address a space.
func (s *elider) reached(v *ir.Value, space string) bool {
	return !slices.ContainsFunc(s.uses.Of(v), func(n *ir.Node) bool {
		if n.Is(ir.View) {
			return !s.reached(n.Result(), space)
		}
		t := s.c.Target(n)
		return t != nil && !flow.IsTransfer(n) && !t.Addresses(space)
	})
}

// earlier returns an earlier copy of what n copies that serves as well: in the same space or,
// where no result of the function is made, in another that the backend addresses.
func (s *elider) earlier(n *ir.Node) *ir.Value {
	if same := s.made[CopyKey{n.Args[0], n.Result().Type.Space}]; same != nil || slices.Contains(n.Func.Results, n.Result()) {
		return same
	}
	for _, space := range s.c.Target(n).Spaces {
		if by := s.made[CopyKey{n.Args[0], space}]; by != nil && s.reached(n.Result(), space) {
			return by
		}
	}
	return nil
}

// chosen elides or keeps a copy of experts. It stands in for no copy of all of them.
func (s *elider) chosen(n *ir.Node) {
	key := expertsMade{CopyKey{n.Args[0], n.Result().Type.Space}, n.Args[1]}
	by := s.made[key.CopyKey]
	if by == nil {
		by = s.experts[key]
	}
	if by != nil && s.c.Allow(pass.RuleCopyAgain, n) {
		s.remove(n, by, pass.RuleCopyAgain)
		return
	}
	s.experts[key] = n.Result()
	s.e.Keep(n)
}

// spare reports whether the caller can be given another copy of what n copies for it: one
// that is no result yet, and so belongs to nobody else.
func (s *elider) spare(n *ir.Node) bool {
	made := s.made[CopyKey{s.e.Now(n.Args[0]), n.Result().Type.Space}]
	return made != nil && !slices.Contains(n.Func.Results, made) && !s.given[made]
}

func (s *elider) remove(n *ir.Node, by *ir.Value, rule pass.RuleName) {
	s.c.Count("elided", 1)
	s.c.Count(string(rule), 1)
	s.e.Replace(n.Result(), by)
	s.removed[n.Result()] = removal{rule, n.Args[0].String()}
}

// followView gives a view, made of a copy that is gone, the space of what it names now.
func (s *elider) followView(n *ir.Node) {
	if n.Is(ir.View) && n.Result().Type.Space != n.Args[0].Type.Space {
		n.Result().Type.Space = n.Args[0].Type.Space
	}
}

// note tells the reader of a copy that is gone why it reads something else.
func (s *elider) note(n *ir.Node, before []*ir.Value) {
	for i, a := range before {
		if r, gone := s.removed[a]; a != nil && gone && n.Args[i] != a {
			s.c.Cause(n, r.rule, r.copied)
		}
	}
}
