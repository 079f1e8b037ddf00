package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/simplify"
	"github.com/ggmlc/ggmlc/passes/target"
)

// factTable has what rules ask of the nodes of a function. Rules are a dozen walks over all nodes,
// twice over where those of cost ask what ggml's would decide, and each passes most nodes
// by: what it asks of those lies side by side here, instead of in nodes, types and ops.
type factTable struct {
	ids    []int32     // of the nodes, in order
	facts  []nodeFacts // by id
	chosen []int32     // by id: number of the target, or one of the choices below; of the assigner alone
}

// Choices that are no numbers of targets.
const (
	unknownTarget int32 = -1 // the module names one that there is not
	openChoice    int32 = -2
)

// nodeFacts are what stays the same while rules run.
type nodeFacts struct {
	is     nodeTraits
	leaf   int32 // weight or state whose bytes the first result has, as a leaf; -1 is none
	weight int32 // the first source that is a weight, likewise
}

// nodeTraits is a set of answers.
type nodeTraits uint8

const (
	doesWork  nodeTraits = 1 << iota // works
	isMember                         // a weight or state
	hasSource                        // the first result has the bytes of another value
	takesIn                          // isInput
	holdsFunc                        // RunsFunction
	canLower                         // unfuse can lower it
	isGiven                          // a leaf: there before the step
)

// has reports whether the node has all of the traits.
func (k *nodeFacts) has(t nodeTraits) bool { return k.is&t == t }

// fill makes the sheets of all functions.
func (a *assigner) fill() {
	a.sheets = make([]factTable, len(a.funcs))
	a.number = make(map[*ir.Func]int, len(a.funcs))
	for i, f := range a.funcs {
		a.number[f] = i
		a.sheets[i] = a.sheetOf(f)
	}
	a.spaces = make([]string, len(a.leaves.list))
	for i := range a.leaves.list {
		a.spaces[i] = a.leaves.list[i].space()
	}
}

func (a *assigner) sheetOf(f *ir.Func) factTable {
	s := factTable{ids: make([]int32, len(f.Nodes)), facts: make([]nodeFacts, f.NumNodes()), chosen: make([]int32, f.NumNodes())}
	for i, n := range f.Nodes {
		s.ids[i] = int32(n.ID)
		s.facts[n.ID] = a.factsOf(n)
		s.chosen[n.ID] = a.numberOf(n.Backend)
	}
	return s
}

// numberOf returns the choice that the name of a backend is.
func (a *assigner) numberOf(backend string) int32 {
	if backend == "" {
		return openChoice
	}
	return int32(slices.IndexFunc(a.c.Targets.All(), func(t *target.Descriptor) bool { return t.Name == backend }))
}

func (a *assigner) factsOf(n *ir.Node) nodeFacts {
	facts := nodeFacts{leaf: -1, weight: -1}
	note := func(t nodeTraits, is bool) {
		if is {
			facts.is |= t
		}
	}
	traits := n.Traits()
	note(doesWork, traits&(ir.Leaf|ir.View) == 0)
	note(isGiven, traits&ir.Leaf != 0)
	note(isMember, n.Op == ir.OpWeight || n.Op == ir.OpState)
	note(takesIn, isInput(n))
	note(holdsFunc, flow.RunsFunction(n))
	note(canLower, simplify.IsFused(n))
	if r := n.Result(); r != nil {
		root := r.Root()
		note(hasSource, root != r)
		facts.leaf = a.member(root)
	}
	if w := firstWeight(n); w != nil {
		facts.weight = a.leaves.number(w.Def)
	}
	return facts
}

// member returns the weight or state that v is, as a leaf; -1 for neither.
func (a *assigner) member(v *ir.Value) int32 {
	if v.Def == nil || v.Def.Op != ir.OpWeight && v.Def.Op != ir.OpState {
		return -1
	}
	return a.leaves.number(v.Def)
}

// tryRules returns what other sets of rules decide.
func (a *assigner) tryRules(sets ...*RuleSet) []*assigner {
	var tried []*assigner
	for _, set := range sets {
		t := a.trial(set)
		for _, r := range set.assign {
			if r.Name != "" { // else it only checks
				t.run(r)
			}
		}
		tried = append(tried, t)
	}
	return tried
}

// trial returns an assigner whose rules decide as if a's had not decided more than they have, and
// write nothing into the module, nor into what a looks at.
func (a *assigner) trial(set *RuleSet) *assigner {
	t := *a
	t.of, t.quiet, t.errs, t.in = set, true, nil, nil
	t.leaves = &leafTable{list: a.leaves.list, funcs: a.leaves.funcs, ids: a.leaves.ids, readers: a.leaves.readers} // a asks its own meanwhile
	t.spaces = slices.Clone(a.spaces)
	t.sheets = slices.Clone(a.sheets)
	for i := range t.sheets {
		t.sheets[i].chosen = slices.Clone(t.sheets[i].chosen)
	}
	return &t
}

// enter says which function rules come to.
func (a *assigner) enter(f *ir.Func) { a.in, a.at = f, &a.sheets[a.number[f]] }

// sheet returns the sheet of a function, which is mostly the one that rules have come to.
func (a *assigner) sheet(f *ir.Func) *factTable {
	if f == a.in {
		return a.at
	}
	return &a.sheets[a.number[f]]
}

// chosen returns what is decided for a node.
func (a *assigner) chosen(n *ir.Node) int32 { return a.sheet(n.Func).chosen[n.ID] }

// isOpen reports whether a node has no backend yet.
func (a *assigner) isOpen(n *ir.Node) bool { return a.chosen(n) == openChoice }

// TargetOf returns the target that is chosen for a node; nil for none.
func (a *assigner) targetOf(n *ir.Node) *target.Descriptor { return a.targetAt(a.chosen(n)) }

func (a *assigner) targetAt(choice int32) *target.Descriptor {
	if choice < 0 {
		return nil
	}
	return a.c.Targets.All()[choice]
}

// choose writes what is decided for a node.
func (a *assigner) choose(n *ir.Node, t *target.Descriptor) {
	a.sheet(n.Func).chosen[n.ID] = int32(slices.Index(a.c.Targets.All(), t))
	if !a.quiet {
		n.Backend = t.Name
	}
}

// open calls yield for the nodes of f that need a backend and have none yet.
func (a *assigner) open(f *ir.Func) func(yield func(*ir.Node) bool) { return a.undecided(f, doesWork) }

// undecided calls yield for the nodes of f with these traits that have no backend yet. Those of
// ggml's rules are leaves and views too.
func (a *assigner) undecided(f *ir.Func, traits nodeTraits) func(yield func(*ir.Node) bool) {
	return a.where(f, func(k *nodeFacts) bool { return k.has(traits) })
}

// where calls yield for the nodes of f of whose facts holds is true that have no backend yet.
func (a *assigner) where(f *ir.Func, holds func(*nodeFacts) bool) func(yield func(*ir.Node) bool) {
	return func(yield func(*ir.Node) bool) {
		s := a.sheet(f)
		for i, id := range s.ids {
			if s.chosen[id] == openChoice && holds(&s.facts[id]) && !yield(f.Nodes[i]) {
				return
			}
		}
	}
}
