// Package partition holds the pass partition, which divides nodes among workers and places barriers.
package partition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass divides the nodes of CPU backends among workers and cuts functions into
// epochs, between which all workers meet at a barrier.
//
// Before: the order of nodes is final, every node has a backend. After: every node with
// work has an epoch and, on a backend with workers, a partition; bodies of repeats say
// whether their rounds begin with a barrier; results of entry points own their bytes.
//
// Not earlier: where a barrier has to stand follows from the order, and a body is decided
// once for all its rounds. Not later: plan may reuse bytes only after the barrier behind
// their last reader.
//
// The walk is greedy: a node joins the epoch that is open, if its workers touch only what
// they themselves have touched there, for every thread count and size; granules of the
// epoch's nodes are enlarged for that while it costs less than a barrier. Otherwise a
// barrier stands before it. Placing each barrier as late as possible gives the fewest for
// the partition chosen. Behind the walk the longest nodes of an epoch may get a tail and come
// last in it. docs/explanation/plan.md has the algebra and the alternatives.
//
// Cost: O(nodes * accesses of an epoch).
var Pass = pass.Pass{
	Name:     "partition",
	Doc:      "divide nodes among workers and place barriers",
	Run:      partition,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned | ir.PropOrdered,
	Gives:    ir.PropPartitioned,
	Breaks:   pass.FromPartitioned,
	Rules: []pass.Rule{
		{Name: pass.RulePartitionSplit, Doc: "workers divide an axis of the result, in the kernel's granules"},
		{Name: pass.RulePartitionOwn, Doc: "workers divide it so that each goes on with what it has computed itself: no barrier is needed"},
		{Name: pass.RulePartitionDynamic, Doc: "the last units are left to whoever is done early: nothing else in the epoch has to know who computes them"},
		{Name: pass.RulePartitionReplicated, Doc: "every worker computes it for itself: that is cheaper than waiting for another one"},
		{Name: pass.RulePartitionOne, Doc: "no axis of the result can be divided"},
		{Name: pass.RulePartitionRAW, Doc: "a barrier stands before it: it reads what another worker writes"},
		{Name: pass.RulePartitionWAR, Doc: "a barrier stands before it: it overwrites what another worker reads"},
		{Name: pass.RulePartitionWAW, Doc: "a barrier stands before it: it overwrites what another worker writes"},
		{Name: pass.RulePartitionHead, Doc: "each round begins with a barrier, as it uses what another worker used at the end of the round before"},
		{Name: pass.RulePartitionWait, Doc: "a barrier stands before it: there worker 0 may wait for what devices do meanwhile"},
		{Name: pass.RulePartitionResult, Doc: "a result that names other bytes is copied, so that the caller finds it in one piece"},
	},
}

func partition(c *pass.Context, m *ir.Module) error {
	var errs []error
	for _, f := range m.Funcs {
		if err := canPartition(c, f); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := ownResults(c, f); err != nil {
			return err
		}
		p := newPartitioner(c, f)
		p.walk(f)
		p.giveTails(f, true)
		c.Count("barriers", Barriers(f))
		c.Count("private", p.private)
	}
	return errors.Join(errs...)
}

// canPartition reports what the walk cannot deal with.
func canPartition(c *pass.Context, f *ir.Func) error {
	var errs []error
	for _, n := range f.Nodes {
		switch {
		case n.Op == ir.OpCall:
			errs = append(errs, fmt.Errorf("@%s: %v: functions that call others cannot be planned: write the callee's nodes in its place", f.Name, n))
		case n.Op == ir.OpRepeat:
			errs = append(errs, canPartition(c, n.Body), operandsFit(n))
		case !n.Is(ir.Leaf) && !n.Is(ir.View) && c.Target(n) == nil:
			errs = append(errs, fmt.Errorf("@%s: %v: there is no target %q: there are %s", f.Name, n, n.Backend, c.Targets.Names()))
		}
	}
	return errors.Join(errs...)
}

// operandsFit checks that each carried value of a repeat can stay in one place, and that
// other operands begin where their bytes do.
func operandsFit(n *ir.Node) error {
	var errs []error
	seen := make(map[*ir.Value]bool)
	for i := range n.Attr.(*ir.RepeatAttr).Carried {
		errs = append(errs, carriedAlone(n, i), carriedThere(n, i))
		for _, v := range []*ir.Value{n.Args[i], n.Body.Results[i]} {
			o := flow.Origin(v)
			own := n.Body.Params[i] == o
			if o.Func != v.Func || o.Def == nil && !own || flow.IsLeaf(o, ir.OpWeight, ir.OpConstant, ir.OpState) || seen[o] || !flow.SameBytes(o, v) {
				errs = append(errs, fmt.Errorf("@%s: %v: the carried value %v has no bytes of its own: insert a copy", n.Func.Name, n, v))
			}
			seen[o] = true
		}
	}
	for i, v := range n.Args {
		if o := flow.Origin(v); i >= n.Attr.(*ir.RepeatAttr).Carried && !flow.SameBytes(o, v) {
			errs = append(errs, fmt.Errorf("@%s: %v: the operand %v is a part of %v: insert a copy", n.Func.Name, n, v, o))
		}
	}
	return errors.Join(errs...)
}

// carriedAlone checks that nothing reads a carried value of a repeat any more when it is overwritten:
// what it starts with behind the repeat or in all rounds, and in a round what it was when its next one
// is made.
func carriedAlone(n *ir.Node, i int) error {
	start, param, next := flow.Origin(n.Args[i]), n.Body.Params[i], flow.Origin(n.Body.Results[i])
	is := func(v *ir.Value) bool { return v != nil && flow.Origin(v) == start }
	behind := n.Func.Nodes[slices.Index(n.Func.Nodes, n)+1:]
	at := slices.IndexFunc(behind, func(m *ir.Node) bool { return slices.ContainsFunc(m.Args, is) })
	switch {
	case slices.ContainsFunc(n.Args[n.Attr.(*ir.RepeatAttr).Carried:], is):
		return fmt.Errorf("@%s: %v: the carried value %v is overwritten, and all rounds read it: insert a copy", n.Func.Name, n, n.Args[i])
	case at >= 0:
		return fmt.Errorf("@%s: %v: the carried value %v is overwritten, and %v reads it behind: insert a copy", n.Func.Name, n, n.Args[i], behind[at])
	case slices.ContainsFunc(n.Func.Results, is):
		return fmt.Errorf("@%s: %v: the carried value %v is overwritten, and the function returns it: insert a copy", n.Func.Name, n, n.Args[i])
	case next.Def == nil || next.Def.Is(ir.Leaf) || next.Func != n.Body: // it stays as it is, or operandsFit says what is wrong
		return nil
	}
	if m := flow.StillRead(n.Body.Nodes, param, next); m != nil {
		return fmt.Errorf("@%s: %v: %v is overwritten by %v, and %v still reads it: return a copy of %v", n.Body.Name, n, param, next, m, n.Body.Results[i])
	}
	return nil
}

// carriedThere checks that a carried value of a repeat starts in the memory where the body looks for
// it, and that each round makes it there. Pass copy may have left it elsewhere, where the target that
// drives the step addresses that.
func carriedThere(n *ir.Node, i int) error {
	space := func(v *ir.Value) string { return cmp.Or(v.Type.Space, target.Host) }
	want := space(n.Body.Params[i])
	for _, v := range []*ir.Value{n.Args[i], n.Body.Results[i]} {
		if at := space(v); at != want {
			return fmt.Errorf("@%s: %v: the carried value %v lies in %s, and the body looks for it in %s: pin what makes it to a target with that memory", n.Func.Name, n, v, at, want)
		}
	}
	return nil
}

// partitioner holds what is known of an entry point and the bodies in it.
type partitioner struct {
	c       *pass.Context
	numbers *flow.Numbering
	bufs    *flow.Origins // those that have to share bytes are one
	marks   []mark        // by number of the value
	shared  []*sharing    // by number of the node
	private int64         // how many origins are

	touches  flow.Touches
	accesses []flow.Access // of a node; reused
	run      *region       // accesses of the run of nodes that is to get a tail
}

// sharing is what is known of a node that workers may share.
type sharing struct {
	target *target.Descriptor
	axes   []ir.Axis // as NodeAxes returns them
	effort flow.Effort
	class  *class // in the open region
}

// known returns what is known of n, which is not for worker 0 alone.
func (p *partitioner) known(n *ir.Node) *sharing {
	return p.shared[p.numbers.Node(n)]
}

// note begins what is known of n.
func (p *partitioner) note(d *target.Descriptor, n *ir.Node) *sharing {
	s := &sharing{target: d, axes: flow.NodeAxes(n), effort: flow.EffortOf(n)}
	p.shared[p.numbers.Node(n)] = s
	return s
}

// WorkOf is WorkOf for a node that workers may share.
func (p *partitioner) workOf(n *ir.Node, ax *ir.Axis) flow.Work {
	s := p.known(n)
	return s.effort.Along(s.target, n, ax)
}

// mark is what is known of an origin.
type mark uint8

const (
	markShared  mark = 1 << iota // it cannot be private
	markWhole                    // some reader wants all of it
	markPrivate                  // every worker has it for itself
	markFixed                    // nothing writes it; see IsFixed
)

// has reports whether v has the mark.
func (p *partitioner) has(v *ir.Value, k mark) bool { return p.marks[p.numbers.Value(v)]&k != 0 }

// mark gives v the mark.
func (p *partitioner) mark(v *ir.Value, k mark) { p.marks[p.numbers.Value(v)] |= k }

func newPartitioner(c *pass.Context, f *ir.Func) *partitioner {
	p := &partitioner{c: c, numbers: flow.NewNumbering(f)}
	p.marks, p.shared = make([]mark, p.numbers.Values), make([]*sharing, p.numbers.Nodes)
	p.touches = flow.Touches{
		Skip: func(v *ir.Value) bool { return p.has(v, markPrivate|markFixed) },
		Axes: func(n *ir.Node) []ir.Axis { return p.known(n).axes },
	}
	p.lookAhead(f)
	p.bufs = flow.NewOrigins(f)
	p.bufs.JoinCarried(f)
	p.run = newRegion(p)
	return p
}

// lookAhead notes what readers want of values.
func (p *partitioner) lookAhead(f *ir.Func) {
	for _, r := range f.Results {
		p.share(r)
	}
	for _, n := range f.Nodes {
		switch {
		case n.Is(ir.Leaf):
			p.leaf(n)
		case n.Is(ir.View):
		case n.Op == ir.OpRepeat:
			for _, a := range n.Args[:n.Attr.(*ir.RepeatAttr).Carried] {
				p.share(a)
			}
			p.table(n.Body)
			p.lookAhead(n.Body)
		default:
			p.work(n)
		}
	}
}

// work notes what n wants of its operands.
func (p *partitioner) work(n *ir.Node) {
	d := p.c.Target(n)
	if !aloneOn(d, n) {
		p.noteWhole(d, n)
		return
	}
	for _, a := range n.Args {
		p.share(a)
	}
}

// leaf notes what nothing ever writes.
func (p *partitioner) leaf(n *ir.Node) {
	if n.Op == ir.OpWeight || n.Op == ir.OpConstant {
		p.mark(n.Result(), markFixed)
	}
}

// table notes the parameters of a body that stand for what nothing ever writes.
func (p *partitioner) table(f *ir.Func) {
	for _, v := range f.Params {
		if kind, _ := flow.ParamKind(v); kind == flow.ParamTable && flow.IsFixed(v) {
			p.mark(v, markFixed)
		}
	}
}

func (p *partitioner) share(v *ir.Value) {
	if v != nil {
		p.mark(flow.Origin(v), markShared)
	}
}

func (p *partitioner) noteWhole(d *target.Descriptor, n *ir.Node) {
	axes := p.note(d, n).axes
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		if len(axes) == 0 || i >= len(axes[0].Reads) || axes[0].Reads[i].Kind == ir.ReadAll || axes[0].Reads[i].Kind == ir.ReadParts {
			p.mark(flow.Origin(a), markWhole)
		}
	}
	if info := n.Op.Info(); n.Is(ir.Alias) {
		p.share(n.Args[info.AliasArg])
	}
}

// walk partitions f and the bodies in it.
func (p *partitioner) walk(f *ir.Func) {
	w := &walker{p: p, open: newRegion(p)}
	if f.Owner == nil && p.c.Options.Pipeline > 1 {
		w.behind = lastQueued(f) // of the step before
	}
	for _, n := range f.Nodes {
		switch {
		case n.Is(ir.Leaf) || n.Is(ir.View):
		case n.Op == ir.OpRepeat:
			w.repeat(n)
		default:
			w.place(n)
		}
		n.Epoch = w.epoch
	}
	w.open.close(p.c)
	f.Epochs = w.epoch + 1
}

// walker is the state of the walk over one function.
type walker struct {
	p     *partitioner
	epoch int
	open  *region // since the last barrier

	options  []choice      // of the node that is placed
	accesses []flow.Access // of its options

	// behind is the last node that runs on a queue, until one of the host follows: there the
	// host may wait, and what worker 0 has waited for the others know by a barrier.
	behind *ir.Node
}

// barrier closes the epoch. The cause says which accesses conflict.
func (w *walker) barrier(n *ir.Node, why clash) {
	rule, value, before := why.hazard(), why.now.Value, why.before.Node
	w.cut()
	w.epoch++
	w.p.c.Cause(n, rule, value.String(), before.String())
}

// cut begins a region: a barrier stands here.
func (w *walker) cut() {
	w.open.close(w.p.c)
	w.open.clear()
}

// meet puts a barrier before n, a node of the host, if it follows one that runs on a queue.
func (w *walker) meet(n *ir.Node) {
	if w.behind == nil {
		return
	}
	w.cut()
	w.epoch++
	w.p.c.Cause(n, pass.RulePartitionWait, w.behind.String())
	w.behind = nil
}

// hazard returns the rule by which a barrier stands between two accesses.
func (p clash) hazard() pass.RuleName {
	switch {
	case p.before.Write && p.now.Write:
		return pass.RulePartitionWAW
	case p.before.Write:
		return pass.RulePartitionRAW
	}
	return pass.RulePartitionWAR
}

// choice is one way to share a node.
type choice struct {
	rule    pass.RuleName
	mode    ir.PartMode
	ax      *ir.Axis
	list    []flow.Access
	trial   *trial // the classes of the epoch with the node in it
	clash   clash  // what needs a barrier
	barrier bool
	cost    float64 // seconds; not set where there is no other choice
}

// place chooses how the node is shared, and whether a barrier stands before it.
func (w *walker) place(n *ir.Node) {
	if n.Queue() != "" {
		w.behind = n
	} else {
		w.meet(n)
	}
	w.options, w.accesses = w.options[:0], w.accesses[:0]
	d := w.p.c.Target(n)
	alone := aloneOn(d, n)
	if alone {
		w.undivided(n, pass.RulePartitionOne, ir.PartOne)
	} else {
		w.choose(n, d)
	}
	best := w.cheapest()
	if best.rule != pass.RulePartitionOne && !w.p.c.Allow(best.rule, n) {
		best = w.undivided(n, pass.RulePartitionOne, ir.PartOne)
	}
	w.take(n, best)
	if best.mode != ir.PartSplit && !alone {
		w.p.c.Cause(n, best.rule)
	}
	w.open.add(best.list)
}

// cheapest returns the first of the cheapest options.
func (w *walker) cheapest() *choice {
	best := &w.options[0]
	for i := range w.options {
		if w.options[i].cost < best.cost {
			best = &w.options[i]
		}
	}
	return best
}

// choose makes options of the ways to share n that are not disabled, the preferred ones
// first.
func (w *walker) choose(n *ir.Node, d *target.Descriptor) {
	later := 0.0
	if w.wantedWhole(n) {
		later = d.Rates.Barrier // for whoever reads it
	}
	axes := w.p.known(n).axes
	for i := range axes {
		w.divided(n, d, &axes[i], later)
	}
	if w.p.c.Enabled(pass.RulePartitionReplicated) && w.canEach(n) {
		whole := w.p.workOf(n, nil)
		if seconds := whole.Seconds(1, 1); seconds <= eachLimit {
			ch := w.undivided(n, pass.RulePartitionReplicated, ir.PartEach)
			if ch.cost = seconds; ch.barrier {
				ch.cost += d.Rates.Barrier
			}
		}
	}
	if len(w.options) == 0 {
		w.undivided(n, pass.RulePartitionOne, ir.PartOne)
	}
}

// divided adds the options that divide n along ax: within the open epoch where that is
// possible, and behind a barrier. Later is what is lost behind n, in seconds.
func (w *walker) divided(n *ir.Node, d *target.Descriptor, ax *ir.Axis, later float64) {
	split := choice{rule: pass.RulePartitionSplit, mode: ir.PartSplit, ax: ax, list: w.touched(n, ir.PartSplit, ax)}
	t, against, ok := w.open.join(n, ax, split.list)
	switch {
	case ok && !t.joined() && w.p.c.Enabled(pass.RulePartitionSplit):
		split.trial, split.cost = t, w.seconds(t)+later
		w.options = append(w.options, split)
		return
	case ok && t.joined() && w.p.c.Enabled(pass.RulePartitionOwn):
		own := split
		own.rule, own.trial, own.cost = pass.RulePartitionOwn, t, w.seconds(t)+later
		w.options = append(w.options, own)
	}
	if ok {
		against = t.clash
	}
	if w.p.c.Enabled(pass.RulePartitionSplit) && against.before != nil {
		split.trial, split.clash, split.barrier = t.apart(), against, true
		split.cost = w.seconds(split.trial) + d.Rates.Barrier + later
		w.options = append(w.options, split)
	}
}

// undivided adds and returns the option that one worker or each computes all of n.
func (w *walker) undivided(n *ir.Node, rule pass.RuleName, mode ir.PartMode) *choice {
	ch := choice{rule: rule, mode: mode, list: w.touched(n, mode, nil)}
	ch.clash, ch.barrier = w.open.conflict(ch.list)
	w.options = append(w.options, ch)
	return &w.options[len(w.options)-1]
}

// touched returns the accesses of n, which are kept until the next node is placed.
func (w *walker) touched(n *ir.Node, mode ir.PartMode, ax *ir.Axis) []flow.Access {
	from := len(w.accesses)
	w.accesses = w.p.touches.Append(w.accesses, n, mode, ax)
	return slices.Clip(w.accesses[from:])
}

// canEach reports whether the results of n may be private: nobody but the workers reads
// them, and only as long as the call lasts.
func (w *walker) canEach(n *ir.Node) bool {
	if !n.Is(ir.Pure) || n.Is(ir.Alias) {
		return false
	}
	for _, r := range n.Results {
		if w.p.has(r, markShared) {
			return false
		}
	}
	return true
}

func (w *walker) wantedWhole(n *ir.Node) bool {
	for _, r := range n.Results {
		if w.p.has(r, markWhole) {
			return true
		}
	}
	return false
}

// seconds predicts what a trial's node adds to the epoch: its own time, and what other
// nodes lose by larger granules.
func (w *walker) seconds(t *trial) float64 {
	units := t.class.units()
	own, workers := w.workOf(&t.own.members[0])
	sum := own.Seconds(units, workers)
	for _, c := range t.joins {
		before := c.units()
		if before == units {
			continue // the others go on as they are
		}
		for i := range c.members {
			own, workers := w.workOf(&c.members[i])
			sum += own.Seconds(units, workers)
			sum -= own.Seconds(before, workers)
		}
	}
	return sum
}

// WorkOf returns the work of a member of a class, and how many workers share it.
func (w *walker) workOf(m *member) (flow.Work, int) {
	own := w.p.workOf(m.node, m.axis)
	return own, pass.AssumedWorkers(w.p.c, own.D)
}

// take makes the choice.
func (w *walker) take(n *ir.Node, ch *choice) {
	if ch.barrier {
		w.barrier(n, ch.clash)
	}
	n.Part = ir.Partition{Mode: ch.mode}
	switch ch.mode {
	case ir.PartSplit:
		n.Part.Axis, n.Part.N = ch.ax.Axis, n.Result().Type.Shape[ch.ax.Axis]
		w.open.adopt(ch.trial)
	case ir.PartEach:
		for _, r := range n.Results {
			w.p.mark(r, markPrivate)
			w.p.private++
		}
	}
}
