package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// leastLanes is the smallest number of threads of a subgroup on any device.
const leastLanes = 4

// team combines the numbers of the threads of a workgroup: within subgroups by instructions of the device, if the
// machine has them, and through shared memory.
type team struct {
	*lowering
	part    *kir.Shared
	threads int // a power of two
}

// team returns a team that combines f32, teamOf one that combines numbers of a kind.
func (l *lowering) team(threads int) *team { return l.teamOf(kir.F32, threads) }

func (l *lowering) teamOf(k kir.Kind, threads int) *team {
	n := threads
	if l.on.has(kir.CapSubgroup) {
		n = threads / max(l.on.Lanes, leastLanes)
	}
	return &team{l, l.NewShared("part", kir.Scalar(k), n), threads}
}

// sum returns the sum of x over all threads, most the largest, which is NaN if one is. The order of additions is fixed.
func (t *team) sum(x *kir.Value) *kir.Value { return t.combine(x, t.ReduceAdd, t.Add) }

func (t *team) most(x *kir.Value) *kir.Value {
	if x.Type.Kind == kir.F32 {
		return t.combine(x, t.reduceMaxOrNaN, t.maxOrNaN)
	}
	return t.combine(x, t.ReduceMax, t.Max)
}

func (l *lowering) maxOrNaN(a, b *kir.Value) *kir.Value { return l.orNaN(a, l.orNaN(b, l.Max(a, b))) }

// reduceMaxOrNaN returns the largest x of the subgroup, compared as integers with NaN above all numbers.
func (l *lowering) reduceMaxOrNaN(x *kir.Value) *kir.Value {
	flip := func(bits *kir.Value) *kir.Value {
		return l.Xor(bits, l.And(l.Shr(bits, l.Uint(31)), l.Int(math.MaxInt32)))
	}
	key := l.Select(l.Ne(x, x), l.Int(math.MaxInt32), flip(l.Bitcast(x, kir.Scalar(kir.I32))))
	return l.Bitcast(flip(l.ReduceMax(key)), kir.Scalar(kir.F32))
}

// combine combines x of all threads, with reduce within a subgroup and join two numbers. It has a barrier.
func (t *team) combine(x *kir.Value, reduce func(x *kir.Value) *kir.Value, join func(a, b *kir.Value) *kir.Value) *kir.Value {
	if t.on.has(kir.CapSubgroup) {
		return t.combineSubgroups(reduce(x), join)
	}
	me := t.Thread()
	t.SharedStore(t.part, me, x)
	t.Barrier()
	for n := t.threads / 2; n > 0; n /= 2 {
		t.If(t.Lt(me, t.Int(n)), func() {
			t.SharedStore(t.part, me, join(t.SharedLoad(t.part, me), t.SharedLoad(t.part, t.Add(me, t.Int(n)))))
		})
		t.Barrier()
	}
	all := t.SharedLoad(t.part, t.zero)
	t.Barrier() // the next combine overwrites it
	return all
}

// combineSubgroups combines the numbers of subgroups, each of which all its threads have. Every thread does it, in
// order.
func (t *team) combineSubgroups(x *kir.Value, join func(a, b *kir.Value) *kir.Value) *kir.Value {
	if t.threads == t.on.Lanes {
		t.Barrier() // as below, for what callers store
		return x
	}
	t.If(t.Eq(t.Lane(), t.zero), func() { t.SharedStore(t.part, t.Subgroup(), x) })
	t.Barrier()
	count := t.Div(t.Int(t.threads), t.Lanes())
	if t.on.Lanes > 0 {
		count = t.Int(t.threads / t.on.Lanes)
	}
	all := t.For(t.one, count, t.one, []*kir.Value{t.SharedLoad(t.part, t.zero)}, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{join(c[0], t.SharedLoad(t.part, i))}
	})[0]
	t.Barrier() // the next combine overwrites it
	return all
}
