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
// Before: each split has copies of all its inputs. After: a value is copied at most once into a space, and not at all
// for a backend that addresses its space. Where a limit of memory requires it, a value is copied once for each region
// of its use (copiesApart).
//
// Not earlier: copies are inserted for correctness first. Not later: pipeline gives instances to the copies that
// remain, and plan gives them addresses.
//
// For example, with gpu, whose home is dev and which addresses host too, cpu, which addresses only host, and %x in
// host:
//
//	%x.gpu = copy %x            split 0   removed: gpu addresses host, and reads %x there (copy.shared)
//	%b = f(%x.gpu)              gpu
//	%b.cpu = copy %b            split 1   kept: cpu does not address dev
//	%c = g(%b.cpu)              cpu
//	%c.gpu = copy %c            split 2   removed, as the first one
//	%d = h(%c.gpu)              gpu
//	%b.cpu.1 = copy %b          split 3   removed: %b.cpu has the same bytes (copy.again)
//	%d.cpu = copy %d            split 3   kept
//	%e = k(%b.cpu.1, %d.cpu)    cpu
//
// A value never changes after its definition, so an earlier copy of it is as good as a new one. The planner ensures
// that its bytes are still there.
//
// Some copies stay. If the operand of a copy is strided, and the model or pack made the copy, its readers may need
// dense bytes. If a copy is a result of the function, only an earlier copy that can be this result replaces it: the
// caller gets bytes that no other value has.
//
// Cost: one walk, O(nodes + operands). If a space has a limit, there are a few dry runs of the passes up to plan too.
var ElideCopy = pass.Pass{
	Name:   "elide-copy",
	Doc:    "remove copies that a shared space or another copy makes needless",
	Run:    elideCopies,
	Needs:  ir.PropShaped | ir.PropAssigned | ir.PropSplit | ir.PropCopied,
	Breaks: pass.FromQueued,
	Rules: []pass.Rule{
		{Name: pass.RuleCopyShared, Doc: "the backend addresses the space of the operand"},
		{Name: pass.RuleCopyAgain, Doc: "an earlier split copied it into the same space, or another that the backend addresses"},
		{Name: pass.RuleCopyApart, Doc: "an earlier split copied it too, but keeping those bytes until here takes more memory than the limit of the space"},
	},
}

func elideCopies(c *pass.Context, m *ir.Module) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil || !set.Elide {
		c.Unchanged = true
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

// elideAll removes the needless copies of all functions except those to keep, and returns, by function, the copies that
// were merged with earlier ones. over is, by space, the bytes by which a plan without the copies to keep exceeds its
// limit. Causes name them.
func elideAll(c *pass.Context, m *ir.Module, keep pass.CopySet, over map[string]int64) (merges [][]mergedCopy) {
	for i, f := range m.AllFuncs() {
		s := newElider(c, f)
		s.over = over
		for at, n := range f.Nodes {
			s.at = pass.NodeAt{Fn: i, Node: at}
			s.apart = keep[s.at]
			s.node(n)
		}
		s.e.Done()
		flow.CloseGaps(f)
		merges = append(merges, s.merges)
	}
	flow.NumberBodies(m)
	return merges
}

// CopyKey names a copy by the copied value and the space of the copy.
type CopyKey struct {
	V     *ir.Value
	Space string
}

// expertsMade names a copy of the experts that idx chooses.
type expertsMade struct {
	CopyKey
	idx *ir.Value
}

// removal is the reason why a copy was removed: the rule, and the name of the copied value.
type removal struct {
	rule   pass.RuleName
	copied string
}

// mergedCopy is a copy that was removed because an earlier one serves as well.
type mergedCopy struct {
	at  pass.NodeAt // where it was
	by  *ir.Value   // the earlier copy
	pos int         // position of the next node in the new order
}

// elider removes the needless copies of one function.
type elider struct {
	c       *pass.Context
	e       *rewrite.Edit
	at      pass.NodeAt      // the current node
	apart   bool             // the current node is a copy to keep: it begins a region of use
	over    map[string]int64 // see elideAll
	merges  []mergedCopy
	uses    *ir.UseLists
	made    map[CopyKey]*ir.Value     // copies that remain
	experts map[expertsMade]*ir.Value // copies of experts that remain
	given   map[*ir.Value]bool        // copies that became results of the function in place of removed ones
	removed map[*ir.Value]removal     // by removed copy
}

// tooMuch describes by how many bytes a limit would be exceeded.
func tooMuch(bytes int64) string {
	return fmt.Sprintf("%d bytes%s too many with one copy each", bytes, ir.RoundedBytes(bytes))
}

func newElider(c *pass.Context, f *ir.Func) *elider {
	return &elider{
		c: c, e: rewrite.NewEdit(c, f), uses: ir.Uses(f), made: make(map[CopyKey]*ir.Value), experts: make(map[expertsMade]*ir.Value),
		given: make(map[*ir.Value]bool), removed: make(map[*ir.Value]removal),
	}
}

// node keeps or removes the current node.
func (s *elider) node(n *ir.Node) {
	// A result of the function is removed only if an earlier copy can be the result.
	if !flow.IsTransfer(n) || slices.Contains(n.Func.Results, n.Result()) && !s.spare(n) {
		before := slices.Clone(n.Args)
		s.e.Keep(n)
		s.followView(n)
		s.explain(n, before)
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
		// A copy of a strided value that the model came with stays: its readers may need dense bytes.
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

// reached reports whether all readers of v, and of its views, address a space. Splits may share views, so some readers
// can be on other backends than the copy v. A reader that copies from space to space reads bytes anywhere.
func (s *elider) reached(v *ir.Value, space string) bool {
	return !slices.ContainsFunc(s.uses.Of(v), func(n *ir.Node) bool {
		if n.Is(ir.View) {
			return !s.reached(n.Result(), space)
		}
		t := s.c.Target(n)
		return t != nil && !flow.IsTransfer(n) && !t.Addresses(space)
	})
}

// earlier returns an earlier copy of the operand of n that serves as well as n; nil for none. It is in the same space
// or, unless n is a result of the function, in another space that the backend addresses.
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

// chosen keeps or removes a copy of experts. An earlier copy of all experts serves as well, but not vice versa.
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

// spare reports whether the caller can get an earlier copy in place of n, which is a result of the function. The
// earlier one must not be a result yet.
func (s *elider) spare(n *ir.Node) bool {
	made := s.made[CopyKey{s.e.Now(n.Args[0]), n.Result().Type.Space}]
	return made != nil && !slices.Contains(n.Func.Results, made) && !s.given[made]
}

// remove removes a copy that another value replaces.
func (s *elider) remove(n *ir.Node, by *ir.Value, rule pass.RuleName) {
	s.c.Count("elided", 1)
	s.c.Count(string(rule), 1)
	s.e.Replace(n.Result(), by)
	s.removed[n.Result()] = removal{rule, n.Args[0].String()}
}

// followView infers the type of a view again. A view of a removed copy now views the value that replaces the copy. The
// space and the strides of that value may be others.
func (s *elider) followView(n *ir.Node) {
	if !n.Is(ir.View) {
		return
	}
	if types, err := ir.Infer(n); err == nil { // the verifier reports others
		n.Result().Type = types[0]
	}
}

// explain gives a reader of removed copies the causes why it reads other values. before are its operands as they were.
func (s *elider) explain(n *ir.Node, before []*ir.Value) {
	for i, a := range before {
		if r, gone := s.removed[a]; a != nil && gone && n.Args[i] != a {
			s.c.Cause(n, r.rule, r.copied)
		}
	}
}
