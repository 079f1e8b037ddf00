package interp

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// sharedArray is an array in the memory of a workgroup.
type sharedArray struct {
	*kir.Shared
	values []uint64 // lanes of all elements
	seen   [2][]access
}

// element checks and records an access to shared memory, and returns the lanes; nil after a fault.
func (g *group) element(t *thread, in *inst, m mode) []uint64 {
	s := &g.shared[in.shared]
	index := int32(t.registers[in.a])
	if index < 0 || int(index) >= s.Len {
		g.fail(t, in, SharedBounds, "element %d of %s, which has %d", index, s.Name, s.Len)
		return nil
	}
	me := g.access(t)
	for other := reads; other <= writes; other++ {
		if a := s.seen[other][index]; (m == writes || other == writes) && a.unordered(me) {
			g.fail(t, in, Race, "element %d of %s is also %v by %v", index, s.Name, other, a)
			return nil
		}
	}
	if m == reads && s.seen[writes][index] == 0 {
		g.fail(t, in, Uninitialised, "element %d of %s was never written", index, s.Name)
		return nil
	}
	s.seen[m][index] = s.seen[m][index].with(me)
	at := int(index) * s.Elem.Lanes
	return s.values[at : at+s.Elem.Lanes]
}

func stepSharedLoad(g *group, t *thread, in *inst) signal {
	e := g.element(t, in, reads)
	if e == nil {
		return failed
	}
	copy(t.registers[in.dst:], e)
	return g.accessed()
}

func stepSharedStore(g *group, t *thread, in *inst) signal {
	e := g.element(t, in, writes)
	if e == nil {
		return failed
	}
	copy(e, t.registers[in.b:])
	return g.accessed()
}
