package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// topK finds the k largest elements of each row, with a workgroup for each row. A thread keeps the best of its own
// elements. The best of those is the next result, and only the thread that had it looks for its next best. So all
// elements are read once, and those of one thread once more for each result but the last. A row may be a vocabulary, and
// there may be one row only: then there are more threads.
func topK(l *lowering) {
	threads := rowThreads(l.n.Args[0].Type.Inner())
	l.begin("top_k", threads)
	x, y := l.operand(0), l.result()
	k := l.n.Attr.(*ir.TopKAttr).K
	s := &selection{team: l.teamOf(kir.I32, threads), x: x, n: l.size(x.Inner()), inner: l.innerStride(x)}
	count := x.Rows()
	l.perGroup(l.size(count), func(u *kir.Value) {
		at := l.row(x, u)
		first := s.best(at, func(key, i *kir.Value) *kir.Value { return l.Le(l.zero, i) })
		put := func(j *kir.Value, own []*kir.Value) (key, i *kir.Value) {
			key, i = s.winner(own[0], own[1])
			l.If(l.Eq(l.Thread(), l.zero), func() {
				l.Store(l.At(y.base, l.Add(l.Mul(u, l.Int(k)), j), 4), i)
			})
			return key, i
		}
		last := l.For(l.zero, l.Int(k-1), l.one, first, func(j *kir.Value, own []*kir.Value) []*kir.Value {
			key, i := put(j, own)
			return l.Choose(l.Eq(i, own[1]), func() []*kir.Value {
				return s.best(at, func(k2, i2 *kir.Value) *kir.Value { return s.before(key, i, k2, i2) })
			}, func() []*kir.Value { return own })
		})
		put(l.Int(k-1), last)
	})
	l.end(count)
}

// selection is the kernel of a top_k.
type selection struct {
	*team
	x     *tensor
	n     *kir.Value // elements of a row
	inner *kir.Value
}

// none is the index of a thread that has no more elements. No element has it, and all of them come before it.
const none = math.MaxInt32

// best returns key and index of the best of the thread's own elements that fit; the row begins at an element.
func (s *selection) best(row *kir.Value, fits func(key, i *kir.Value) *kir.Value) []*kir.Value {
	init := []*kir.Value{s.Int(math.MinInt32), s.Int(none)}
	return s.strided(s.n, s.threads, init, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		key := s.order(s.load(s.x, s.Add(row, s.Mul(i, s.inner))))
		better := s.And(fits(key, i), s.before(key, i, c[0], c[1]))
		return []*kir.Value{s.Select(better, key, c[0]), s.Select(better, i, c[1])}
	})
}

// before reports whether the first element comes before the second in the result: it is larger, or as large and
// has the lower index.
func (s *selection) before(key, i, otherKey, other *kir.Value) *kir.Value {
	return s.Or(s.Lt(otherKey, key), s.And(s.Eq(key, otherKey), s.Lt(i, other)))
}

// winner returns the best of the elements that threads have.
func (s *selection) winner(key, i *kir.Value) (topKey, index *kir.Value) {
	top := s.most(key)
	least := s.most(s.Select(s.Eq(key, top), s.Sub(s.Int(-1), i), s.Int(math.MinInt32)))
	return top, s.Sub(s.Int(-1), least)
}

// order returns an i32 for an f32 such that larger numbers have larger ones, both zeros the same, and NaN the
// smallest. The bits of negative numbers fall as the numbers rise, so they are negated.
func (l *lowering) order(x *kir.Value) *kir.Value {
	bits := l.Bitcast(x, kir.Scalar(kir.I32))
	abs := l.And(bits, l.Int(math.MaxInt32))
	key := l.Select(l.Lt(bits, l.zero), l.Sub(l.zero, abs), bits)
	return l.Select(l.Lt(l.Int(0x7f800000), abs), l.Int(math.MinInt32), key)
}
