package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// stateWrite writes rows of tokens to their sequences and positions.
func stateWrite(l *lowering) {
	l.begin("state_write", elementThreads)
	w := &writer{l, l.operand(0), l.operand(1), l.operand(2), l.operand(3)}
	switch w.state.DType {
	case dtype.Q8_0:
		w.blocks(l.storeQ8_0)
		return
	case dtype.Q4_0:
		w.blocks(l.storeQ4_0)
		return
	}
	each := 1
	if l.prepareRuns(w.x, runLen) && l.prepareRuns(w.state, runLen) {
		each = runLen
	}
	count := units(w.x.Elems(), each)
	l.perThread(l.size(count), elementThreads, func(i *kir.Value) {
		c := l.coords(l.Mul(i, l.Int(each)), w.x.shape)
		from, to := l.element(w.x, c), w.to(c)
		if each == 1 {
			l.store(w.state, to, l.load(w.x, from))
			return
		}
		l.storeRun(w.state, to, l.loadRun(w.x, from, each))
	})
	l.end(units(count, elementThreads))
}

// writer is the kernel of a state_write.
type writer struct {
	*lowering
	state, x, slot, pos *tensor
}

// to returns the number of the element of the state for the coordinates of one in x.
func (w *writer) to(c []*kir.Value) *kir.Value {
	s, p := w.loadI32(w.slot, w.element(w.slot, c[:1])), w.loadI32(w.pos, w.element(w.pos, c[:1]))
	return w.element(w.state, []*kir.Value{s, c[1], w.ringRow(w.state, p), c[2]})
}

// ringRow returns the row of a position in a cache, which may be a ring.
func (l *lowering) ringRow(cache *tensor, p *kir.Value) *kir.Value {
	if ir.RingOf(l.n) == 0 {
		return p
	}
	return l.Rem(p, cache.shape[2])
}

// blocks writes a state of a block format, a block in each thread. store stores block b of y.
func (w *writer) blocks(store func(y *tensor, b *kir.Value, x []*kir.Value)) {
	runs := w.prepareRuns(w.x, runLen)
	count := w.x.Elems().CeilDiv(blockLen)
	w.perThread(w.size(count), elementThreads, func(b *kir.Value) {
		c := w.coords(w.Mul(b, w.Int(blockLen)), w.x.shape)
		x := w.loadBlock(w.x, w.element(w.x, c), runs)
		store(w.state, w.Div(w.to(c), w.Int(blockLen)), x)
	})
	w.end(units(count, elementThreads))
}
