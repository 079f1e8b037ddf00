package order

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// overlap moves copies forward that run on another queue than the work of their backend, so that they run at the same
// time as other work. A copy moves to the head of its split or, if its source is computed early enough, to the head of
// an earlier split of the same backend. There it follows the copies that this split needs itself.
//
// For example, gpu has a queue for copies, and a value %x of the host, computed before split 0, is needed in split 2:
//
//	split 0  gpu  %a = f(...)
//	split 1  cpu  %b = g(...)
//	split 2  gpu  %c = h(%a)
//	              %x.gpu = copy %x      moves to the head of split 0
//	              %d = k(%c, %x.gpu)
//
// A copy of %b moves only to the head of split 2.
//
//   - Activations move as far as their source allows.
//   - Weights and experts move by one split of the backend. While the link is busy with one weight, it does not help to
//     submit the copy after the next one, and that copy would take memory.
//   - A copy does not move to where it would take the live bytes of a space beyond its limit, nor into a space with a
//     limit if the function has bodies or is one: what is live in bodies is not known here.
//   - A copy that a device makes for the host moves to the head of its split only. The host waits there for all copies
//     at once. Elsewhere it would wait for each, with a barrier each time.
//   - A copy into a backend whose memory the user limits does not move. The plan would need more memory, and a weight
//     for which there is no room costs more than a copy that waits.
//   - A copy on the queue that does the work does not move, as it would only make that work wait.
//   - No copy moves if the plan with the moved copies would exceed a limit (mayOverlap).
//
// Cost: O(nodes), and for each copy the splits that it moves over if its space has a limit.
func (o *overlapper) overlap(now []int) []int {
	if len(o.splits) == 0 {
		return now
	}
	heads := make(map[int][]int) // by split: copies that move to its head
	moved := make([]bool, len(now))
	for at, i := range now {
		if !o.transfers[i] {
			continue
		}
		if split, ok := o.earliest(i); ok && o.c.Allow(pass.RuleOrderOverlap, o.work[i]) {
			if split == o.work[i].Split && at < o.first[split] {
				continue // it is at the head already
			}
			o.move(i, split)
			heads[split], moved[i] = append(heads[split], i), true
		}
	}
	return o.merge(now, heads, moved)
}

// merge returns the order with the moved copies in their new splits: before the other nodes, but after the copies with
// which the split begins.
func (o *overlapper) merge(now []int, heads map[int][]int, moved []bool) []int {
	if len(heads) == 0 {
		return now
	}
	out, split := make([]int, 0, len(now)), -1
	flushed := true
	flush := func() {
		if !flushed {
			out, flushed = append(out, heads[split]...), true
		}
	}
	for _, i := range now {
		if moved[i] {
			continue
		}
		if n := o.work[i]; n.Split != split {
			flush() // the split before has only copies
			split, flushed = n.Split, false
		}
		if !o.transfers[i] {
			flush()
		}
		out = append(out, i)
	}
	flush()
	return out
}

// overlapper is the splits of a function and the live bytes of the spaces that have a limit.
type overlapper struct {
	*dataflow
	c *pass.Context

	splits []int                 // numbers, in order; empty if no copy can move
	first  map[int]int           // by split: position of the first node that is not a copy
	on     map[string][]int      // by backend: its splits, in order
	nested bool                  // the function is a body or has one
	inputs map[int]int           // by split: number of copies
	spaces map[string]*spaceLoad // that have a limit

	transfers []bool // by node: it copies between spaces
	moves     int    // copies that have moved
}

func newOverlapper(g *dataflow, c *pass.Context) *overlapper {
	return &overlapper{dataflow: g, c: c, inputs: make(map[int]int), spaces: make(map[string]*spaceLoad)}
}

// spaceLoad is the most bytes that are live in a space during each split.
type spaceLoad struct {
	limit, now int64
	most       map[int]int64 // by split
}

// survey finds the splits of the function, if some copy can move.
func (o *overlapper) survey(now []int) {
	o.transfers = make([]bool, len(now))
	asynchronous := false // some copy runs on a queue of its own
	begun := false        // the split of the node before is in o.first
	o.first, o.on = make(map[int]int), make(map[string][]int)
	var before *ir.Node
	for at, i := range now {
		n := o.work[i]
		o.nested = o.nested || n.Body != nil || o.f.Owner != nil
		if before == nil || before.Split != n.Split || before.Backend != n.Backend {
			o.enter(n)
			_, begun = o.first[n.Split]
		}
		before = n
		if flow.IsTransfer(n) {
			o.transfers[i] = true
			asynchronous = asynchronous || o.queued(n)
			o.inputs[n.Split]++
		} else if !begun {
			o.first[n.Split], begun = at, true
		}
	}
	if !asynchronous || !slices.IsSorted(o.splits) {
		o.splits = nil
		return
	}
	o.loads(now)
}

// enter adds the split of n to the splits, and to those of its backend.
func (o *overlapper) enter(n *ir.Node) {
	if list := o.on[n.Backend]; len(list) == 0 || list[len(list)-1] != n.Split {
		o.on[n.Backend] = append(list, n.Split)
	}
	if len(o.splits) == 0 || o.splits[len(o.splits)-1] != n.Split {
		o.splits = append(o.splits, n.Split)
	}
}

// queued reports whether the copy n runs on another queue than the work of its backend, and the user does not limit the
// memory of the backend.
func (o *overlapper) queued(n *ir.Node) bool {
	t := o.c.Target(n)
	if t == nil {
		return false
	}
	for _, name := range []string{t.Name, t.Home()} {
		if _, limited := o.c.Options.MaxMemory[name]; limited {
			return false
		}
	}
	queue, _ := rewrite.QueueOf(o.c.Targets, n)
	return queue != "" && queue != t.Name
}

// earliest returns the split to whose head copy i can move, which may be its own; ok is false for none.
func (o *overlapper) earliest(i int) (split int, ok bool) {
	n := o.work[i]
	if !o.queued(n) {
		return 0, false
	}
	if _, works := o.first[n.Split]; !works {
		return 0, false // a split that has only copies stays
	}
	ready := -1 // the last split with a predecessor of the copy
	for _, p := range o.preds[i] {
		ready = max(ready, o.work[p].Split)
	}
	if ready >= n.Split {
		return 0, false
	}
	own := o.on[n.Backend]
	at, _ := slices.BinarySearch(own, n.Split)
	oldest := 0
	switch {
	case !o.c.Target(n).Asynchronous():
		oldest = at
	case n.Op == ir.OpCopyExperts || flow.CopyBase(n.Args[0]).IsWeight():
		oldest = at - 1
	}
	for at > max(oldest, 0) && own[at-1] > ready && o.takes(n, own[at-1]) {
		at--
	}
	// A space with a limit keeps a copy as late in its split as the order for fewer live bytes has it.
	limited := o.spaces[n.Result().Type.Space] != nil
	return own[at], own[at] != n.Split || !limited
}

// takes reports whether the copy n may move to a split: the backend takes another input there, and the live bytes stay
// within the limit of the space.
func (o *overlapper) takes(n *ir.Node, split int) bool {
	if limit := o.c.Target(n).MaxInputs; limit > 0 && o.inputs[split] >= limit {
		return false
	}
	load := o.spaces[n.Result().Type.Space]
	if load == nil {
		return true
	}
	if o.nested {
		return false // what is live in bodies and around them is not known
	}
	for s := split; s < n.Split; s++ {
		if load.most[s]+n.Result().Type.MaxBytes() > load.limit {
			return false
		}
	}
	return true
}

// move puts copy i, and the views and the leaf that it reads, into a split.
func (o *overlapper) move(i, split int) {
	n := o.work[i]
	if load := o.spaces[n.Result().Type.Space]; load != nil {
		for s := split; s < n.Split; s++ {
			load.most[s] += n.Result().Type.MaxBytes()
		}
	}
	o.inputs[n.Split]--
	o.inputs[split]++
	for d := n.Args[0].Def; d != nil && (d.Is(ir.View) || d.Is(ir.Leaf)); d = d.Args[0].Def {
		d.Split = min(d.Split, split)
		if d.Is(ir.Leaf) {
			break
		}
	}
	n.Split = split
	o.c.Cause(n, pass.RuleOrderOverlap)
	o.c.Count("overlap", 1)
	o.moves++
}

// spareShare is the part of a limit, one of so many, that is left for gaps between buffers. The live bytes are only a
// lower bound of what the plan takes. If the plan exceeds the limit, weights have to be stored elsewhere, which costs
// more than a copy that begins later.
const spareShare = 4

// loads finds the most live bytes during each split in the spaces that have a limit. Weights and states are always
// live, other values from their node to their last reader.
func (o *overlapper) loads(now []int) {
	spaces := o.c.Targets.Spaces()
	for i, limit := range pass.SpaceLimits(o.c, spaces) {
		if limit >= 0 {
			name := spaces[i].Name
			o.spaces[name] = &spaceLoad{limit: limit - limit/spareShare, now: leafBytes(o.f.Module, name), most: make(map[int]int64)}
		}
	}
	if len(o.spaces) == 0 {
		return
	}
	left, values := slices.Clone(o.uses), make([]*ir.Value, len(o.uses))
	for _, i := range now {
		for _, v := range o.work[i].Results {
			if values[v.ID] = v; v.Source() == nil {
				o.add(v, v.Type.MaxBytes())
			}
		}
		for _, load := range o.spaces {
			split := o.work[i].Split
			load.most[split] = max(load.most[split], load.now)
		}
		for _, v := range o.reads[i] {
			if left[v]--; left[v] == 0 {
				o.add(values[v], -values[v].Type.MaxBytes())
			}
		}
	}
}

// add adds live bytes of v to its space, if that has a limit.
func (o *overlapper) add(v *ir.Value, bytes int64) {
	if load := o.spaces[v.Type.Space]; load != nil {
		load.now += bytes
	}
}

// leafBytes returns the bytes of weights and states in a space.
func leafBytes(m *ir.Module, space string) int64 {
	var sum int64
	for _, w := range m.Weights {
		if w.Type.Space == space {
			sum += w.Type.MaxBytes()
		}
	}
	for _, s := range m.States {
		if s.Type.Space == space {
			sum += s.Type.MaxBytes()
		}
	}
	return sum
}
