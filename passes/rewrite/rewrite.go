// Package rewrite changes graphs, by walks that rebuild a function and by patterns that are replaced. [Edit] rebuilds a
// function's list of nodes in one walk. [Apply] applies rules, each a [Pattern] of nodes and what replaces it. The package also makes the nodes that several passes add ([CopyNode],
// [SetQueue]) and shuffles nodes for tests of passes ([Permute]).
package rewrite

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Rewrite is a rule that replaces a pattern of nodes. The new nodes must not cost more than the old ones on any target
// that runs them, and no rewrite may undo another one.
type Rewrite struct {
	pass.Rule
	Pattern Pattern

	// Where reports whether the rule applies to a match of the pattern; nil is always.
	Where func(*pass.Context, *Match) bool

	// Build replaces the root: it calls Match.Become or Match.Replace once.
	Build func(*Match)
}

// RulesOf returns the rules of the rewrites, for a pass to declare. Several rewrites may apply one rule.
func RulesOf(rewrites []Rewrite) []pass.Rule {
	var rules []pass.Rule
	for _, r := range rewrites {
		if !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// maxWalks limits the walks over a function, and the rewrites of one node in a walk. A rewrite that enables another one
// at an earlier node needs a further walk; chains of these are short.
const maxWalks = 16

// Apply applies the rewrites to every function until none matches. A walk visits the nodes in order and rewrites each
// until no rule matches there; the first rewrite of the list that matches is taken. If a function returns to a form
// that it had before, rules undo each other, and the error names them.
//
// Example, with the rules reshape(reshape(x)) = reshape(x) and "a reshape to the same shape is its operand":
//
//	before: x is f32[4,6]        first walk                          second walk
//	%a = reshape %x {[24]}       kept                                kept
//	%b = reshape %a {[4,6]}      reshape of reshape: reshape %x,
//	                             which is %x: %b goes away
//	%c = exp %b                  kept, as exp %x                     no match: done; dce removes %a
func Apply(c *pass.Context, m *ir.Module, rewrites []Rewrite) error {
	byOp := indexRewrites(rewrites)
	for _, f := range m.AllFuncs() {
		var seen []string // forms after the second and later walks; most functions need one walk that changes something
		uses := countUses(f)
		for walk := 0; ; walk++ {
			fired := rewriteFunc(c, f, byOp, uses)
			if len(fired) == 0 {
				break
			}
			if walk == 0 {
				continue
			}
			form := formOf(f)
			if walk == maxWalks || slices.Contains(seen, form) {
				return cycleError(c, f, fired)
			}
			seen = append(seen, form)
		}
	}
	return nil
}

func cycleError(c *pass.Context, f *ir.Func, fired []pass.RuleName) error {
	names := make([]string, len(fired))
	for i, rule := range fired {
		names[i] = string(rule)
	}
	slices.Sort(names)
	return &pass.InternalError{Pass: c.Pass.Name, Module: f.Module.Name, Err: fmt.Errorf("@%s: rules undo each other: %s",
		f.Name, strings.Join(names, ", "))}
}

// formOf returns a text that is equal for equal forms of a function: the ops and the distances to the definitions of
// their operands. Names and ids would differ each time that rewrites alternate between two forms.
func formOf(f *ir.Func) string {
	var form []byte
	pos := ir.Positions(f)
	for i, n := range f.Nodes {
		form = binary.AppendUvarint(form, uint64(n.Op))
		form = binary.AppendUvarint(form, uint64(len(n.Args)))
		for _, a := range n.Args {
			switch {
			case a == nil:
				form = append(form, 'n')
			case a.Def == nil:
				form = binary.AppendUvarint(append(form, 'p'), uint64(a.Index))
			default:
				form = binary.AppendUvarint(append(form, 'v'), uint64(i-pos[a.Def.ID]))
			}
		}
	}
	return string(form)
}

// indexRewrites lists the rewrites by the op of their root.
func indexRewrites(rewrites []Rewrite) *[ir.NumOps][]*Rewrite {
	var byOp [ir.NumOps][]*Rewrite
	for i := range rewrites {
		op := rewrites[i].Pattern.Op
		byOp[op] = append(byOp[op], &rewrites[i])
	}
	return &byOp
}

// rewriteFunc walks over f once and returns the names of the rules that were applied. It updates uses.
func rewriteFunc(c *pass.Context, f *ir.Func, byOp *[ir.NumOps][]*Rewrite, uses *useCounts) (fired []pass.RuleName) {
	e := NewEdit(c, f)
	m := &Match{E: e, uses: uses}
	for _, n := range f.Nodes {
		e.Update(n)
		replaced := false
		for i := 0; i < maxWalks && !replaced; i++ {
			r := findRewrite(c, m, n, byOp[n.Op])
			if r == nil {
				break
			}
			rule := r.Name
			r.apply(c, m)
			replaced = m.replaced
			if !slices.Contains(fired, rule) {
				fired = append(fired, rule)
			}
		}
		if !replaced {
			e.Keep(n)
			m.passed(n)
		}
	}
	if len(fired) > 0 {
		e.Done()
	}
	return fired
}

// findRewrite returns the first rewrite that matches at n and may be applied; nil if there is none. It leaves the match
// in m.
func findRewrite(c *pass.Context, m *Match, n *ir.Node, rewrites []*Rewrite) *Rewrite {
	if len(rewrites) == 0 {
		return nil
	}
	able := n.Result() != nil && m.uses.live(n)
	for _, r := range rewrites {
		if c.Debug.Stats {
			c.Count("tried."+string(r.Name), 1)
		}
		m.reset(n)
		if !able || !m.findArgs(&r.Pattern, n) || !m.current() || r.Where != nil && !r.Where(c, m) || !c.Allow(r.Name, n) {
			continue
		}
		return r
	}
	return nil
}

// apply applies the rewrite to the match m.
func (r *Rewrite) apply(c *pass.Context, m *Match) {
	n := m.Root
	before := n.Op.String()
	r.Build(m)
	c.Count(string(r.Name), 1)
	if m.replaced {
		return
	}
	after := n.Op.String()
	if after == before { // the name of the rule tells what changed
		before, after = "", ""
	}
	c.CauseChange(n, r.Name, before, after, Names(m.gone)...)
}

// Names returns the names of the nodes in messages.
func Names(nodes []*ir.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.String()
	}
	return list
}
