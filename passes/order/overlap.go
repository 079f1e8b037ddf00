package order

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// overlap moves copies that run on another queue than the work of their backend forward, so
// that they run beside it: to the head of their split and, where what they copy is there early
// enough, to that of an earlier split of the same backend, behind the copies that this split
// needs itself. Activations go as far as their source allows. Weights and experts go one
// split: while the link is busy with one, copying the next but one earlier gains nothing and
// takes memory. A space with a limit gets no copy earlier that would take the bytes live there
// beyond it, and none where repeats hide what is live. What a device copies for the host goes
// to the head of its split: there the host waits for all copies at once, and elsewhere for
// each, with a barrier every time. Where the user limits memory none is
// moved: the plan would need more of it, and weights that find no place cost more than copies
// that wait. A copy on the queue that does the work would only keep that waiting.
//
// Cost: O(nodes), and for each copy the splits that it moves over, where its space has a limit.
func (o *overlapper) overlap(now []int) []int {
	if len(o.splits) == 0 {
		return now
	}
	heads := make(map[int][]int) // by split: copies that are moved there
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

// merge returns the order with the moved copies before all else that their splits do, but
// behind copies.
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
			flush() // a split of copies alone
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

// overlapper knows where splits are and what is live in spaces with a limit.
type overlapper struct {
	*dataflow
	c *pass.Context

	splits []int            // numbers, in order; none where no copy can be moved
	first  map[int]int      // position of the first node of a split that is no copy
	on     map[string][]int // by backend: its splits, in order
	nested bool             // the function is a body or has one
	inputs map[int]int      // copies, by split
	spaces map[string]*spaceLoad

	transfers []bool // by index: it copies between spaces
}

func newOverlapper(g *dataflow, c *pass.Context) *overlapper {
	return &overlapper{dataflow: g, c: c, inputs: make(map[int]int), spaces: make(map[string]*spaceLoad)}
}

// spaceLoad is the most bytes that are live in a space during each split.
type spaceLoad struct {
	limit, now int64
	most       map[int]int64 // by split
}

// survey notes the splits of f, if some copy can be moved at all.
func (o *overlapper) survey(now []int) {
	if !o.c.Enabled(pass.RuleOrderOverlap) || o.c.Dry != nil { // of a plan that the user limits, perhaps
		return
	}
	o.transfers = make([]bool, len(now))
	asynchronous, begun := false, false // begun: the split of the node before has its first
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

// enter notes that the next nodes are of the split and the backend of n.
func (o *overlapper) enter(n *ir.Node) {
	if list := o.on[n.Backend]; len(list) == 0 || list[len(list)-1] != n.Split {
		o.on[n.Backend] = append(list, n.Split)
	}
	if len(o.splits) == 0 || o.splits[len(o.splits)-1] != n.Split {
		o.splits = append(o.splits, n.Split)
	}
}

// queued reports whether n, a copy, is into a backend, whose memory the user does not limit, on
// another queue than that of its work.
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

// earliest returns the split at whose head copy i can stand.
func (o *overlapper) earliest(i int) (split int, ok bool) {
	n := o.work[i]
	if !o.queued(n) {
		return 0, false
	}
	if _, works := o.first[n.Split]; !works {
		return 0, false // a split of copies alone stays what it is
	}
	ready := -1 // the last split in which something runs that the copy comes after
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
	// Within its split a copy is as late as the order for fewer live bytes wants it where
	// bytes are limited.
	limited := o.spaces[n.Result().Type.Space] != nil
	return own[at], own[at] != n.Split || !limited
}

// takes reports whether the copy may begin as early as a split: the backend takes another
// input there, and the bytes stay within the space's limit.
func (o *overlapper) takes(n *ir.Node, split int) bool {
	if limit := o.c.Target(n).MaxInputs; limit > 0 && o.inputs[split] >= limit {
		return false
	}
	load := o.spaces[n.Result().Type.Space]
	if load == nil {
		return true
	}
	if o.nested {
		return false // what is live in bodies, or around them, is not known here
	}
	for s := split; s < n.Split; s++ {
		if load.most[s]+n.Result().Type.MaxBytes() > load.limit {
			return false
		}
	}
	return true
}

// move puts copy i into an earlier split.
func (o *overlapper) move(i, split int) {
	n := o.work[i]
	if load := o.spaces[n.Result().Type.Space]; load != nil {
		for s := split; s < n.Split; s++ {
			load.most[s] += n.Result().Type.MaxBytes()
		}
	}
	o.inputs[n.Split]--
	o.inputs[split]++
	for v := n.Args[0]; v.Def != nil && v.Def.Is(ir.View); v = v.Def.Args[0] {
		v.Def.Split = min(v.Def.Split, split)
	}
	n.Split = split
	o.c.Cause(n, pass.RuleOrderOverlap)
	o.c.Count("overlap", 1)
}

// spareShare is the part of a limited space, one of so many, that is left to the gaps between
// buffers: what is live is only a bound of what the plan will take, and a plan that exceeds the
// limit costs weights their place there, which is worth more than a copy begun earlier.
const spareShare = 4

// loads fills in what is live in spaces with a limit: weights and states always, all else
// from its node to its last reader.
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

// add counts bytes of v in its space.
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
