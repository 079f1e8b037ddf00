package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/passes"
)

// spot is a node that a question names, in one iteration of the repeat around it, or in all (-1).
type spot struct {
	n     *ir.Node
	round int64
}

// found is the nodes, parameters and members that a question names.
type found struct {
	nodes   []spot
	params  []*ir.Value
	members []leafMember
	split   *Label // if the question names a whole split
	notes   []string
}

func (f *found) empty() bool { return len(f.nodes)+len(f.params)+len(f.members) == 0 }

// find looks a name up: as a label of a split; as a value, weight, state or tensor; then as a position in the model
// file; then as the beginning of positions, or of names of weights; at last as a node that a pass has merged into
// another one. A name with * is a pattern for all of them. A name that ends with [l=2] is that of one iteration.
func (x *explainer) find(query string) (*found, error) {
	f := &found{}
	if l, ok := ParseLabel(query); ok {
		if err := l.Check(x.m); err != nil {
			return nil, err
		}
		x.findLabel(f, l)
		return f, nil
	}
	fn, name := splitQuery(query)
	name, iteration := cutIteration(name)
	x.findName(f, fn, name)
	if f.empty() {
		return nil, x.notFound(query)
	}
	return f, f.inIteration(query, iteration)
}

// inIteration narrows what was found to one iteration; all stay if it is -1.
func (f *found) inIteration(query string, iteration int64) error {
	if iteration < 0 {
		return nil
	}
	var times int64
	for i := range f.nodes {
		times = max(times, iterationsAround(f.nodes[i].n))
		if f.nodes[i].round < 0 && iterationsAround(f.nodes[i].n) > 0 {
			f.nodes[i].round = iteration
		}
	}
	f.nodes = slices.DeleteFunc(f.nodes, func(s spot) bool { return s.round != iteration })
	f.params, f.members = nil, nil
	switch {
	case iteration >= times:
		return fmt.Errorf("%s: %s", query, iterationsText(times))
	case len(f.nodes) == 0:
		return fmt.Errorf("%s: what has this name is in another iteration: leave out [l=%d]", query, iteration)
	}
	return nil
}

func (x *explainer) findName(f *found, fn, name string) {
	if strings.Contains(name, "*") {
		x.findPattern(f, fn, name)
		return
	}
	x.findValues(f, fn, func(v string) bool { return v == name })
	x.findMembers(f, name)
	if f.empty() {
		x.findParts(f, fn, name)
	}
	if f.empty() {
		x.findPositions(f, func(pos string) bool { return pos == name })
	}
	if f.empty() {
		x.findPositions(f, func(pos string) bool { return strings.HasPrefix(pos, name+".") })
	}
	if f.empty() {
		x.findMembersBelow(f, name+".")
	}
	if f.empty() {
		x.findMerged(f, name)
	}
}

// findParts looks for what the devices of a group have of a value of which none has all under its name.
func (x *explainer) findParts(f *found, fn, name string) {
	for _, g := range x.m.Funcs {
		if fn != "" && fn != g.Name {
			continue
		}
		for _, p := range g.PartsOf(name) {
			var have []string
			for i, part := range p.Names {
				if part == "" {
					continue
				}
				have = append(have, part+p.State.Index(i))
				before := len(f.nodes) + len(f.params)
				if x.findValues(f, g.Name, func(v string) bool { return v == part }); len(f.nodes)+len(f.params) == before {
					x.findMerged(f, part)
				}
			}
			note := "no device of the group has all of %s in @%s: they have %s"
			if p.State.Kind == ir.ShardHeld || p.State.Kind == ir.ShardMirrored {
				note = "each device computes %s in @%s for itself: %s"
			}
			f.notes = append(f.notes, fmt.Sprintf(note, name, g.Name, strings.Join(have, ", ")))
		}
	}
}

// findMembersBelow looks for weights and states by the beginning of their names: blk.3.ffn_up for blk.3.ffn_up.weight.
func (x *explainer) findMembersBelow(f *found, prefix string) {
	for _, w := range x.m.Weights {
		if strings.HasPrefix(w.Name, prefix) {
			x.addMember(f, leafMember{weight: w})
		}
	}
	for _, s := range x.m.States {
		if strings.HasPrefix(s.Name, prefix) {
			x.addMember(f, leafMember{state: s})
		}
	}
}

// findPattern looks for all values, members and positions that a pattern matches, in which * is any text.
func (x *explainer) findPattern(f *found, fn, pattern string) {
	form := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	x.findValues(f, fn, form.MatchString)
	for _, w := range x.m.Weights {
		if form.MatchString(w.Name) {
			x.addMember(f, leafMember{weight: w})
		}
	}
	for _, s := range x.m.States {
		if form.MatchString(s.Name) {
			x.addMember(f, leafMember{state: s})
		}
	}
	known := make(map[spot]bool)
	for _, s := range f.nodes {
		known[s] = true
	}
	at := &found{members: f.members}
	x.findPositions(at, form.MatchString)
	for _, s := range at.nodes {
		if !known[s] && !known[spot{s.n, -1}] && (fn == "" || fn == s.n.Func.Name || fn == s.n.Func.Entry().Name) {
			f.nodes = append(f.nodes, s)
		}
	}
	f.members = at.members
}

// notFound returns the error that nothing has the name, with the most similar name.
func (x *explainer) notFound(query string) error {
	fn, name := splitQuery(query)
	if fn == "" && x.m.Func(name) != nil {
		return fmt.Errorf("%s is a function, not a node: without a name, explain sums it up", name)
	}
	return fmt.Errorf("%s has no node, weight or position %q:%s ggmlc dump shows their names", x.title(), query, spell.Hint(name, x.names()))
}

// title names the module for messages.
func (x *explainer) title() string {
	if x.m.Name == "" {
		return "the module"
	}
	return "module " + x.m.Name
}

// names returns the names that find knows, in order, some more than once.
func (x *explainer) names() []string {
	var names []string
	for _, f := range x.m.AllFuncs() {
		for _, p := range f.Params {
			names = append(names, p.Name())
		}
		for _, n := range f.Nodes {
			names = append(names, n.Pos)
			for _, r := range n.Results {
				names = append(names, r.Name(), f.Entry().Name+"."+r.Name())
			}
		}
		for _, later := range tablePositions(f) {
			names = append(names, later...)
		}
	}
	for _, w := range x.m.Weights {
		names = append(names, w.Name)
	}
	for _, s := range x.m.States {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// splitQuery splits a question such as "@decode %v11" into function and name. The function may be missing.
func splitQuery(query string) (fn, name string) {
	if rest, ok := strings.CutPrefix(query, "@"); ok {
		if before, after, both := strings.Cut(rest, " "); both {
			fn, query = before, after
		}
	}
	return fn, strings.Trim(strings.TrimPrefix(strings.TrimSpace(query), "%"), `"`)
}

// findValues looks for results and parameters by their names, alone or after that of their function. Leaves are
// members. The name of an entry point includes the bodies in it.
func (x *explainer) findValues(f *found, fn string, match func(name string) bool) {
	for _, g := range x.m.AllFuncs() {
		entry := g.Entry().Name
		if fn != "" && fn != g.Name && fn != entry {
			continue
		}
		named := func(v *ir.Value) bool {
			return v.Name() != "" && (match(v.Name()) || match(g.Name+"."+v.Name()) || match(entry+"."+v.Name()))
		}
		for _, p := range g.Params {
			if named(p) {
				f.params = append(f.params, p)
			}
		}
		for _, n := range g.Nodes {
			if slices.ContainsFunc(n.Results, named) {
				x.addNode(f, n, -1)
			}
		}
	}
}

// addNode adds a node, or the member that a leaf names.
func (x *explainer) addNode(f *found, n *ir.Node, round int64) {
	if l, ok := x.leaf(n); ok {
		x.addMember(f, l)
		return
	}
	f.nodes = append(f.nodes, spot{n, round})
}

func (x *explainer) addMember(f *found, l leafMember) {
	if !slices.ContainsFunc(f.members, func(m leafMember) bool { return m == l }) {
		f.members = append(f.members, l)
	}
}

// findMembers looks for weights by their name or by a tensor that they are made of, and for
// states.
func (x *explainer) findMembers(f *found, name string) {
	for _, w := range x.m.Weights {
		if w.Name == name || madeOf(w.Expr, name) {
			x.addMember(f, leafMember{weight: w})
		}
	}
	if s := x.m.State(name); s != nil {
		x.addMember(f, leafMember{state: s})
	}
}

// madeOf reports whether the tensor occurs in an expression.
func madeOf(e *ir.Expr, tensor string) bool {
	if e == nil {
		return false
	}
	return e.Op == ir.ExprTensor && e.Tensor == tensor ||
		slices.ContainsFunc(e.Args, func(a *ir.Expr) bool { return madeOf(a, tensor) })
}

// findPositions looks for nodes by their positions in the model file. The nodes of a body have the positions of its
// first iteration; those of later iterations are the positions of the entries of tables.
func (x *explainer) findPositions(f *found, match func(pos string) bool) {
	for _, g := range x.m.AllFuncs() {
		rounds := tablePositions(g)
		for _, n := range g.Nodes {
			if n.Pos == "" {
				continue
			}
			later, isTable := rounds[n.Pos]
			switch {
			case match(n.Pos) && !isTable:
				x.addNode(f, n, -1)
			case match(n.Pos):
				x.addNode(f, n, 0)
			}
			for i, pos := range later {
				if pos != n.Pos && match(pos) {
					x.addNode(f, n, int64(i))
				}
			}
		}
	}
}

// tablePositions returns for each position of the first iteration of a body those of all iterations.
func tablePositions(f *ir.Func) map[string][]string {
	all := make(map[string][]string)
	if f.Owner == nil || f.Owner.Op != ir.OpRepeat {
		return all
	}
	a := f.Owner.Attr.(*ir.RepeatAttr)
	tables := f.Owner.Args[a.Carried+a.Invariant:]
	for len(tables) > 0 {
		entries := tables[:a.Count]
		tables = tables[a.Count:]
		if first := posOf(entries[0]); first != "" && all[first] == nil {
			for _, e := range entries {
				all[first] = append(all[first], posOf(e))
			}
		}
	}
	return all
}

func posOf(v *ir.Value) string {
	if v.Def == nil {
		return ""
	}
	return v.Def.Pos
}

// findMerged looks for a node that a pass has merged into others. The causes of these name it.
func (x *explainer) findMerged(f *found, name string) {
	for _, g := range x.m.AllFuncs() {
		for _, n := range g.Nodes {
			if c := causeNaming(n, name); c != nil {
				x.addNode(f, n, -1)
				_, doc := passes.RuleDoc(c.Rule)
				f.notes = append(f.notes, fmt.Sprintf("%s is no node of its own any more: see @%s %v (%s: %s)", name, g.Name, n, c.Rule, doc))
			}
		}
	}
}

// causeNaming returns the first cause, of a pass that removes nodes, that names the value.
func causeNaming(n *ir.Node, name string) *ir.Cause {
	for _, c := range n.Causes() {
		if byPass("fold", "cse", "canonicalize", "fuse", "fuse-late", "elide-copy")(c) && slices.Contains(c.Operands, "%"+ir.QuoteName(name)) {
			return &c
		}
	}
	return nil
}
