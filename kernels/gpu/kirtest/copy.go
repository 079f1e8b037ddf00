package kirtest

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// copies copies elements of In to two shared arrays, asynchronously, and lets threads read what others copied. The
// second copy is under way while the first one is read. All threads of a workgroup have to run it.
func (g *generator) copies() {
	if g.diverged > 0 || g.o.Caps&kir.CapAsync == 0 {
		return
	}
	var arrays []*kir.Shared
	for range 2 {
		if a := g.copy(); a != nil {
			arrays = append(arrays, a)
		}
	}
	g.pool = append(g.pool, g.value(kir.Scalar(kir.F32), 0))
	for i, a := range arrays {
		g.CopyWait(len(arrays) - 1 - i)
		g.Barrier()
		other := g.Rem(g.And(g.value(kir.Scalar(kir.I32), 1), g.Int(0xffff)), g.Int(a.Len))
		g.pool = append(g.pool, g.SharedLoad(a, other))
		g.Barrier()
	}
}

// copy begins a copy of a few bytes by each thread to a new array, as a group of its own. It returns nil if there is no
// room.
func (g *generator) copy() *kir.Shared {
	bytes := 4 << g.r.IntN(3)
	t := g.memoryType()
	for t.Bytes() > bytes {
		t = g.memoryType()
	}
	if !g.fits(g.o.Threads * bytes) {
		return nil
	}
	each := bytes / t.Bytes()
	array := g.array(t, g.o.Threads*each)
	from := g.Add(g.in, g.Bits(kir.U64, uint64(regionOf(t.Kind))))
	part := g.And(g.visible(kir.Scalar(kir.I32)), g.Int(elements*t.Kind.Bytes()/bytes-1))
	g.CopyAsync(array, g.Mul(g.thread, g.Int(each)), g.At(from, part, bytes), bytes)
	g.CopyCommit()
	return array
}
