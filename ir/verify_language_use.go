package ir

import (
	"slices"
	"strings"
)

// Checks of how the functions of a language model use the parameters that the runtime sets.

// languageUse checks how the entries use their parameters, and that they write the same states.
func (v *verifier) languageUse(lm *LanguageModel) {
	context, vocab := v.m.Context(), v.m.Vocab()
	if !v.must(context > 0, ruleLanguage, "@%s writes no state, so that a step would know nothing of those before it: write keys and values with state_write", quoteName(lm.Prefill.Func)) {
		return
	}
	entries := lm.entries()
	first := v.roleUse(entries[0].entry, context, vocab)
	for _, e := range entries[1:] {
		written := v.roleUse(e.entry, context, vocab)
		v.f, v.node = nil, languageLine
		v.must(slices.Equal(first, written), ruleLanguage, "@%s writes the states %s, and @%s writes %s: let both write the same",
			quoteName(lm.Prefill.Func), quotedList(first), quoteName(e.entry.Func), quotedList(written))
	}
}

// roleUse checks the nodes of an entry, its bodies and callees. It returns the names of the states that
// they write, in order.
func (v *verifier) roleUse(e *LanguageEntry, context, vocab int64) []string {
	f := v.m.Func(e.Func)
	u := roleUse{verifier: v, e: e, context: context, sequences: v.m.Sequences(), vocab: vocab,
		origins: make(map[*Value]origin), sizes: make(map[*Symbol]bool), written: make(map[string]bool), reported: make(map[int]bool)}
	f.Params[e.Tokens].Type.Inner().Symbols(func(s *Symbol) { u.sizes[s] = true })
	u.visit = u.language
	u.begin(f)
	var names []string
	for _, s := range v.m.States {
		if u.written[s.Name] {
			names = append(names, s.Name)
		}
	}
	return names
}

// encoderUse checks that the entry of an encoder writes the positions of all tokens of a step, and reads those of their texts.
func (v *verifier) encoderUse(f *Func, e *Encoder) {
	u := roleUse{verifier: v, origins: make(map[*Value]origin)}
	u.visit = func(n *Node, depth int) {
		switch n.Op {
		case OpStateWrite:
			u.isInput(n, 2, e.Slot, "slot")
			u.isInput(n, 3, e.Pos, "pos")
			u.allTokens(n, 2)
			u.allTokens(n, 3)
		case OpAttention, OpAttentionSegments:
			u.isInput(n, 3, e.Slot, "slot")
			u.isInput(n, 4, e.Last, "last")
			u.sameTokens(n, 3, 4)
			u.isInput(n, 5, e.Lengths, "lengths")
		}
		u.flow(n, depth)
	}
	u.begin(f)
}

// isInput checks that operand i is elements of the parameter with that index, or of none if that is below 0.
func (u *roleUse) isInput(n *Node, i, index int, role string) {
	u.must(u.origins[n.Arg(i)].param == max(index, -1)+1, ruleLanguage, "%v reads %v, where it needs the parameter with the role %s: let it read that", n.Op, n.Arg(i), role)
}

// roleUse visits the nodes of an entry in the order of execution, and those of bodies and callees in
// place of the nodes that run them.
type roleUse struct {
	*verifier
	visit          func(n *Node, depth int)
	e              *LanguageEntry
	context, vocab int64
	sequences      int64             // of the states
	rows           int64             // of the rings; 0: no ring has been met
	origins        map[*Value]origin // of values with one
	sizes          map[*Symbol]bool  // symbols that the runtime sets
	written        map[string]bool   // states
	reported       map[int]bool      // roles with a violation, of which one is enough
	visited        int               // nodes; those of callees count for each call
}

// origin is the origin of the unchanged elements of a value.
type origin struct {
	param  int      // 1 + the index of a parameter of the entry; 0 for none
	some   bool     // of a parameter with one dimension: not all elements
	first  Dim      // the parameter's element that is the first of the value
	states []string // names of the states whose bytes the value may have
	fresh  bool     // a state_write has made this version of them
}

// maxRoleNodes bounds the visited nodes: calls within calls could multiply them.
const maxRoleNodes = 1 << 24

// begin visits the nodes of f, the function of the entry.
func (u *roleUse) begin(f *Func) {
	for i, p := range f.Params {
		u.origins[p] = origin{param: i + 1}
	}
	u.walk(f, 0)
}

// language checks a node of an entry of a language model.
func (u *roleUse) language(n *Node, depth int) {
	f := u.f
	u.reads(n)
	u.flow(n, depth)
	u.f, u.node = f, n
	u.sized(n)
}

// walk visits the nodes of f. The origins of its parameters are known.
func (u *roleUse) walk(f *Func, depth int) {
	if depth > maxCallDepth || u.visited > maxRoleNodes {
		u.fail(ruleLanguage, "functions call each other too often to check which parameters they read: use fewer calls")
		return
	}
	for _, n := range f.Nodes {
		u.f, u.node = f, n
		u.visited++
		u.visit(n, depth)
	}
}

// reads checks the operands of a node that are sequences, positions, lengths, ids or states.
func (u *roleUse) reads(n *Node) {
	switch n.Op {
	case OpStateWrite:
		u.hasRole(n, 2, roleSlot)
		u.hasRole(n, 3, rolePos)
		u.allTokens(n, 2)
		u.allTokens(n, 3)
		u.cache(n, 0)
		for _, name := range u.origins[n.Arg(0)].states {
			u.written[name] = true
		}
	case OpAttention, OpAttentionSegments:
		u.hasRole(n, 3, roleSlot)
		u.hasRole(n, 4, rolePos)
		u.sameTokens(n, 3, 4)
		u.hasRole(n, 5, roleLengths)
		u.kept(n, 1)
		u.kept(n, 2)
		u.reaches(n)
	case OpGather:
		u.noSlot(n)
		u.selects(n, 1, 0, 0)
	case OpTake:
		u.noSlot(n)
		u.selects(n, 1, 0, 1)
	case OpExpertsMatMul:
		u.selects(n, 2, 1, 0)
	case OpCopyExperts:
		u.selects(n, 1, 0, 0)
	case OpState, OpCopy, OpRepeat, OpCall, OpReshape:
	case OpSlice:
		u.wholeStates(n)
	default:
		u.noSlot(n)
		u.wholeStates(n)
	}
}

// noSlot checks that a node does not compute with the sequence of a token: what a session generates depends on its tokens, not on
// the sequence that it has been given.
func (u *roleUse) noSlot(n *Node) {
	for _, a := range n.Args {
		if a != nil && u.e.Slot >= 0 && u.origins[a].param == u.e.Slot+1 {
			u.fail(ruleLanguage, "%v computes with %v, which is the sequence of each token: let it read the parameter with the role %s", n.Op, a, inputRoles[rolePos])
		}
	}
}

// hasRole checks that operand i is the parameter with a role.
func (u *roleUse) hasRole(n *Node, i, role int) {
	index := *u.e.inputs()[role]
	if u.reported[role] || index >= 0 && u.origins[n.Arg(i)].param == index+1 {
		return
	}
	u.reported[role] = true
	if index < 0 {
		u.fail(ruleLanguage, "%v reads the %s of the step from %v, and no parameter of @%s has the role %s: give it to one",
			n.Op, inputRoles[role], n.Arg(i), quoteName(u.e.Func), inputRoles[role])
		return
	}
	u.fail(ruleLanguage, "%v reads the %s of the step from %v, and the parameter with the role %s is %v of @%s: give the role to what is read",
		n.Op, inputRoles[role], n.Arg(i), inputRoles[role], u.m.Func(u.e.Func).Params[index], quoteName(u.e.Func))
}

// sameTokens checks that the slots and positions that n reads are of the same tokens.
func (u *roleUse) sameTokens(n *Node, slot, pos int) {
	s, p := u.origins[n.Arg(slot)], u.origins[n.Arg(pos)]
	if s.param != 0 && p.param != 0 {
		u.must(s.first.Equal(p.first), ruleLanguage, "%v reads slots from token %v of the step on, and positions from token %v on: let both be those of the same tokens", n.Op, s.first, p.first)
	}
}

// allTokens checks that operand i of n has the elements of all tokens of the step: positions that are not written have what
// other sequences had there.
func (u *roleUse) allTokens(n *Node, i int) {
	u.must(!u.origins[n.Arg(i)].some, ruleLanguage, "%v writes positions of %v, which are not those of all tokens of the step: let it write all", n.Op, n.Arg(i))
}

// cache checks that state operand i has as many positions as the others, and as many sequences.
func (u *roleUse) cache(n *Node, i int) {
	positions, ok := extent(n.Arg(i), 2)
	if ring := RingOf(n); ring > 0 {
		u.ringRows(n, i, positions)
		positions = ring
	}
	u.must(ok && positions == u.context, ruleLanguage, "%v has not the %d positions that the first state of @%s has: let all have as many",
		n.Arg(i), u.context, quoteName(u.m.LM.Prefill.Func))
	sequences, ok := extent(n.Arg(i), 0)
	u.must(ok && sequences == u.sequences && sequences >= 1, ruleLanguage, "%v has not the %d sequences that the first state of @%s has: let all have as many, at least 1",
		n.Arg(i), u.sequences, quoteName(u.m.LM.Prefill.Func))
}

// ringRows checks that all rings have as many rows: the runtime computes which positions are there once for all.
func (u *roleUse) ringRows(n *Node, i int, rows int64) {
	if u.rows == 0 {
		u.rows = rows
	}
	u.must(rows == u.rows, ruleLanguage, "%v is a ring of %d rows, and another one has %d: let all have as many", n.Arg(i), rows, u.rows)
}

// kept checks that operand i of an attention is a state after a state_write: the runtime does not clear
// states between sequences.
func (u *roleUse) kept(n *Node, i int) {
	u.cache(n, i)
	if o := u.origins[n.Arg(i)]; len(o.states) > 0 {
		u.must(o.fresh, ruleLanguage, "%v reads %v before the step has written its positions: let it read what state_write yields", n.Op, n.Arg(i))
	}
}

// reaches records the symbols in the number of segments of an attention. The runtime sets them to cover
// the positions in use.
func (u *roleUse) reaches(n *Node) {
	a, ok := n.Attr.(*AttentionSegmentsAttr)
	if !ok {
		return
	}
	a.Segments.Symbols(func(s *Symbol) {
		if u.sizes[s] {
			return
		}
		u.sizes[s] = true
		u.must(s.Min <= 1 && s.Max >= u.context, ruleLanguage, "the segments of %v are counted by %s, which is %d to %d: let it be 1 to %d, as there are so many positions",
			n.Op, s.Name, s.Min, s.Max, u.context)
	})
}

// selects checks that the rows among which operand i selects suffice for the values that the runtime
// writes. The rows are axis 0 of operand table, or the last axis if fromEnd is 1.
func (u *roleUse) selects(n *Node, i, table, fromEnd int) {
	o := u.origins[n.Arg(i)]
	t := n.Arg(table)
	if o.param == 0 || t == nil || len(t.Type.Shape) == 0 {
		return
	}
	rows, _ := t.Type.Shape[fromEnd*(len(t.Type.Shape)-1)].Bounds()
	role, most := u.most(o.param - 1)
	u.must(rows >= most, ruleLanguage, "%v selects one of %d rows by %s, which are 0 to %d: let there be %d rows", n.Op, rows, role, most-1, most)
	if role == inputRoles[roleTokens] {
		u.vocabulary(t)
	}
}

// most returns the role of a parameter, and the number of values from 0 on that the runtime may write
// there.
func (u *roleUse) most(param int) (role string, values int64) {
	switch param {
	case u.e.Tokens:
		return inputRoles[roleTokens], u.vocab
	case u.e.Pos:
		return inputRoles[rolePos], u.context
	case u.e.Slot:
		return inputRoles[roleSlot], u.sequences
	}
	return inputRoles[roleLengths], u.context + 1
}

// vocabulary checks that the rows that ids select come from the source of the tokenizer.
func (u *roleUse) vocabulary(table *Value) {
	w := table.Root()
	lm := u.m.LM
	if lm.Tokenizer == "" || w == nil || w.Def == nil || w.Def.Op != OpWeight {
		return
	}
	weight := u.m.Weight(attrOf[WeightAttr](w.Def).Name)
	if weight == nil {
		return
	}
	sources := weight.Expr.sources(nil)
	u.must(len(sources) == 0 || slices.Contains(sources, lm.Tokenizer), ruleLanguage, "the rows of %v come from source %s, and the tokenizer is that of source %s: name the same source",
		table, strings.Join(sources, ", "), quoteWord(lm.Tokenizer))
}

// sources appends the names of the sources in an expression.
func (e *Expr) sources(names []string) []string {
	if e == nil {
		return names
	}
	if e.Op == ExprTensor && !slices.Contains(names, e.Source) {
		names = append(names, e.Source)
	}
	for _, a := range e.Args {
		names = a.sources(names)
	}
	return names
}

// wholeStates checks that a node other than attention reads no state: states have old positions of
// other sequences.
func (u *roleUse) wholeStates(n *Node) {
	for _, a := range n.Args {
		if a != nil && len(u.origins[a].states) > 0 {
			u.fail(ruleLanguage, "%v reads the state %s, of which the runtime clears no old positions: read it with attention", n.Op, quote(u.origins[a].states[0]))
		}
	}
}

// sized checks that the runtime knows every size of the node's results.
func (u *roleUse) sized(n *Node) {
	for _, r := range n.Results {
		if r != nil {
			u.knownSizes(r.Type.Shape)
		}
	}
	u.knownSizes(AttrDims(n.Attr))
}

func (u *roleUse) knownSizes(dims []Dim) {
	for _, d := range dims {
		if _, ok := d.IsConst(); ok {
			continue
		}
		d.Symbols(func(s *Symbol) {
			if !u.sizes[s] {
				u.sizes[s] = true // one violation is enough
				u.fail(ruleLanguage, "its size %v depends on %s, which is neither the number of tokens nor that of positions: a step of a language model knows no other", d, s.Name)
			}
		})
	}
}

// flow records the origins of the results of n, after a walk over its body or callee.
func (u *roleUse) flow(n *Node, depth int) {
	switch n.Op {
	case OpState:
		u.set(n, 0, origin{states: []string{attrOf[StateAttr](n).Name}})
	case OpReshape, OpCopy:
		u.set(n, 0, u.origins[n.Arg(0)])
	case OpSlice:
		if o := u.origins[n.Arg(0)]; o.param != 0 && len(n.Args[0].Type.Shape) == 1 {
			some := !n.Args[0].Type.Shape[0].Equal(attrOf[SliceAttr](n).Len)
			u.set(n, 0, origin{param: o.param, some: o.some || some, first: o.first.Add(attrOf[SliceAttr](n).Start)})
		}
	case OpStateWrite:
		o := u.origins[n.Arg(0)]
		u.set(n, 0, origin{states: o.states, fresh: true})
	case OpRepeat:
		u.repeat(n, depth)
	case OpCall:
		u.call(n, depth)
	}
}

func (u *roleUse) set(n *Node, result int, o origin) {
	if result < len(n.Results) && (o.param != 0 || len(o.states) > 0) {
		u.origins[n.Results[result]] = o
	}
}

// repeat walks over the body of a repeat once. A carried value keeps its origin as a parameter if each
// iteration returns it unchanged. A state remains the same state.
func (u *roleUse) repeat(n *Node, depth int) {
	a, ok := n.Attr.(*RepeatAttr)
	if !ok || n.Body == nil || len(n.Body.Results) != a.Carried || len(n.Body.Params) < a.Carried+a.Invariant {
		return // reported where types are inferred
	}
	body := n.Body
	for i, arg := range n.Args {
		p := repeatParam(a, i)
		if p >= len(body.Params) || arg == nil {
			return
		}
		o := u.origins[arg]
		if p >= a.Carried+a.Invariant || p < a.Carried && body.Results[i] != body.Params[i] {
			o.param = 0
		}
		if before, ok := u.origins[body.Params[p]]; ok { // of a table
			o.states = slices.Concat(before.states, o.states)
			o.fresh = o.fresh && before.fresh
		}
		u.origins[body.Params[p]] = o
	}
	u.walk(body, depth)
	for i, r := range body.Results {
		u.set(n, i, u.origins[r])
	}
}

// call walks over the callee of n.
func (u *roleUse) call(n *Node, depth int) {
	f := u.m.Func(attrOf[CallAttr](n).Func)
	if f == nil || len(f.Params) != len(n.Args) {
		return
	}
	outer := u.origins
	u.origins = make(map[*Value]origin)
	for i, p := range f.Params {
		if o, ok := outer[n.Args[i]]; ok {
			u.origins[p] = o
		}
	}
	u.walk(f, depth+1)
	inner := u.origins
	u.origins = outer
	for i, r := range f.Results {
		if o, ok := inner[r]; ok {
			u.set(n, i, o)
		}
	}
}
