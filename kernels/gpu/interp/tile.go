package interp

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// A tile is spread over the registers of its subgroup: of n threads, thread e mod n has element e, which is in row
// e/16.
const tileElems = kir.TileSize * kir.TileSize

// matrix is a tile with its elements in one place, row by row.
type matrix [tileElems]uint64

// gather returns the tile whose first register in each thread is at; scatter is the reverse.
func gather(threads []thread, at int32) (m matrix) {
	for e := range m {
		m[e] = threads[e%len(threads)].registers[int(at)+e/len(threads)]
	}
	return m
}

func (m *matrix) scatter(threads []thread, at int32) {
	for e, x := range m {
		threads[e%len(threads)].registers[int(at)+e/len(threads)] = x
	}
}

// tile makes an operation on tiles, which all threads of a subgroup have reached. It returns false after a fault.
func (g *group) tile(threads []thread, in *inst) bool {
	first := &threads[0]
	if in.of.Op != kir.OpTileMulAdd {
		for i := range threads {
			if a, b := first.registers[in.a], threads[i].registers[in.a]; a != b {
				g.fail(first, in, Subgroup, "operand 0 is %d in thread %d and %d in thread %d", a, first.index, b, threads[i].index)
				return false
			}
		}
	}
	var m matrix
	ok := true
	switch in.of.Op {
	case kir.OpTileFill:
		for e := range m {
			m[e] = first.registers[in.a]
		}
	case kir.OpTileMulAdd:
		m = multiply(gather(threads, in.a), gather(threads, in.b), gather(threads, in.c), in.of.Args[0].Type.Kind)
	case kir.OpTileLoad:
		ok = g.loadTile(first, in, &m)
	case kir.OpTileSharedStore:
		m = gather(threads, in.b)
		return g.sharedTile(first, in, writes, func(e int, x *uint64) { *x = m[e] })
	default:
		ok = g.sharedTile(first, in, reads, func(e int, x *uint64) { m[e] = *x })
	}
	m.scatter(threads, in.dst)
	return ok
}

// multiply returns a*b + c. Products are exact: f16 and bf16 have at most 11 bits. They are added in the order of k.
func multiply(a, b, c matrix, k kir.Kind) (m matrix) {
	x, y := a.numbers(k), b.numbers(k)
	for e := range m {
		row, col, sum := e/kir.TileSize, e%kir.TileSize, f32(c[e])
		for n := range kir.TileSize {
			sum += float32(x[row*kir.TileSize+n] * y[n*kir.TileSize+col])
		}
		m[e] = ofF32(sum)
	}
	return m
}

func (m *matrix) numbers(k kir.Kind) (x [tileElems]float32) {
	for e := range m {
		x[e] = float32(toFloat(k, m[e]))
	}
	return x
}

// element returns which element of a tile is at position n of a line.
func element(i *kir.Instr, line, n int) int {
	use := kir.TileSum
	if r := i.Result(); r != nil {
		use = r.Type.Tile
	}
	if (use == kir.TileB) != (i.Op == kir.OpTileTurned) { // lines are columns
		line, n = n, line
	}
	return line*kir.TileSize + n
}

// sharedTile calls visit for each element of a tile in shared memory. It returns false after a fault.
func (g *group) sharedTile(t *thread, in *inst, m mode, visit func(e int, x *uint64)) bool {
	s := &g.shared[in.shared]
	lanes, from := s.Elem.Lanes, int(int32(t.registers[in.a]))
	if from*s.Elem.Bytes()%16 != 0 {
		g.fail(t, in, Alignment, "element %d of %s is not at a multiple of 16 bytes", from, s.Name)
		return false
	}
	for line := range kir.TileSize {
		for n := 0; n < kir.TileSize; n += lanes {
			index := from + line*int(in.of.Imm) + n/lanes
			if !g.touch(t, in, index, m, g.accessOfMany()) {
				return false
			}
			for l := range lanes {
				visit(element(in.of, line, n+l), &s.lanesOf(index)[l])
			}
		}
	}
	return true
}

// loadTile loads a tile from device memory.
func (g *group) loadTile(t *thread, in *inst, m *matrix) bool {
	const piece = 16 // bytes, of which addresses are multiples
	kind := in.of.Result().Type.Kind
	width := kind.Bytes()
	for line := range kir.TileSize {
		from := t.registers[in.a] + uint64(line)*in.of.Imm*uint64(width)
		for at := 0; at < kir.TileSize*width; at += piece {
			data := g.bytes(t, in, from+uint64(at), piece, g.accessOfMany())
			if data == nil {
				return false
			}
			for n := range piece / width {
				m[element(in.of, line, at/width+n)] = get(data[n*width:], kind)
			}
		}
	}
	return true
}
