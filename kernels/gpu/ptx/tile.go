package ptx

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// A tile is the fragments of mma.m16n8k16 (9.7.13.4). With group = lane/4 and pair = lane%4, a thread has
//
//	a tile_a    4 b32: rows group and group+8 of columns 2*pair and 2*pair+1, then of columns 2*pair+8 and 2*pair+9
//	a tile_b    4 b32: of column group rows 2*pair and 2*pair+1, then 2*pair+8 and 2*pair+9; then of column group+8
//	a tile_sum  8 f32: of row group columns 2*pair and 2*pair+1, then of row group+8; then the same 8 columns further
//
// So the columns of a tile_b and of a tile_sum are in two halves, and a product is two instructions.

// tile prints an operation on tiles.
func (e *emitter) tile(i *kir.Instr) {
	switch i.Op {
	case kir.OpTileFill:
		x := e.lane(i.Args[0])
		e.alias(i.Result(), []string{x, x, x, x, x, x, x, x})
	case kir.OpTileMulAdd:
		e.multiply(i)
	case kir.OpTileLoad:
		e.loadTile(i)
	case kir.OpTileSharedStore:
		e.sharedSum("st.shared", i, e.lanes(i.Args[1]))
	default:
		if i.Result().Type.Tile == kir.TileSum {
			e.sharedSum("ld.shared", i, e.define(i.Result()))
			return
		}
		e.loadMatrix(i)
	}
}

// multiply prints a product.
func (e *emitter) multiply(i *kir.Instr) {
	k := i.Args[0].Type.Kind
	a, b, c, d := e.lanes(i.Args[0]), e.lanes(i.Args[1]), e.lanes(i.Args[2]), e.define(i.Result())
	op := fmt.Sprintf("mma.sync.aligned.m16n8k16.row.col.f32.%v.%v.f32", k, k)
	for half := range 2 {
		e.ins(op, pack(d[4*half:4*half+4]), pack(a), pack(b[2*half:2*half+2]), pack(c[4*half:4*half+4]))
	}
}

// place is which bytes of a tile in memory a thread accesses first, as the number of a line and bytes in it.
type place struct{ line, bytes string }

// laneIndex returns the thread's index in its warp.
func (e *emitter) laneIndex() string {
	return e.set("u32", "and.b32", e.set("u32", "mov.u32", "%tid.x"), fmt.Sprint(warp-1))
}

// fragment returns the place of the thread's first elements where a line is a row of a tile_a or tile_sum, or a column
// of a tile_b: line group, and 2*pair elements.
func (e *emitter) fragment(elem int) place {
	lane := e.laneIndex()
	pair := e.set("u32", "and.b32", lane, "3")
	return place{e.set("u32", "shr.u32", lane, "2"), e.set("u32", "mul.lo.u32", pair, fmt.Sprint(2*elem))}
}

// matrixRow returns the place of the 8 elements whose address a thread gives to ldmatrix.x4. Threads 8*m to 8*m+7 give
// those of matrix m, whose elements are in register m of each thread. Matrices 0 and 1 of a tile_a are 8 lines from
// each other, those of a tile_b 8 elements; of turned tiles it is the reverse.
func (e *emitter) matrixRow(linesFirst bool) place {
	lane := e.laneIndex()
	low, eighth := e.set("u32", "and.b32", lane, "7"), e.set("u32", "and.b32", lane, "8")
	fourth := e.set("u32", "shr.u32", e.set("u32", "and.b32", lane, "16"), "1") // 8 or 0
	lines, elems := fourth, eighth
	if linesFirst {
		lines, elems = eighth, fourth
	}
	return place{e.set("u32", "or.b32", low, lines), e.set("u32", "shl.b32", elems, "1")}
}

// loadMatrix prints the load of a factor from shared memory. With .trans a thread gets two elements of a column of each
// matrix instead of two of a row.
func (e *emitter) loadMatrix(i *kir.Instr) {
	turned := i.Op == kir.OpTileTurned
	p := e.matrixRow((i.Result().Type.Tile == kir.TileA) != turned)
	trans := map[bool]string{true: ".trans"}[turned]
	e.ins("ldmatrix.sync.aligned.m8n8.x4"+trans+".shared.b16", pack(e.define(i.Result())), "["+e.inShared(i, p)+"]")
}

// inShared returns the address of a place of a tile in a shared array.
func (e *emitter) inShared(i *kir.Instr, p place) string {
	from := e.set("u32", "add.u32", e.element(i), p.bytes)
	return e.set("u32", "mad.lo.u32", p.line, fmt.Sprint(int(i.Imm)*i.Shared.Elem.Bytes()), from)
}

// sharedSum prints loads or stores of a tile of sums.
func (e *emitter) sharedSum(op string, i *kir.Instr, registers []string) {
	address := e.inShared(i, e.fragment(4))
	stride := int(i.Imm) * i.Shared.Elem.Bytes()
	for n, pair := range sumPairs(stride) {
		operands := []string{pack(registers[2*n : 2*n+2]), at(address, pair)}
		if op == "st.shared" {
			operands[0], operands[1] = operands[1], operands[0]
		}
		e.ins(op+".v2.f32", operands...)
	}
}

// sumPairs returns how many bytes each two registers of a tile_sum are from the first ones in memory.
func sumPairs(stride int) []int { return []int{0, 8 * stride, 32, 8*stride + 32} }

// loadTile prints loads of a tile from device memory.
func (e *emitter) loadTile(i *kir.Instr) {
	t := i.Result().Type
	stride, p := int(i.Imm)*t.Kind.Bytes(), e.fragment(t.Kind.Bytes())
	from := e.set("u64", "add.u64", e.lane(i.Args[0]), e.set("u64", "cvt.u64.u32", p.bytes))
	address := e.set("u64", "add.u64", from, e.set("u64", "mul.wide.u32", p.line, fmt.Sprint(stride)))
	d := e.define(i.Result())
	if t.Tile == kir.TileSum {
		for n, pair := range sumPairs(stride) {
			e.ins("ld.global.v2.f32", pack(d[2*n:2*n+2]), at(address, pair))
		}
		return
	}
	bytes := []int{0, 8 * stride, 16, 8*stride + 16}
	if t.Tile == kir.TileB {
		bytes[1], bytes[2] = bytes[2], bytes[1]
	}
	for n, b := range bytes {
		e.ins("ld.global.b32", d[n], at(address, b))
	}
}
