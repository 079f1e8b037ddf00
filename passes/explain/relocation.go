package explain

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// relocation is a set of nodes that move to another target, all of them, while all other nodes stay. Each value is then
// copied once to each space that reads it.
//
// For example, %b = f(%a) and %c = g(%b) run on gpu, and cpu makes %a and reads %c. There is a copy of %a to the gpu
// and one of %c back. If %b moves to cpu, the copy of %a goes and one of %b comes. If both move, both copies go.
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
	f = f.Entry()
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

// value adds the copies of a value that come and go.
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

// count adds copies of a value: as many come if times is positive, as many go if it is negative.
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

// before returns the target that runs n now. The last target calls entry points.
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

// homeOf returns the space of a value after the move. Results of the nodes, and weights that move along, are in the
// space of t. Bytes that are written in place stay.
func (r *relocation) homeOf(v *ir.Value) string {
	if v.Def != nil && r.moved[v.Def] && !v.Def.Is(ir.Alias) || r.movesAlong(v) {
		return r.t.Home()
	}
	return v.Type.Space
}

// movesAlong reports whether v is a weight or constant, or an entry of a table of them, that moves along: t cannot
// address it, and all other readers can address the space of t.
func (r *relocation) movesAlong(v *ir.Value) bool {
	if l := leafOf(v); l == nil || l.Op == ir.OpState || r.t.Addresses(v.Type.Space) {
		return false
	}
	members := r.x.membersOf(v)
	return !slices.ContainsFunc(members, func(m leafMember) bool { return !r.memberMoves(m) })
}

// membersOf returns the leaf that v is, or the leaves of all iterations if it is an entry of a table.
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

// memberMoves reports whether a weight or constant moves along. The first time it adds its bytes.
func (r *relocation) memberMoves(m leafMember) bool {
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

// remove takes away the copies of a need. Under ggml's rules there may be several. If there is none yet, or another
// iteration copies, it takes away the copy that would be made.
func (r *relocation) remove(m *Move, from string, need copyNeed, copies []*ir.Node) {
	r.leave = append(r.leave, copies...)
	elsewhere := func(cp *ir.Node) bool { return cp.Func != need.v.Func }
	if len(copies) == 0 || need.in&everyIteration == 0 || slices.ContainsFunc(copies, elsewhere) {
		m.count(-need.times(), need.v)
		m.Seconds -= float64(need.times()) * r.seconds(from, need)
		return
	}
	for _, cp := range copies {
		m.Removed += int(need.times())
		m.RemovedBytes += need.times() * flow.MovedBytes(cp)
		m.Seconds -= float64(need.times()) * r.x.seconds(r.x.target(cp), cp)
	}
}

// removeAgain takes away some of several copies of the same value to the same space. One is still needed, but all
// readers of the others move. ggml's rules make a copy for each split.
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
		m.RemovedBytes += runsOf(cp.Func) * flow.MovedBytes(cp)
		m.Seconds -= float64(runsOf(cp.Func)) * r.x.seconds(r.x.target(cp), cp)
	}
}
