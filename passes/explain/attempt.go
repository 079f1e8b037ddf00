package explain

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Attempt is the answer of one target to the question whether it runs a node.
type Attempt struct {
	Target  string  `json:"target"`
	Verdict string  `json:"verdict"` // chosen, possible, refused or denied
	Why     string  `json:"why,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // one execution there
	Moving  *Move   `json:"moving,omitempty"`  // what would change if the node ran there
	NoRoom  string  `json:"no_room,omitempty"` // which limit of memory forbids it, and by how much
}

// Verdicts of an Attempt.
const (
	verdictChosen   = "chosen"
	verdictPossible = "possible"
	verdictRefused  = "refused"
	verdictDenied   = "denied"
)

// Move is what changes if a node moves to another target, together with the nodes of its name in other entry points,
// which a pin moves too: copies in a call of its entry point, and weights that move along.
type Move struct {
	Added        int     `json:"copies_added"`
	AddedBytes   int64   `json:"bytes_added"`
	Removed      int     `json:"copies_removed"`
	RemovedBytes int64   `json:"bytes_removed"`
	WeightBytes  int64   `json:"weight_bytes"`
	Seconds      float64 `json:"seconds"` // all copies together; negative where moving saves
}

// attempts returns the answer of each target for n. It returns none for nodes that passes added, because these follow
// their readers.
func (x *explainer) attempts(n *ir.Node) []Attempt {
	if n.Backend == "" || n.Op == ir.OpCopy || flow.RunsFunction(n) || !flow.DoesWork(n) {
		return nil
	}
	before := beforePacking(n)
	var list []Attempt
	for _, t := range x.o.Targets.All() {
		a := x.attempt(t, n, before)
		if a.Verdict == verdictPossible {
			x.addMove(&a, t, n)
		}
		list = append(list, a)
	}
	return list
}

// addMove adds what would change if n, and what a pin with its name catches, ran on t.
func (x *explainer) addMove(a *Attempt, t *target.Descriptor, n *ir.Node) {
	alone := []*ir.Node{n}
	r := x.relocate(t, x.runnable(t, append(alone, x.namesakes(alone)...)))
	if r == nil {
		return
	}
	m := *r.to(n.Func)
	m.WeightBytes = r.weightBytes
	a.Moving, a.NoRoom = &m, r.noRoom()
}

// runnable returns the nodes that t can run, each once.
func (x *explainer) runnable(t *target.Descriptor, nodes []*ir.Node) []*ir.Node {
	var list []*ir.Node
	seen := make(map[*ir.Node]bool)
	for _, n := range nodes {
		if !seen[n] && x.whyCannotRun(t, n) == "" {
			list = append(list, n)
		}
		seen[n] = true
	}
	return list
}

// whyCannotRun returns the reason for which n cannot run on t; empty if it can.
func (x *explainer) whyCannotRun(t *target.Descriptor, n *ir.Node) string {
	if a := x.attempt(t, n, beforePacking(n)); a.Verdict == verdictRefused || a.Verdict == verdictDenied {
		return a.Why
	}
	return ""
}

// attempt returns the answer of t for n. before is n before its operands were packed for another target.
func (x *explainer) attempt(t *target.Descriptor, n, before *ir.Node) Attempt {
	a := Attempt{Target: t.Name, Seconds: x.seconds(t, n)}
	ok, reason := t.Supports(before)
	switch {
	case t.Name == n.Backend:
		a.Verdict = verdictChosen
		if !ok {
			a.Why = reason
		}
	case slices.Contains(x.o.Deny, t.Name):
		a.Verdict, a.Why = verdictDenied, "--deny "+t.Name
	case !ok:
		a.Verdict, a.Why, a.Seconds = verdictRefused, reason, 0
	case x.unaddressedAlias(t, n) != nil:
		s := x.unaddressedAlias(t, n)
		a.Verdict, a.Seconds = verdictRefused, 0
		a.Why = fmt.Sprintf("%s cannot address %s, and the node writes the bytes of %v there", t.Name, s.Type.Space, s)
	default:
		a.Verdict = verdictPossible
	}
	return a
}

// unaddressedAlias returns the operand of which n writes the next version, if t cannot address its bytes; else nil.
func (x *explainer) unaddressedAlias(t *target.Descriptor, n *ir.Node) *ir.Value {
	if !n.Is(ir.Alias) {
		return nil
	}
	if v := n.Arg(n.Op.Info().AliasArg); v != nil && v.Type.Space != "" && !t.Addresses(v.Type.Space) {
		return v
	}
	return nil
}

// beforePacking returns n with operands of the types that assign saw: weights in the plain layout, activations neither
// quantized nor copied.
func beforePacking(n *ir.Node) *ir.Node {
	shadow := *n
	shadow.Args = make([]*ir.Value, len(n.Args))
	for i, a := range n.Args {
		if a != nil {
			shadow.Args[i] = operandBeforePacking(a)
		}
	}
	return &shadow
}

// operandBeforePacking returns an operand with the type that assign saw.
func operandBeforePacking(v *ir.Value) *ir.Value {
	shadow := *unpacked(v)
	if l := leafOf(v); l != nil {
		shadow.Def = l
	}
	shadow.Type.Layout = dtype.Plain
	if v.Def != nil && (v.Def.Op == ir.OpRMSNormQuantize || v.Def.Op == ir.OpMatMulSwiGLU) {
		shadow.Type.DType = dtype.F32
	}
	return &shadow
}

// unpacked returns the value from which pack and copy made v.
func unpacked(v *ir.Value) *ir.Value {
	for v.Def != nil && changesForm(v.Def.Op) && madeByPass(v.Def) {
		v = v.Def.Args[0]
	}
	return v
}

// changesForm reports whether pack and copy use op to change the form of a value.
func changesForm(op ir.Op) bool {
	switch op {
	case ir.OpCopy, ir.OpQuantize, ir.OpCast, ir.OpPack:
		return true
	}
	return false
}

// madeByPass reports whether a node was added by pack or copy.
func madeByPass(n *ir.Node) bool { return slices.ContainsFunc(n.Causes(), byPass("pack", "copy")) }

// leafOf returns the weight, state or constant that v is; for an entry of a table, that of the first iteration. It
// returns nil if v is none.
func leafOf(v *ir.Value) *ir.Node {
	v = beforeRepeat(v)
	if v.Def != nil && flow.IsLeafNode(v.Def) {
		return v.Def
	}
	return nil
}

// beforeRepeat returns the value that a repeat passes to its body as v; v itself if it is made in its function.
func beforeRepeat(v *ir.Value) *ir.Value {
	for {
		kind, i := flow.ParamKind(v)
		if kind != flow.ParamInvariant && kind != flow.ParamTable {
			return v
		}
		v = v.Func.Owner.Args[i]
	}
}

// copyBehind returns the copy from another space whose bytes v names, or nil.
func copyBehind(v *ir.Value) *ir.Node {
	if d := flow.Origin(v).Def; d != nil && flow.IsTransfer(d) {
		return d
	}
	return nil
}

// uncopied returns the value that v was copied from, through copies of copies; v itself if
// it was not.
func uncopied(v *ir.Value) *ir.Value {
	for cp := copyBehind(v); cp != nil; cp = copyBehind(v) {
		v = cp.Args[0]
	}
	return v
}
