package passes

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Attempt is what became of one target for a node.
type Attempt struct {
	Target  string  `json:"target"`
	Verdict string  `json:"verdict"` // chosen, possible, refused or denied
	Why     string  `json:"why,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // one execution there
	Moving  *Move   `json:"moving,omitempty"`  // what would change if the node ran there
}

// Verdicts of an Attempt.
const (
	verdictChosen   = "chosen"
	verdictPossible = "possible"
	verdictRefused  = "refused"
	verdictDenied   = "denied"
)

// Move is what changes if one node alone is moved to another target: copies per execution
// of the node, and the weights that would have to lie elsewhere.
type Move struct {
	Added        int     `json:"copies_added"`
	AddedBytes   int64   `json:"bytes_added"`
	Removed      int     `json:"copies_removed"`
	RemovedBytes int64   `json:"bytes_removed"`
	WeightBytes  int64   `json:"weight_bytes"`
	Seconds      float64 `json:"seconds"` // all copies together; negative where moving saves
}

// attempts returns what each target makes of n. Nodes that passes add follow their readers:
// nothing was tried for them.
func (x *explainer) attempts(n *ir.Node) []Attempt {
	if n.Backend == "" || n.Op == ir.OpCopy || runsFunction(n) || !works(n) {
		return nil
	}
	before := asBefore(n)
	var list []Attempt
	for _, t := range x.o.Targets.All() {
		list = append(list, x.attempt(t, n, before))
	}
	return list
}

// attempt asks t about the node as it was before its operands were packed for another.
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
	case x.stuck(t, n) != nil:
		s := x.stuck(t, n)
		a.Verdict, a.Seconds = verdictRefused, 0
		a.Why = fmt.Sprintf("%s cannot address %s, where the bytes of %v lie, which the node writes", t.Name, s.Type.Space, s)
	default:
		a.Verdict, a.Moving = verdictPossible, x.move(t, n)
	}
	return a
}

// stuck returns the operand whose next version n writes, if t cannot address its bytes.
func (x *explainer) stuck(t *target.Descriptor, n *ir.Node) *ir.Value {
	if !n.Is(ir.Alias) {
		return nil
	}
	if v := n.Arg(n.Op.Info().AliasArg); v != nil && v.Type.Space != "" && !t.Addresses(v.Type.Space) {
		return v
	}
	return nil
}

// asBefore returns n with operands of the types that assign saw: weights not laid out,
// activations neither quantized nor copied.
func asBefore(n *ir.Node) *ir.Node {
	shadow := *n
	shadow.Args = make([]*ir.Value, len(n.Args))
	for i, a := range n.Args {
		if a != nil {
			shadow.Args[i] = operandBefore(a)
		}
	}
	return &shadow
}

func operandBefore(v *ir.Value) *ir.Value {
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

// unpacked returns what v was before pack and copy made v of it.
func unpacked(v *ir.Value) *ir.Value {
	for v.Def != nil && formOnly(v.Def.Op) && madeByPass(v.Def) {
		v = v.Def.Args[0]
	}
	return v
}

// formOnly reports whether op is one of those by which pack and copy change a value's form.
func formOnly(op ir.Op) bool {
	switch op {
	case ir.OpCopy, ir.OpQuantize, ir.OpCast, ir.OpPack:
		return true
	}
	return false
}

// madeByPass reports whether a node was added by pack or copy.
func madeByPass(n *ir.Node) bool { return slices.ContainsFunc(n.Causes, byPass("pack", "copy")) }

// leafOf returns the weight, state or constant that v is, in a body that of the first round.
func leafOf(v *ir.Value) *ir.Node {
	v = outer(v)
	if v.Def != nil && isLeafOp(v.Def) {
		return v.Def
	}
	return nil
}

// outer follows what a repeat hands to its body unchanged.
func outer(v *ir.Value) *ir.Value {
	for {
		kind, i := paramKind(v)
		if kind != paramInvariant && kind != paramTable {
			return v
		}
		v = v.Func.Owner.Args[i]
	}
}

// move returns what changes if n alone runs on t.
func (x *explainer) move(t *target.Descriptor, n *ir.Node) *Move {
	m := &Move{}
	if n.Result().Type.Space == "" {
		return nil // before spaces there are no copies
	}
	var seen []*ir.Value
	for _, a := range n.Sources() {
		if a == nil || slices.Contains(seen, a) {
			continue
		}
		seen = append(seen, a)
		x.moveOperand(m, t, n, a)
	}
	for _, r := range n.Results {
		x.moveResult(m, t, n, r)
	}
	return m
}

// moveOperand counts the copy that t would need of an operand, and the one that nobody
// would need any more.
func (x *explainer) moveOperand(m *Move, t *target.Descriptor, n *ir.Node, a *ir.Value) {
	cp := copyBehind(a)
	from := uncopied(a)
	bytes := from.Type.MaxBytes()
	if cp != nil && x.readBy(cp.Result(), n) && !(t.Addresses(a.Type.Space) && !t.Addresses(from.Type.Space)) {
		x.remove(m, cp.Args[0].Type.Space, x.target(cp), bytes)
	}
	switch {
	case t.Addresses(from.Type.Space) || x.copiedFor(t, from):
	case leafOf(from) != nil && leafOf(from).Op != ir.OpState:
		m.WeightBytes += bytes * entriesOf(from)
	default:
		x.add(m, from.Type.Space, t, bytes)
	}
}

// entriesOf returns how many weights v stands for: those of all rounds if it is the entry
// of a table.
func entriesOf(v *ir.Value) int64 {
	if kind, _ := paramKind(origin(v)); kind == paramTable {
		return rounds(origin(v).Func.Owner)
	}
	return 1
}

// copiedFor reports whether a copy of v lies where t reads it.
func (x *explainer) copiedFor(t *target.Descriptor, v *ir.Value) bool {
	return slices.ContainsFunc(x.copied[v], func(n *ir.Node) bool { return t.Addresses(n.Result().Type.Space) })
}

// moveResult counts the copies of a result that its readers would need, and those that they
// would need no more.
func (x *explainer) moveResult(m *Move, t *target.Descriptor, n *ir.Node, r *ir.Value) {
	bytes := r.Type.MaxBytes()
	needed := make(map[string]bool)
	for _, reader := range x.readers(r) {
		d := x.target(reader)
		switch {
		case d == nil:
		case isTransfer(reader) && d.Addresses(t.Home()):
			x.remove(m, r.Type.Space, d, bytes)
		case !isTransfer(reader) && !d.Addresses(t.Home()) && !needed[d.Home()]:
			needed[d.Home()] = true
			x.add(m, t.Home(), d, bytes)
		}
	}
}

func (x *explainer) add(m *Move, from string, to *target.Descriptor, bytes int64) {
	m.Added++
	m.AddedBytes += bytes
	m.Seconds += x.transfer(from, to, bytes)
}

func (x *explainer) remove(m *Move, from string, to *target.Descriptor, bytes int64) {
	m.Removed++
	m.RemovedBytes += bytes
	m.Seconds -= x.transfer(from, to, bytes)
}

// copyBehind returns the copy from another space whose bytes v names, or nil.
func copyBehind(v *ir.Value) *ir.Node {
	if d := origin(v).Def; d != nil && isTransfer(d) {
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
