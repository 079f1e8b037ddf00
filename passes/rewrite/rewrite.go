// Package rewrite changes graphs: [Edit] rebuilds the order of a function's nodes in one walk, and
// [ApplyRewrites] applies rules, each a [Pattern] of nodes and what takes its place.
package rewrite

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Rewrite is a rule that replaces a pattern of nodes.
//
// Laws: the new nodes are never dearer for any target that asked for them; no rewrite
// undoes another; one spelling of operands is the business of canonicalize.
type Rewrite struct {
	pass.Rule
	Pattern Pattern

	// Where reports whether the rule applies to what the pattern found; nil is always.
	Where func(*pass.Context, *Match) bool

	// Build replaces the root, with Match.Emit, then Match.Become or Match.Replace.
	Build func(*Match)
}

// RulesOf returns what a pass declares for its rewrites. Several may apply one rule.
func RulesOf(rewrites []Rewrite) []pass.Rule {
	var rules []pass.Rule
	for _, r := range rewrites {
		if !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// MaxRounds bounds the walks over a function: a rewrite that enables another one at an
// earlier node needs a further walk, and chains of such are short.
const MaxRounds = 16

// ApplyRewrites applies the rewrites to every function until none matches. In a walk, a
// node is rewritten until no rule matches there; the first match in the order of the table
// wins. A module that comes back to a form it had before is an error that names the rules.
func ApplyRewrites(c *pass.Context, m *ir.Module, rewrites []Rewrite) error {
	byOp := indexRewrites(rewrites)
	for _, f := range m.AllFuncs() {
		var seen []string // forms since the second walk that changed something: most functions have one
		uses := countUses(f)
		for round := 0; ; round++ {
			fired := rewriteFunc(c, f, byOp, uses)
			if len(fired) == 0 {
				break
			}
			if round == 0 {
				continue
			}
			form := formOf(f)
			if round == MaxRounds || slices.Contains(seen, form) {
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

// formOf describes what is the same for two forms of a function between which rewrites could
// alternate: the ops and the distances to their operands' definitions.
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

// rewriteFunc walks over f once and returns the names of the rules that fired. It keeps uses up to
// date.
func rewriteFunc(c *pass.Context, f *ir.Func, byOp *[ir.NumOps][]*Rewrite, uses *useCounts) (fired []pass.RuleName) {
	e := NewEdit(c, f)
	m := &Match{E: e, uses: uses}
	for _, n := range f.Nodes {
		e.Update(n)
		replaced := false
		for round := 0; round < MaxRounds && !replaced; round++ {
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

// findRewrite returns the first rewrite that matches at n, where it may be applied; nil for none. The
// match is m, which stands for others afterwards.
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

// apply rewrites what m has found.
func (r *Rewrite) apply(c *pass.Context, m *Match) {
	n := m.Root
	before := n.Op.String()
	r.Build(m)
	c.Count(string(r.Name), 1)
	if m.replaced {
		return
	}
	after := n.Op.String()
	if after == before { // what became of the node is said by the rule
		before, after = "", ""
	}
	c.CauseChange(n, r.Name, before, after, Names(m.gone)...)
}

// Names returns what messages call the nodes, in order.
func Names(nodes []*ir.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.String()
	}
	return list
}
