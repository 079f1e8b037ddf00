package tune

import (
	"context"
	"slices"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Layouts are measured where kernels read one operand in several: each use of the model, with
// the operand's own shape and the rows that read it, in each layout, in turns. Matrices of
// products are none of these: for each dtype there is one layout.

// form is a dtype in a layout.
type form struct {
	dtype  dtype.DType
	layout dtype.Layout
}

// gathers are the kernels of gather by the form of the table.
var gathers = map[form]func(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int){
	{dtype.F32, dtype.Plain}: cpu.GatherF32, {dtype.F32, dtype.R16}: cpu.GatherR16F32,
	{dtype.F16, dtype.Plain}: cpu.GatherF16, {dtype.F16, dtype.R16}: cpu.GatherR16F16,
	{dtype.BF16, dtype.Plain}: cpu.GatherBF16, {dtype.BF16, dtype.R16}: cpu.GatherR16BF16,
	{dtype.Q8_0, dtype.Plain}: cpu.GatherQ8_0, {dtype.Q8_0, dtype.R16}: cpu.GatherR16Q8_0,
	{dtype.Q4_0, dtype.Plain}: cpu.GatherQ4_0, {dtype.Q4_0, dtype.R16}: cpu.GatherR16Q4_0,
	{dtype.Q4_1, dtype.Plain}: cpu.GatherQ4_1, {dtype.Q4_1, dtype.R16}: cpu.GatherR16Q4_1,
	{dtype.Q5_0, dtype.Plain}: cpu.GatherQ5_0, {dtype.Q5_0, dtype.R16}: cpu.GatherR16Q5_0,
	{dtype.Q5_1, dtype.Plain}: cpu.GatherQ5_1, {dtype.Q5_1, dtype.R16}: cpu.GatherR16Q5_1,
	{dtype.Q2_K, dtype.Plain}: cpu.GatherQ2_K, {dtype.Q2_K, dtype.R16}: cpu.GatherR16Q2_K,
	{dtype.Q3_K, dtype.Plain}: cpu.GatherQ3_K, {dtype.Q3_K, dtype.R16}: cpu.GatherR16Q3_K,
	{dtype.Q4_K, dtype.Plain}: cpu.GatherQ4_K, {dtype.Q4_K, dtype.R16}: cpu.GatherR16Q4_K,
	{dtype.Q5_K, dtype.Plain}: cpu.GatherQ5_K, {dtype.Q5_K, dtype.R16}: cpu.GatherR16Q5_K,
	{dtype.Q6_K, dtype.Plain}: cpu.GatherQ6_K, {dtype.Q6_K, dtype.R16}: cpu.GatherR16Q6_K,
	{dtype.IQ4_NL, dtype.Plain}: cpu.GatherIQ4_NL, {dtype.IQ4_NL, dtype.R16}: cpu.GatherR16IQ4_NL,
	{dtype.IQ4_XS, dtype.Plain}: cpu.GatherIQ4_XS, {dtype.IQ4_XS, dtype.R16}: cpu.GatherR16IQ4_XS,
	{dtype.MXFP4, dtype.Plain}: cpu.GatherMXFP4, {dtype.MXFP4, dtype.R16}: cpu.GatherR16MXFP4,
	{dtype.IQ2X, dtype.Plain}: cpu.GatherIQ2X, {dtype.IQ2X, dtype.R16}: cpu.GatherR16IQ2X,
	{dtype.IQ2X16, dtype.Plain}: cpu.GatherIQ2X16, {dtype.IQ2X16, dtype.R16}: cpu.GatherR16IQ2X16,
	{dtype.IQ3X, dtype.Plain}: cpu.GatherIQ3X, {dtype.IQ3X, dtype.R16}: cpu.GatherR16IQ3X,
	{dtype.IQ3SX, dtype.Plain}: cpu.GatherIQ3SX, {dtype.IQ3SX, dtype.R16}: cpu.GatherR16IQ3SX,
}

// attentions are the kernels of attention by the form of the keys; quantized is whether queries
// are q8a.
var attentions = map[form]struct {
	run       func(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape cpu.AttentionShape, r0, r1, h0, h1 int)
	quantized bool
}{
	{dtype.F32, dtype.Plain}: {cpu.AttentionF32, false},
	{dtype.F16, dtype.Plain}: {cpu.AttentionF16, false}, {dtype.F16, dtype.R16}: {cpu.AttentionR16F16, false},
	{dtype.Q8_0, dtype.Plain}: {cpu.AttentionQ8_0, false}, {dtype.Q8_0, dtype.R16}: {cpu.AttentionR16Q8_0, true},
	{dtype.Q4_0, dtype.Plain}: {cpu.AttentionQ4_0, false}, {dtype.Q4_0, dtype.R16}: {cpu.AttentionR16Q4_0, true},
}

// use is a use of a layout and a node that has it.
type use struct {
	target.LayoutUse
	n *ir.Node
}

// layoutUses returns the different uses of weights and states of a module for which there is a
// choice, in the order of its nodes. A table of f16 is measured as bf16 as well, as --allow-bf16
// may convert it.
func layoutUses(m *ir.Module) []use {
	var all []use
	add := func(u use) {
		if len(layoutsOf(u.LayoutUse)) > 1 && !slices.ContainsFunc(all, func(o use) bool { return o.LayoutUse == u.LayoutUse }) {
			all = append(all, u)
		}
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			u, ok := target.LayoutUseOf(n)
			if !ok || !isLeaf(n.Args[target.LayoutOperand(n.Op)]) || isEmpty(n) {
				continue
			}
			add(use{u, n})
			if u.Op == ir.OpGather && u.DType == dtype.F16 {
				u.DType = dtype.BF16
				add(use{u, n})
			}
		}
	}
	return all
}

// isLeaf reports whether v is a weight, or bytes of a state.
func isLeaf(v *ir.Value) bool {
	root := v.Root()
	return root.Def != nil && (root.Def.Op == ir.OpState || v.Def != nil && v.Def.Op == ir.OpWeight)
}

// isEmpty reports whether an operand of n has no elements.
func isEmpty(n *ir.Node) bool {
	return slices.ContainsFunc(n.Args, func(v *ir.Value) bool { return v.Type.Elems().Upper() < 1 })
}

// layoutsOf returns the layouts that the processor's kernels read for a use, as far as they can
// be measured.
func layoutsOf(u target.LayoutUse) []dtype.Layout {
	all := target.CPU().Layouts(u.Op, target.LayoutOperand(u.Op), u.DType)
	return slices.DeleteFunc(all, func(l dtype.Layout) bool {
		k := form{u.DType, l}
		return u.Op == ir.OpGather && gathers[k] == nil || u.Op == ir.OpAttention && attentions[k].run == nil
	})
}

// Unmeasured returns the uses of the module for which the target has measurements of other
// shapes and rows only: their layouts are predicted. It is nil where the target has none at all.
func Unmeasured(d *target.Descriptor, m *ir.Module) (missing []target.LayoutUse) {
	if len(d.LayoutTimes) == 0 {
		return nil
	}
	for _, u := range layoutUses(m) {
		for _, l := range layoutsOf(u.LayoutUse) {
			if _, known := d.LayoutSeconds(u.LayoutUse, l); !known && u.n.Args[target.LayoutOperand(u.Op)].Type.DType == u.DType {
				missing = append(missing, u.LayoutUse)
				break
			}
		}
	}
	return missing
}

// trial runs a use in a layout, each turn with other bytes, and returns its seconds.
type trial struct {
	layout dtype.Layout
	run    func(turn int) float64
}

// measureLayouts measures the uses. The error is the context's.
func measureLayouts(ctx context.Context, uses []use) ([]target.LayoutTime, error) {
	var times []target.LayoutTime
	for _, u := range uses {
		trials := gatherTrials
		if u.Op == ir.OpAttention {
			trials = attentionTrials
		}
		t, err := fastestOf(ctx, u, trials(u))
		if err != nil {
			return nil, err
		}
		times = append(times, t...)
	}
	return times, nil
}

// fastestOf runs the trials of a use in turns. No two turns have the same number: what one has
// read, the next would find in a cache.
func fastestOf(ctx context.Context, u use, trials []trial) ([]target.LayoutTime, error) {
	seconds := infinite(len(trials))
	for turn := range turns {
		for i := range trials {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			seconds[i] = min(seconds[i], trials[i].run(turn*len(trials)+i))
		}
	}
	var times []target.LayoutTime
	for i, s := range seconds {
		t := target.LayoutTime{LayoutUse: u.LayoutUse, Layout: trials[i].layout}
		round(&t.Seconds, max(s, 1e-10)) // the clock may not have advanced
		times = append(times, t)
	}
	return times, nil
}

const (
	turns     = 25      // of which the fastest counts; each takes some milliseconds at most, less than others keep a processor
	singles   = 64      // calls of a gather of few rows in a turn: one takes less than the clock sees
	mostRead  = 512     // rows of a gather that are run; more take as much more
	oneBlock  = 256     // queries of an attention that are run: its kernels take as many at once
	mostSeen  = 4096    // positions of a context: longer ones take as much longer
	turnBytes = 1 << 20 // bytes of states in a turn of an attention, whose first microsecond is no measure of a short context
)

// gatherTrials are the trials of a gather: rows from all over a table of the shape, or of as many
// of its rows as are more than caches hold.
func gatherTrials(u use) []trial {
	shape := u.n.Args[0].Type.Shape
	n, k, rows := int(shape[0].Upper()), int(shape[1].Upper()), int(min(u.Rows, mostRead))
	n = min(n, panels(max(coldRows/u.DType.RowBytes(k), 1)))
	calls := max(1, singles/rows)
	table := touched(int(dtype.PackedBytes(u.DType, dtype.R16, int64(n), int64(k))))
	idx, dst := make([]int32, calls*rows), words(calls*rows*k*4)
	var trials []trial
	for _, l := range layoutsOf(u.LayoutUse) {
		run := gathers[form{u.DType, l}]
		trials = append(trials, trial{l, func(turn int) float64 {
			scatter(idx, n, turn)
			begin := time.Now()
			for i := range calls {
				run(unsafe.Pointer(&dst[0]), unsafe.Pointer(&idx[0]), unsafe.Pointer(&table[0]), k, i*rows, (i+1)*rows, 0, k)
			}
			return time.Since(begin).Seconds() / float64(calls) * float64(u.Rows) / float64(rows)
		}})
	}
	return trials
}

// scatter fills idx with rows from all over a table of n rows, others each turn.
func scatter(idx []int32, n, turn int) {
	const prime = 7919
	for i := range idx {
		idx[i] = int32((turn*len(idx) + i) * prime % n)
	}
}

// attentionTrials are the trials of an attention after half of the context: one token with all heads,
// as in generation, or a block of tokens with one KV head, whose time is scaled to all heads. The length
// of values is that of the first node that has the use.
func attentionTrials(u use) []trial {
	a := newAttention(u)
	var trials []trial
	for _, l := range layoutsOf(u.LayoutUse) {
		kernel := attentions[form{u.DType, l}]
		trials = append(trials, trial{l, func(turn int) float64 {
			begin := time.Now()
			for call := turn * a.calls; call < (turn+1)*a.calls; call++ {
				q := a.q
				if kernel.quantized {
					q = a.rounded
					cpu.QuantizeQ8A(unsafe.Pointer(&q[0]), unsafe.Pointer(&a.q[0]), a.dk, 0, a.tokens*a.heads*a.some/a.kvHeads, 0, a.dk)
				}
				h := call % (a.kvHeads - a.some + 1)
				kernel.run(unsafe.Pointer(&a.dst[0]), unsafe.Pointer(&q[0]), a.at(a.k, call, a.dk), a.at(a.v, call, a.dv),
					unsafe.Pointer(&a.slot[0]), unsafe.Pointer(&a.pos[0]), nil, a.shape(), 0, a.tokens, h, h+a.some)
			}
			return time.Since(begin).Seconds() / float64(a.calls) * a.scale
		}})
	}
	return trials
}

// attention is the operands of an attention.
type attention struct {
	cache                       dtype.DType
	tokens, heads, kvHeads, ctx int
	dk, dv                      int
	some                        int     // KV heads that are run
	scale                       float64 // from what is run to all of it
	copies                      int     // of the states, so that they are more than caches hold
	calls                       int     // in a turn
	q, rounded, k, v, dst       []uint64
	slot, pos                   []int32
}

// shape returns the shape of the call; its scale does not matter.
func (a *attention) shape() cpu.AttentionShape {
	return cpu.AttentionShape{Heads: a.heads, KVHeads: a.kvHeads, Context: a.ctx, KeyLen: a.dk, ValueLen: a.dv, Scale: 0.125}
}

func newAttention(u use) *attention {
	q, k, v := u.n.Args[0].Type.Shape, u.n.Args[1].Type.Shape, u.n.Args[2].Type.Shape
	a := &attention{cache: u.DType, heads: int(q[1].Upper()), kvHeads: int(k[1].Upper()), ctx: int(k[2].Upper()), dk: int(k[3].Upper()), dv: int(v[3].Upper())}
	all, positions := int(q[0].Upper()), a.ctx
	a.ctx = min(a.ctx, mostSeen)
	a.tokens = min(all, max(1, oneBlock*a.kvHeads/a.heads), a.ctx)
	a.some = a.kvHeads
	if a.tokens > 1 {
		a.some = 1
	}
	a.scale = float64(all) / float64(a.tokens) * float64(a.kvHeads) / float64(a.some) * float64(positions) / float64(a.ctx)
	state := a.stateBytes(a.dk) + a.stateBytes(a.dv)
	a.copies = min(max(1, coldRows/state), turns)
	a.calls = max(1, turnBytes/state)
	a.k, a.v = touched(a.copies*a.stateBytes(a.dk)), touched(a.copies*a.stateBytes(a.dv))
	a.q, a.dst = words(a.tokens*a.heads*a.dk*4), words(a.tokens*a.heads*a.dv*4)
	if a.cache.IsQuantized() {
		a.rounded = words(a.tokens * a.heads * dtype.Q8A.RowBytes(a.dk))
	}
	a.slot, a.pos = make([]int32, a.tokens), make([]int32, a.tokens)
	for i := range a.pos {
		a.pos[i] = int32((a.ctx-a.tokens)/2 + i)
	}
	return a
}

// stateBytes returns the bytes of a sequence of rows of d elements, in the larger of the layouts.
func (a *attention) stateBytes(d int) int {
	plain := a.kvHeads * a.ctx * a.cache.RowBytes(d)
	if !dtype.R16.Holds(a.cache) {
		return plain
	}
	return max(plain, a.kvHeads*int(dtype.PackedBytes(a.cache, dtype.R16, int64(a.ctx), int64(d))))
}

// at returns the copy of a state of rows of d elements that a call reads.
func (a *attention) at(state []uint64, call, d int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(&state[0]), call%a.copies*a.stateBytes(d))
}
