package explain

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// sources appends the values that v is, or is made of by views, by copies, and by passes that
// change its form. What a repeat carries is what it starts with and what each round makes.
// Seen holds what has been looked at.
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
		case v.Def != nil && (v.Def.Is(ir.View) || passesOn(v.Def)):
			v = v.Def.Args[0]
		default:
			return append(list, v)
		}
	}
	return list
}

// passesOn reports whether a node makes nothing new: a copy, or another form, that a pass has
// asked for. It goes along with those who read it.
func passesOn(n *ir.Node) bool {
	return flow.IsTransfer(n) || formOnly(n.Op) && madeByPass(n) ||
		n.Op == ir.OpCopy && slices.ContainsFunc(n.Causes(), byPass("roll", "partition", "plan"))
}

// part is what is read of a value in a space: all of it, or what a view shows.
type part struct {
	v     *ir.Value
	space string
}

// reading is who reads parts of a value, and which copies of them there are.
type reading struct {
	x      *explainer
	seen   map[*ir.Value]bool
	reads  []partRead
	copies map[part][]*ir.Node
}

// partRead is one reader of a part of a value; nil is the caller.
type partRead struct {
	v  *ir.Value
	by *ir.Node
	in inRounds
}

// inRounds says in which rounds of the repeat around a value it is read that was made there:
// each time, or as what the repeat carries, by the next round, or after the last one.
type inRounds uint8

const (
	eachRound inRounds = 1 << iota
	nextRound
	lastRound
)

// times returns how often in a call v is made and read so.
func (in inRounds) times(v *ir.Value) int64 {
	all := runsOf(v.Func)
	if v.Func.Owner == nil || in&eachRound != 0 || in == nextRound|lastRound {
		return all
	}
	calls := all / flow.Iterations(v.Func.Owner)
	if in == lastRound {
		return calls
	}
	return all - calls
}

// readingOf follows v to its readers: through views, copies and forms, into bodies of
// repeats, from round to round, and to the caller.
func (x *explainer) readingOf(v *ir.Value) *reading {
	r := &reading{x: x, seen: make(map[*ir.Value]bool), copies: make(map[part][]*ir.Node)}
	r.follow(v, v, eachRound)
	return r
}

// follow notes the readers of v, which shows shown of the value that is followed, in some
// rounds.
func (r *reading) follow(v, shown *ir.Value, in inRounds) {
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
		case owner.Op == ir.OpRepeat && owner.Func == entryOf(owner.Func) && shown.Func == v.Func:
			r.follow(v.Func.Params[i], shown, nextRound)
			r.follow(owner.Results[i], shown, lastRound)
		case owner.Op == ir.OpRepeat:
			r.follow(v.Func.Params[i], shown, in)
			r.follow(owner.Results[i], shown, in)
		}
	}
}

func (r *reading) use(n *ir.Node, v, shown *ir.Value, in inRounds) {
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
	case passesOn(n):
		if flow.IsTransfer(n) {
			key := part{shown, n.Result().Type.Space}
			r.copies[key] = append(r.copies[key], n)
		}
		r.follow(n.Result(), shown, in)
	default:
		r.reads = append(r.reads, partRead{shown, n, in})
	}
}

// copyNeed is a copy that a space has to be given.
type copyNeed struct {
	part
	d  *target.Descriptor // for whom
	by []*ir.Node         // its readers
	in inRounds
}

// times returns how often in a call the copy is made.
func (n copyNeed) times() int64 { return n.in.times(n.v) }

// needs returns which copies of a value that lies in home its readers need, at the targets
// that on says, in the order in which they read.
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
	return whole(root, list)
}

// whole replaces the needs of a space for parts of a value by one for all of it, where the
// parts are no less than that.
func whole(root *ir.Value, list []copyNeed) []copyNeed {
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
