package explain

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// sources appends the values that v is made of by views, by copies, and by passes that change its form. A carried value
// is made of what the repeat starts with and of what each iteration makes. seen has the values that were looked at.
func (x *explainer) sources(list []*ir.Value, v *ir.Value, seen map[*ir.Value]bool) []*ir.Value {
	for !seen[v] {
		seen[v] = true
		kind, i := flow.ParamKind(v)
		switch {
		case kind == flow.ParamInvariant:
			v = v.Func.Owner.Args[i]
		case kind == flow.ParamCarried:
			list = x.sources(list, v.Func.Owner.Args[i], seen)
			v = v.Func.Results[i]
		case v.Def != nil && v.Def.Op == ir.OpRepeat:
			list = x.sources(list, v.Def.Args[v.Index], seen)
			v = v.Def.Body.Results[v.Index]
		case v.Def != nil && (v.Def.Is(ir.View) || isCopyOrForm(v.Def)):
			v = v.Def.Args[0]
		default:
			return append(list, v)
		}
	}
	return list
}

// isCopyOrForm reports whether a node makes nothing new: a pass has added it to copy a value or to change its form.
// Such a node moves with its readers.
func isCopyOrForm(n *ir.Node) bool {
	return flow.IsTransfer(n) || changesForm(n.Op) && madeByPass(n) ||
		n.Op == ir.OpCopy && slices.ContainsFunc(n.Causes(), byPass("roll", "partition", "plan"))
}

// part is all of a value, or what a view shows of it, as it is read in a space.
type part struct {
	v     *ir.Value
	space string
}

// reading is the readers of a value and of its parts, and the copies of them.
type reading struct {
	x      *explainer
	seen   map[*ir.Value]bool
	reads  []partRead
	copies map[part][]*ir.Node
}

// partRead is one reader of a part of a value. The caller is nil.
type partRead struct {
	v  *ir.Value
	by *ir.Node
	in inIterations
}

// inIterations tells in which iterations of a repeat a value that its body makes is read: in each one, by the next one
// through what the repeat carries, or after the last one.
type inIterations uint8

const (
	everyIteration inIterations = 1 << iota
	nextIteration
	lastIteration
)

// times returns how many times in a call v is made and read in these iterations.
func (in inIterations) times(v *ir.Value) int64 {
	all := runsOf(v.Func)
	if v.Func.Owner == nil || in&everyIteration != 0 || in == nextIteration|lastIteration {
		return all
	}
	calls := all / flow.Iterations(v.Func.Owner)
	if in == lastIteration {
		return calls
	}
	return all - calls
}

// readingOf follows v to its readers: through views, copies and forms, into bodies of repeats, from iteration to
// iteration, and to the caller.
func (x *explainer) readingOf(v *ir.Value) *reading {
	r := &reading{x: x, seen: make(map[*ir.Value]bool), copies: make(map[part][]*ir.Node)}
	r.follow(v, v, everyIteration)
	return r
}

// follow adds the readers of v in some iterations. v shows the part shown of the value that is followed.
func (r *reading) follow(v, shown *ir.Value, in inIterations) {
	if r.seen[v] {
		return
	}
	r.seen[v] = true
	for _, n := range r.x.uses[v] {
		r.use(n, v, shown, in)
	}
	for i, result := range v.Func.Results {
		switch owner := v.Func.Owner; {
		case result != v:
		case owner == nil:
			r.reads = append(r.reads, partRead{shown, nil, in})
		case owner.Op == ir.OpRepeat && owner.Func == owner.Func.Entry() && shown.Func == v.Func:
			r.follow(v.Func.Params[i], shown, nextIteration)
			r.follow(owner.Results[i], shown, lastIteration)
		case owner.Op == ir.OpRepeat:
			r.follow(v.Func.Params[i], shown, in)
			r.follow(owner.Results[i], shown, in)
		}
	}
}

func (r *reading) use(n *ir.Node, v, shown *ir.Value, in inIterations) {
	switch {
	case n.Op == ir.OpRepeat:
		for _, p := range paramsFor(n, v) {
			r.follow(p, shown, in)
		}
	case n.Is(ir.View):
		if flow.CopyBase(n.Result()) != flow.CopyBase(v) { // it shows a part
			shown = n.Result()
		}
		r.follow(n.Result(), shown, in)
	case isCopyOrForm(n):
		if flow.IsTransfer(n) {
			key := part{shown, n.Result().Type.Space}
			r.copies[key] = append(r.copies[key], n)
		}
		r.follow(n.Result(), shown, in)
	default:
		r.reads = append(r.reads, partRead{shown, n, in})
	}
}

// copyNeed is a copy that a space needs.
type copyNeed struct {
	part
	d  *target.Descriptor // for whom
	by []*ir.Node         // its readers
	in inIterations
}

// times returns how many times in a call the copy is made.
func (n copyNeed) times() int64 { return n.in.times(n.v) }

// needs returns the copies that the readers of a value in the space home need, in the order in which they read. on
// returns the target of a reader.
func (r *reading) needs(root *ir.Value, home string, on func(*ir.Node) *target.Descriptor) []copyNeed {
	var list []copyNeed
	index := make(map[part]int)
	for _, read := range r.reads {
		d := on(read.by)
		if d == nil || d.Addresses(home) {
			continue
		}
		key := part{read.v, d.Home()}
		i, ok := index[key]
		if !ok {
			i = len(list)
			index[key] = i
			list = append(list, copyNeed{part: key, d: d})
		}
		list[i].by = append(list[i].by, read.by)
		list[i].in |= read.in
	}
	return joinParts(root, list)
}

// joinParts replaces the needs of a space for parts of a value by one for all of it, if the parts are as large
// together.
func joinParts(root *ir.Value, list []copyNeed) []copyNeed {
	bytes := make(map[string]int64)
	for _, need := range list {
		bytes[need.space] += need.v.Type.MaxBytes()
	}
	var out []copyNeed
	for _, need := range list {
		if bytes[need.space] >= root.Type.MaxBytes() {
			need.v = root
		}
		if i := slices.IndexFunc(out, func(n copyNeed) bool { return n.part == need.part }); i >= 0 {
			out[i].by = append(out[i].by, need.by...)
			out[i].in |= need.in
			continue
		}
		out = append(out, need)
	}
	return out
}
