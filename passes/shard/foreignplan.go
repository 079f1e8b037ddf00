package shard

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check/group"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
	"github.com/ggmlc/ggmlc/passes/shard/lower"
)

// Under the rules ggml-2026 each function is written in ggml's ops, and its values have the states that ggml derives.

// ggmlPlan is ggml's plan of a function.
type ggmlPlan struct {
	graph *lower.Graph
	*ggml.Division
	sums map[*ir.Value]bool // values of ours after which the devices add up
}

// ggmlPlans returns ggml's plan of every function, and the states of weights and states by name. The error names the
// first node that ggml refuses, or with which it would compute something else than one device.
func ggmlPlans(m *ir.Module, share []float64, rules []pass.ShardRule) (plans map[*ir.Func]*ggmlPlan, given map[string]ir.Sharding, err error) {
	theirs, err := ggml.Llama(keptOf(m), share)
	if err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(rules, func(r pass.ShardRule) bool { return r.Cost }); i >= 0 {
		return nil, nil, fmt.Errorf("--shard %v: ggml compares no times: %s", rules[i], useCost)
	}
	asked, err := askedStates(leavesOf(m), share, rules)
	if err != nil {
		return nil, nil, err
	}
	plans, given = make(map[*ir.Func]*ggmlPlan), make(map[string]ir.Sharding)
	for _, f := range m.Funcs {
		g, err := lower.Func(f)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s", err, useCost)
		}
		if err := statesOf(f, g, theirs, asked, given); err != nil {
			return nil, nil, err
		}
		if plans[f], err = planOf(f, g, len(share), theirs); err != nil {
			return nil, nil, err
		}
	}
	return plans, given, nil
}

const useCost = "use --rules cost"

var cacheName = regexp.MustCompile(`^blk\.(\d+)\.(key|value)s$`)

// keptOf returns the weights and states of a module in ggml's terms.
func keptOf(m *ir.Module) []ggml.Kept {
	var kept []ggml.Kept
	for _, l := range leavesOf(m) {
		k := ggml.Kept{Key: l.name, Name: l.name, DType: l.typ.DType, NE: [foreign.Dims]int64{1, 1, 1, 1}}
		rank := l.typ.Rank()
		for i, d := range l.typ.Shape {
			if rank <= foreign.Dims {
				k.NE[rank-1-i] = d.Upper()
			}
		}
		if c := cacheName.FindStringSubmatch(l.name); l.state && c != nil && rank == 4 {
			k.Name, k.Head = "cache_"+c[2][:1]+"_l"+c[1], k.NE[0]
			k.NE = [foreign.Dims]int64{k.NE[0] * k.NE[2], k.NE[1] * k.NE[3], 1, 1}
		}
		kept = append(kept, k)
	}
	return kept
}

// statesOf adds the states of a function's weights and states, and replaces those of ggml that the user's rules change.
func statesOf(f *ir.Func, g *lower.Graph, theirs, asked, given map[string]ir.Sharding) error {
	for _, n := range f.Nodes {
		name := nameOfLeaf(n.Result())
		if !n.Is(ir.Leaf) || name == "" {
			continue
		}
		state, ok := g.State(n.Result(), theirs[name])
		if s, isAsked := asked[name]; isAsked && (s.Kind != state.Kind || s.Axis != state.Axis) {
			if isShared(s) {
				return fmt.Errorf("%q, %v: with these shares several devices would have the same of it, for which ggml has no state: %s", name, n.Result().Type, useCost)
			}
			state = s
			theirs[name], ok = g.Given(n.Result(), s)
		}
		if !ok {
			return fmt.Errorf("%q, %v: ggml keeps the heads of a position and their elements on one axis, and only heads can be divided", name, n.Result().Type)
		}
		pieces := state.IsSplit() && state.Axis == n.Result().Type.Rank()-1 && n.Op == ir.OpWeight && !inOneRun(state)
		if state.IsSplit() && !pieces { // every device has all of others, and takes its pieces or its share of the sum
			given[name] = state
		}
	}
	return nil
}

// isShared reports whether devices have elements in common that others have not.
func isShared(s ir.Sharding) bool {
	return s.Kind == ir.ShardHeld || slices.ContainsFunc(s.Segments, func(g ir.Segment) bool { return g.Starts != nil })
}

// planOf returns ggml's plan of a function.
func planOf(f *ir.Func, g *lower.Graph, devices int, theirs map[string]ir.Sharding) (*ggmlPlan, error) {
	p := &ggmlPlan{graph: g, sums: make(map[*ir.Value]bool)}
	var err error
	var refused *ggml.Refusal
	switch p.Division, err = ggml.Derive(g.Func, devices, theirs); {
	case errors.As(err, &refused) && refused.Value != nil:
		return nil, p.failed(f, refused.Value, "ggml refuses it (%s)", refused.Reason)
	case err != nil:
		return nil, fmt.Errorf("@%s: %w: %s", f.Name, err, useCost)
	}
	wrong, err := group.Check(g.Func, p.Division)
	if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		w := wrong[0]
		return nil, p.failed(f, w.Value, "ggml computes something else than one device (%s): %s", w.Kind, w.What)
	}
	for _, v := range p.Reduce {
		p.sums[g.From[v]] = true
	}
	return p, nil
}

// failed returns the error at a tensor, with the node of ours that it is made for and what it reads.
func (p *ggmlPlan) failed(f *ir.Func, v *ir.Value, format string, args ...any) error {
	return fmt.Errorf("@%s %s: %s%s: %s", f.Name, p.nodeText(v), fmt.Sprintf(format, args...), p.operands(v), useCost)
}

// nodeText returns the node of ours that a tensor is made for, with ggml's op.
func (p *ggmlPlan) nodeText(v *ir.Value) string {
	ours := p.graph.From[v]
	if ours == nil || ours.Def == nil {
		return v.String()
	}
	return fmt.Sprintf("%v (%s)", ours.Def, opOf(v))
}

// opOf returns ggml's op of a value.
func opOf(v *ir.Value) string {
	if a, ok := v.Def.Attr.(*ir.ForeignAttr); ok {
		return a.Op
	}
	return v.Def.Op.String()
}

// operands returns what a tensor reads, with the states of our values.
func (p *ggmlPlan) operands(v *ir.Value) string {
	var texts []string
	for _, s := range v.Def.Sources() {
		for p.graph.Of[p.graph.From[s]] != s && s.Def.Is(ir.View) {
			s = s.Def.Sources()[0]
		}
		state := p.State(s)
		if ours, ok := p.graph.State(p.graph.From[s], state); ok && p.graph.Of[p.graph.From[s]] == s {
			state = ours
		}
		texts = append(texts, fmt.Sprintf("%v %v", s, state))
	}
	if len(texts) == 0 {
		return ""
	}
	return "; it reads " + strings.Join(texts, ", ")
}

// own returns the state of our value before the devices add up; ok is false if ggml has no tensor for it.
func (p *ggmlPlan) own(v *ir.Value) (s ir.Sharding, ok bool) {
	t := p.graph.Of[v]
	switch {
	case t == nil || p.State(t).Kind == ir.ShardNone: // ggml gives no state to what has no elements
		return s, false
	case p.Partial(t):
		return ir.Partial(), true
	}
	return p.graph.State(v, p.State(t))
}

// choose returns the way to compute n that leaves its result in the state that ggml derives: as many elements on every
// device, as that forgets segments. What reads a sum which is not added up yet is a sum.
func (p *ggmlPlan) choose(n *ir.Node, devices int) (choice, error) {
	want, known := p.own(n.Result())
	isSum := slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && a.Sharding().Kind == ir.ShardPartial })
	if isSum {
		want, known = ir.Partial(), true
	}
	var best *choice
	for _, f := range ir.Fits(n, (*ir.Value).Sharding) {
		c := choice{Fit: f}
		if known && !f.Result.Alike(want) {
			continue
		}
		if c.price(n, devices) && (best == nil || c.less(best)) {
			best = &c
		}
	}
	if best == nil {
		return choice{}, fmt.Errorf("%v: ggml has it %v, which devices cannot compute from%s: %s", n, want, operandStates(n), useCost)
	}
	return *best, nil
}
