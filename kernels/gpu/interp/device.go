package interp

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// accessed returns the signal after an access to memory.
func (g *group) accessed() signal {
	g.m.left--
	if g.m.left > 0 {
		return proceed
	}
	return interrupted
}

func stepLoad(g *group, t *thread, in *inst) signal {
	data := g.device(t, in)
	if data == nil {
		return failed
	}
	width := in.kind.Bytes()
	for n := range int(in.lanes) {
		t.registers[int(in.dst)+n] = get(data[n*width:], in.kind)
	}
	return g.accessed()
}

func stepStore(g *group, t *thread, in *inst) signal {
	data := g.device(t, in)
	if data == nil {
		return failed
	}
	width := in.kind.Bytes()
	for n := range int(in.lanes) {
		put(data[n*width:], in.kind, t.registers[int(in.b)+n])
	}
	return g.accessed()
}

func stepAtomicAdd(g *group, t *thread, in *inst) signal {
	data := g.device(t, in)
	if data == nil {
		return failed
	}
	before := get(data, kir.U32)
	put(data, kir.U32, before+t.registers[in.b])
	t.registers[in.dst] = before
	return g.accessed()
}

// region is an allocation with the accesses of the launch.
type region struct {
	*allocation
	seen [numModes]pages
}

// device checks and records an access to device memory at the address in register a, and returns its bytes; nil after a
// fault.
func (g *group) device(t *thread, in *inst) []byte {
	return g.bytes(t, in, t.registers[in.a], int(in.size), g.access(t))
}

// bytes checks and records an access to device memory, and returns its bytes; nil after a fault.
func (g *group) bytes(t *thread, in *inst, address uint64, size int, me access) []byte {
	number, at, ok := g.m.memory.locate(address, size)
	switch {
	case !ok:
		g.fail(t, in, Bounds, "%d bytes at %#x: %s", size, address, g.m.memory.describe(number, at))
		return nil
	case at%size != 0:
		g.fail(t, in, Alignment, "byte %d of allocation %d is no multiple of %d", at, number, size)
		return nil
	}
	r := &g.m.regions[number]
	if g.m.options.Checks == CheckBounds {
		if in.mode == writes {
			r.define(at, size)
		}
		return r.data[at : at+size]
	}
	me = g.m.own(me)
	if kind, other, others := r.conflict(at, size, in.mode, me); kind != "" {
		g.fail(t, in, kind, "bytes %d to %d of allocation %d are also %v by %v", at, at+size-1, number, others, g.m.name(other))
		return nil
	}
	if in.mode != writes && !r.isDefined(at, size) {
		g.fail(t, in, Uninitialised, "byte %d of allocation %d was never written", r.firstUndefined(at, size), number)
		return nil
	}
	r.seen[in.mode].add(at, size, len(r.data), me)
	if in.mode == writes {
		r.define(at, size)
	}
	return r.data[at : at+size]
}

func (g *group) access(t *thread) access { return newAccess(g.index, g.phase, int(t.index)) }

// accessOfMany returns the access of several threads, of which it is not known who accesses what.
func (g *group) accessOfMany() access { return newAccess(g.index, g.phase, manyThreads) }

// conflict returns an earlier access that must not be together with access b, its mode and the kind of the fault.
func (r *region) conflict(at, size int, m mode, b access) (kind string, a access, other mode) {
	for _, other := range racing[m] {
		if a := r.seen[other].find(at, size, b, access.unordered); a != 0 {
			return Race, a, other
		}
	}
	for _, other := range forbidden[m] {
		if a := r.seen[other].find(at, size, b, access.any); a != 0 {
			return Uniform, a, other
		}
	}
	return "", 0, 0
}
