package interp

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// sharedArray is an array in the memory of a workgroup.
type sharedArray struct {
	*kir.Shared
	values []uint64 // lanes of all elements
	seen   [2][]access
	copied []access // the copies under way to each element

	// Of kernels with slabs; else nil.
	published []publication
	products  []int32 // under way that read each element
}

// lanesOf returns the lanes of an element.
func (s *sharedArray) lanesOf(index int) []uint64 {
	return s.values[index*s.Elem.Lanes:][:s.Elem.Lanes]
}

// forget drops the accesses of a group that has ended.
func (s *sharedArray) forget() {
	clear(s.seen[reads])
	clear(s.seen[writes])
	clear(s.copied)
	clear(s.published)
	clear(s.products)
}

// element checks and records an access to the element of shared memory that register a names, and returns the lanes;
// nil after a fault.
func (g *group) element(t *thread, in *inst, m mode) []uint64 {
	index := int(int32(t.registers[in.a]))
	if !g.touch(t, in, index, m, g.access(t)) {
		return nil
	}
	return g.shared[in.shared].lanesOf(index)
}

// touch checks and records an access to an element of shared memory. It returns false after a fault.
func (g *group) touch(t *thread, in *inst, index int, m mode, me access) bool {
	s := &g.shared[in.shared]
	if index < 0 || index >= s.Len {
		g.fail(t, in, SharedBounds, "element %d of %s, which has %d", index, s.Name, s.Len)
		return false
	}
	if g.m.options.Checks == CheckBounds {
		return true
	}
	if a := s.copied[index]; a != 0 {
		g.fail(t, in, Race, "%v has not waited for its copy to element %d of %s", a, index, s.Name)
		return false
	}
	if m == writes && s.products != nil && s.products[index] > 0 {
		g.fail(t, in, Race, "a product that was not waited for reads element %d of %s", index, s.Name)
		return false
	}
	for other := reads; other <= writes; other++ {
		if a := s.seen[other][index]; (m == writes || other == writes) && a.unordered(me) {
			g.fail(t, in, Race, "element %d of %s is also %v by %v", index, s.Name, other, a)
			return false
		}
	}
	if m == reads && s.seen[writes][index] == 0 {
		g.fail(t, in, Uninitialised, "element %d of %s was never written", index, s.Name)
		return false
	}
	s.seen[m][index] = s.seen[m][index].with(me)
	return true
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
	g.stored(t, int(in.shared), int(int32(t.registers[in.a])))
	return g.accessed()
}
