package explain

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// relocation is a set of nodes that are thought to run on another target, all of them, while
// all else stays where it is. Each value is then copied once to each space that reads it.
type relocation struct {
	x      *explainer
	t      *target.Descriptor
	nodes  []*ir.Node
	moved  map[*ir.Node]bool
	leaves map[leafMember]bool // which weights and constants move along
	moves  map[*ir.Func]*Move  // by entry point

	weightBytes int64     // of the leaves that move, each once
	arrive      []arrival // copies to where t keeps its bytes
	leave       []*ir.Node
}

// arrival is a value that would be copied to where the target of a relocation keeps its bytes.
type arrival struct {
	v  *ir.Value
	by []*ir.Node // the first and the last that would read it there
}

// relocate returns what changes if nodes, those of different entry points included, run on t.
// It is nil before spaces are known: then there are no copies. Cost: O(readers of what the
// nodes read and make).
func (x *explainer) relocate(t *target.Descriptor, nodes []*ir.Node) *relocation {
	r := &relocation{x: x, t: t, nodes: nodes, moved: make(map[*ir.Node]bool), leaves: make(map[leafMember]bool), moves: make(map[*ir.Func]*Move)}
	for _, n := range nodes {
		r.moved[n] = true
		if n.Result() == nil || n.Result().Type.Space == "" {
			return nil
		}
	}
	for _, v := range r.touched() {
		r.value(v)
	}
	for _, n := range nodes {
		r.to(n.Func)
	}
	return r
}

// to returns what changes in the entry point that f is, or is a body in.
func (r *relocation) to(f *ir.Func) *Move {
	f = entryOf(f)
	if r.moves[f] == nil {
		r.moves[f] = &Move{}
	}
	return r.moves[f]
}

// touched returns what the nodes read and make, each value once, as sources has them.
func (r *relocation) touched() []*ir.Value {
	var list []*ir.Value
	seen := make(map[*ir.Value]bool)
	for _, n := range r.nodes {
		for _, a := range n.Sources() {
			if a != nil {
				list = r.x.sources(list, a, seen)
			}
		}
		for _, v := range n.Results {
			list = r.x.sources(list, v, seen)
		}
	}
	return list
}

// value notes which copies of a value come and go.
func (r *relocation) value(v *ir.Value) {
	home := v.Type.Space
	if home == "" {
		return
	}
	at := r.x.readingOf(v)
	before := at.needs(v, home, r.before)
	after := at.needs(v, r.homeOf(v), r.after)
	m := r.to(v.Func)
	for _, need := range before {
		i := slices.IndexFunc(after, need.same)
		if i < 0 {
			r.remove(m, home, need, at.copies[need.part])
			continue
		}
		r.removeAgain(m, need, at.copies[need.part])
		m.count(after[i].times()-need.times(), need.v)
		m.Seconds += float64(after[i].times())*r.seconds(r.homeOf(v), need) - float64(need.times())*r.seconds(home, need)
	}
	for _, need := range after {
		if !slices.ContainsFunc(before, need.same) {
			m.count(need.times(), need.v)
			m.Seconds += float64(need.times()) * r.seconds(r.homeOf(v), need)
			if need.space == r.t.Home() {
				r.arrive = append(r.arrive, arrival{need.v, need.by})
			}
		}
	}
}

// count notes that so many copies of a value come, or go.
func (m *Move) count(times int64, v *ir.Value) {
	if bytes := v.Type.MaxBytes(); times > 0 {
		m.Added += int(times)
		m.AddedBytes += times * bytes
	} else {
		m.Removed -= int(times)
		m.RemovedBytes -= times * bytes
	}
}

func (n copyNeed) same(other copyNeed) bool { return n.part == other.part }

// before returns the target that runs n; the last one calls entry points.
func (r *relocation) before(n *ir.Node) *target.Descriptor {
	if n == nil {
		return r.x.o.Targets.Last()
	}
	return r.x.target(n)
}

func (r *relocation) after(n *ir.Node) *target.Descriptor {
	if r.moved[n] {
		return r.t
	}
	return r.before(n)
}

// homeOf returns where a value lies then: what the nodes make, and weights that nobody else
// reads, lie where t keeps its bytes. What is written in place stays.
func (r *relocation) homeOf(v *ir.Value) string {
	if v.Def != nil && r.moved[v.Def] && !v.Def.Is(ir.Alias) || r.movesLeaf(v) {
		return r.t.Home()
	}
	return v.Type.Space
}

// movesLeaf reports whether v is a weight or constant, or the entry of a table of them, that
// moves along: t cannot address it, and whoever else reads it can address the other place.
func (r *relocation) movesLeaf(v *ir.Value) bool {
	if l := leafOf(v); l == nil || l.Op == ir.OpState || r.t.Addresses(v.Type.Space) {
		return false
	}
	members := r.x.membersOf(v)
	return !slices.ContainsFunc(members, func(m leafMember) bool { return !r.leafMoves(m) })
}

// membersOf returns the leaf that v is, or those of all rounds if it is the entry of a table.
func (x *explainer) membersOf(v *ir.Value) []leafMember {
	values := []*ir.Value{v}
	if kind, i := flow.ParamKind(v); kind == flow.ParamTable {
		values = v.Func.Owner.Args[i : i+int(flow.Iterations(v.Func.Owner))]
	}
	var list []leafMember
	for _, w := range values {
		if l := leafOf(w); l != nil {
			m, _ := x.leaf(l)
			list = append(list, m)
		}
	}
	return list
}

// leafMoves reports whether a weight or constant moves along, and counts it when it is asked
// for first.
func (r *relocation) leafMoves(m leafMember) bool {
	moves, known := r.leaves[m]
	if known {
		return moves
	}
	moves = true
	for _, n := range r.x.named[m] {
		for _, read := range r.x.readingOf(n.Result()).reads {
			d := r.after(read.by)
			moves = moves && (d == nil || d.Addresses(r.t.Home()))
		}
	}
	r.leaves[m] = moves
	if moves {
		r.weightBytes += r.x.named[m][0].Result().Type.MaxBytes()
	}
	return moves
}

// seconds predicts how long it takes to make the copy that is needed once.
func (r *relocation) seconds(from string, need copyNeed) float64 {
	return r.x.transfer(from, need.d, need.v.Type.MaxBytes())
}

// remove notes that copies are needed no more: those that the module has, of which there may
// be several under ggml's rules; or the one that it would get, before there are any, and where
// rounds copy what others have made.
func (r *relocation) remove(m *Move, from string, need copyNeed, copies []*ir.Node) {
	r.leave = append(r.leave, copies...)
	elsewhere := func(cp *ir.Node) bool { return cp.Func != need.v.Func }
	if len(copies) == 0 || need.in&eachRound == 0 || slices.ContainsFunc(copies, elsewhere) {
		m.count(-need.times(), need.v)
		m.Seconds -= float64(need.times()) * r.seconds(from, need)
		return
	}
	for _, cp := range copies {
		m.Removed += int(need.times())
		m.RemovedBytes += need.times() * movedBytes(cp)
		m.Seconds -= float64(need.times()) * r.x.seconds(r.x.target(cp), cp)
	}
}

// removeAgain notes which of several copies of the same to the same space are needed no more,
// as all who read them move, though one still is: ggml's rules copy for each split.
func (r *relocation) removeAgain(m *Move, need copyNeed, copies []*ir.Node) {
	left := len(copies)
	for _, cp := range copies {
		readers := r.x.readers(cp.Result())
		stays := func(n *ir.Node) bool { return !r.moved[n] }
		if left == 1 || need.d == r.t || len(readers) == 0 || slices.ContainsFunc(readers, stays) || slices.Contains(cp.Func.Results, cp.Result()) {
			continue
		}
		left--
		r.leave = append(r.leave, cp)
		m.Removed += int(runsOf(cp.Func))
		m.RemovedBytes += runsOf(cp.Func) * movedBytes(cp)
		m.Seconds -= float64(runsOf(cp.Func)) * r.x.seconds(r.x.target(cp), cp)
	}
}
