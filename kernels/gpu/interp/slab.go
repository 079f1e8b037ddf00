package interp

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// A slab is spread over the registers of a workgroup: thread t has a half of row t/2.
const slabShare = kir.SlabThreads / kir.SlabRows // threads of a row

// slabs are the products of a workgroup that are under way, and what is known of its slabs by their first register.
type slabs struct {
	open   []product   // since the last commit
	groups [][]product // committed ones, the oldest first
	state  map[int32]*slabState
}

// slabState is what was done with a slab.
type slabState struct {
	unfenced bool // it was filled after the last fence
	products int  // that are under way
}

// product is a product that is under way. It was computed when it began; no thread may see that.
type product struct {
	in    *inst
	slab  *slabState
	x, y  int // the first elements of the factors
	lines int // of the second factor
}

// of returns the state of the slab whose first register in each thread is at.
func (s *slabs) of(at int32) *slabState {
	if s.state == nil {
		s.state = make(map[int32]*slabState)
	}
	if s.state[at] == nil {
		s.state[at] = new(slabState)
	}
	return s.state[at]
}

// slab makes an operation on slabs, which all threads of the workgroup have reached. It returns false after a fault.
func (g *group) slab(in *inst) bool {
	first := &g.threads[0]
	if !g.sameOperands(in) {
		return false
	}
	switch in.of.Op {
	case kir.OpSlabFill:
		return g.fillSlab(first, in)
	case kir.OpSlabMulAdd:
		return g.beginProduct(first, in)
	case kir.OpSlabFence:
		for _, s := range g.slabs.state {
			s.unfenced = false
		}
	case kir.OpSlabCommit:
		g.slabs.groups = append(g.slabs.groups, g.slabs.open)
		g.slabs.open = nil
	case kir.OpSlabWait:
		g.finishProducts(int(in.of.Imm))
	case kir.OpSlabTile:
		return g.tileOfSlab(first, in)
	}
	return true
}

// sameOperands checks that the numbers among the operands are the same in all threads.
func (g *group) sameOperands(in *inst) bool {
	for n, at := range []int32{in.a, in.b}[:min(len(in.of.Args), 2)] {
		if in.of.Args[n].Type.Tile != kir.NoTile {
			continue
		}
		first := &g.threads[0]
		for i := range g.threads {
			if x, y := first.registers[at], g.threads[i].registers[at]; x != y {
				g.fail(first, in, Slab, "operand %d is %d in thread 0 and %d in thread %d", n, x, y, i)
				return false
			}
		}
	}
	return true
}

func (g *group) fillSlab(first *thread, in *inst) bool {
	s := g.slabs.of(in.dst)
	if s.products > 0 {
		g.fail(first, in, Slab, "products of the slab are under way: no slab_wait has waited for them")
		return false
	}
	s.unfenced = true
	share := in.of.Result().Type.Cols / slabShare
	for i := range g.threads {
		r := g.threads[i].registers
		for n := range share {
			r[int(in.dst)+n] = r[in.a]
		}
	}
	return true
}

// lineElems are the elements of a line of a factor.
type lineElems [kir.SlabDepth]float32

// beginProduct adds a product to the slab in the registers from c on, and records it as one that is under way.
func (g *group) beginProduct(first *thread, in *inst) bool {
	p := product{in: in, slab: g.slabs.of(in.c), lines: in.of.Result().Type.Cols}
	p.x, p.y = int(int32(first.registers[in.a])), int(int32(first.registers[in.b]))
	if p.slab.unfenced {
		g.fail(first, in, Slab, "the slab was filled after the last slab_fence")
		return false
	}
	x, y := make([]lineElems, kir.SlabRows), make([]lineElems, p.lines)
	if !g.factor(first, in, p.x, x) || !g.factor(first, in, p.y, y) {
		return false
	}
	share := p.lines / slabShare
	for t := range g.threads {
		r := g.threads[t].registers
		for n := range share {
			sum := f32(r[int(in.c)+n])
			for k := range kir.SlabDepth {
				sum += float32(x[t/slabShare][k] * y[t%slabShare*share+n][k])
			}
			r[int(in.c)+n] = ofF32(sum)
		}
	}
	p.slab.products++
	g.slabs.open = append(g.slabs.open, p)
	return true
}

// eachOfFactor calls visit for each element of the array of a factor that begins at element from, with the line and the
// first of its elements there. It stops if visit returns false, and returns that.
func eachOfFactor(i *kir.Instr, from, lines int, visit func(index, line, e int) bool) bool {
	across, down := i.SlabStrides()
	lanes := i.Shared.Elem.Lanes
	for line := range lines {
		for e := 0; e < kir.SlabDepth; e += lanes {
			index := from + line/kir.SlabBlock*down + e/kir.SlabBlock*across
			index += (line%kir.SlabBlock*kir.SlabBlock + e%kir.SlabBlock) / lanes
			if !visit(index, line, e) {
				return false
			}
		}
	}
	return true
}

// factor reads a factor for a product. It returns false after a fault.
func (g *group) factor(t *thread, in *inst, from int, lines []lineElems) bool {
	s := &g.shared[in.shared]
	if from*s.Elem.Bytes()%16 != 0 {
		g.fail(t, in, Alignment, "element %d of %s is not at a multiple of 16 bytes", from, s.Name)
		return false
	}
	return eachOfFactor(in.of, from, len(lines), func(index, line, e int) bool {
		if !g.touch(t, in, index, reads, g.accessOfMany()) {
			return false
		}
		if g.m.options.Checks == CheckAll {
			if why := s.published[index].fault(g.phase); why != "" {
				g.fail(t, in, Slab, "element %d of %s %s", index, s.Name, why)
				return false
			}
			s.products[index]++
		}
		for lane, bits := range s.lanesOf(index) {
			lines[line][e+lane] = float32(toFloat(s.Elem.Kind, bits))
		}
		return true
	})
}

// finishProducts ends all groups of products but the last ones. The factors count as read now.
func (g *group) finishProducts(but int) {
	done := max(len(g.slabs.groups)-but, 0)
	for _, list := range g.slabs.groups[:done] {
		for _, p := range list {
			p.slab.products--
			g.released(p.in, p.x, kir.SlabRows)
			g.released(p.in, p.y, p.lines)
		}
	}
	g.slabs.groups = g.slabs.groups[done:]
}

// released records that a product reads a factor no more.
func (g *group) released(in *inst, from, lines int) {
	if g.m.options.Checks != CheckAll {
		return
	}
	s := &g.shared[in.shared]
	eachOfFactor(in.of, from, lines, func(index, _, _ int) bool {
		s.products[index]--
		s.seen[reads][index] = s.seen[reads][index].with(g.accessOfMany())
		return true
	})
}

// tileOfSlab gives each subgroup a tile of its rows.
func (g *group) tileOfSlab(first *thread, in *inst) bool {
	if g.slabs.of(in.a).products > 0 {
		g.fail(first, in, Slab, "products of the slab are under way: no slab_wait has waited for them")
		return false
	}
	share := in.of.Args[0].Type.Cols / slabShare
	for from := 0; from < len(g.threads); from += g.m.subgroup {
		threads := g.threads[from : from+g.m.subgroup]
		var m matrix
		for e := range m {
			row, col := e/kir.TileSize, int(in.of.Imm)*kir.TileSize+e%kir.TileSize
			m[e] = threads[row*slabShare+col/share].registers[int(in.a)+col%share]
		}
		m.scatter(threads, in.dst)
	}
	return true
}

// publication tells whether products may read an element of shared memory: 0 where nothing was stored, the thread + 1
// that stored it, or -1 minus the number of barriers before it was published.
type publication int

// fault returns why products of a phase must not read the element; empty if they may.
func (p publication) fault(phase int) string {
	switch {
	case p > 0:
		return "was not published: no slab_publish came after what the thread stored there"
	case p < 0 && int(-p-1) == phase:
		return "was published after the last barrier"
	}
	return ""
}

// place is an element of a shared array.
type place struct{ array, index int }

// stored records that a thread has stored an element.
func (g *group) stored(t *thread, array, index int) {
	if s := &g.shared[array]; s.published != nil {
		s.published[index] = publication(t.index + 1)
		t.stored = append(t.stored, place{array, index})
	}
}

// stepSlabPublish publishes what the thread has stored, and what it has copied and waited for.
func stepSlabPublish(g *group, t *thread, _ *inst) signal {
	for _, at := range t.stored {
		if p := &g.shared[at.array].published[at.index]; *p == publication(t.index+1) {
			*p = publication(-1 - g.phase)
		}
	}
	t.stored = t.stored[:0]
	return g.accessed()
}
