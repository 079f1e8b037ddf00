package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// levelAMX is the suffix of tiles that use tile registers.
const levelAMX = "AMX"

const (
	tileRows = 16 // of a tile register at most
	tileLine = 64 // bytes of a row of it at most
)

// amxTiles generates the tiles of bfloat16 in tile registers, for k a multiple of 32. A panel's 16
// lines of pairs are an operand of TDPBF16PS as they are in memory. All tiles have the same order of
// sums, which is not that of bf16Tiles: in each step those of even k and those of odd k are summed
// separately.
func amxTiles(g *generator) {
	for _, rows := range []int{32, 16, 8, 4, 2} {
		g.amxTile(&tile{rows: rows, panels: 2})
		g.amxTile(&tile{rows: rows, panels: 1})
		g.amxTile(&tile{rows: rows, panels: 2, swiglu: true})
	}
	for _, t := range []tile{{panels: 4}, {panels: 2}, {panels: 1}, {panels: 2, swiglu: true}, {panels: 4, swiglu: true}} {
		g.amxRow(&t)
	}
}

// amxRow is a tile of one row, in vector registers. Its sums are those of TDPBF16PS to the bit. An iteration
// of its loop takes four lines of each panel: memory delivers less if it takes a KiB at once.
func (g *generator) amxRow(t *tile) {
	t.format, t.isa, t.level, t.rows = formatBF16, avx512, levelAMX, 1
	g.begin(t)
	w, x, rounds := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks")
	s := g.newSums(t)
	upper := g.upperHalves(t)
	old := g.flushDenormals()
	prefetch := g.newPrefetchHalves(t, w, pairsOnce*lineBytes)

	loop, done := g.label("loop"), g.label("done")
	g.SHRQ(operand.U8(5), rounds)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	odd, even := g.newSums(t), g.newSums(t)
	left, part := g.GP64(), g.label("part")
	g.MOVQ(operand.U32(tileRows/pairsOnce), left)
	g.Label(part)
	prefetch()
	for i := range pairsOnce {
		g.bf16Halves(odd, even, w, x, upper, i)
	}
	g.advance(w, pairsOnce*lineBytes)
	g.advance(x, pairsOnce*pairBytes)
	g.DECQ(left)
	g.JNZ(operand.LabelRef(part))
	for p := range t.panels {
		g.VADDPS(odd[0][p][0], even[0][p][0], even[0][p][0])
		g.VADDPS(even[0][p][0], s[0][p][0], s[0][p][0])
	}
	g.DECQ(rounds)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.VLDMXCSR(old)
	g.finish(t, s)
}

// flushDenormals makes what is denormal count as zero, until the state that it returns is loaded
// again.
func (g *generator) flushDenormals() operand.Mem {
	const denormalsAreZero, flushToZero = 1 << 6, 1 << 15
	at := g.AllocLocal(8)
	old, changed, state := at, at.Offset(4), g.GP32()
	g.VSTMXCSR(old)
	g.MOVL(old, state)
	g.ORL(operand.U32(denormalsAreZero|flushToZero), state)
	g.MOVL(state, changed)
	g.VLDMXCSR(changed)
	return old
}

// amxBlock is what the code of a tile in tile registers uses.
type amxBlock struct {
	*generator
	*tile
	groups        int             // of 16 rows
	x             []reg.GPVirtual // of each group
	w             []reg.GPVirtual // of each panel
	xStride, line reg.GPVirtual   // of rows of x; of lines of panels and of results
	next, apart   reg.GPVirtual   // see ask; from a panel to that of the other weight
}

// sum is the register of a group's sums with a panel, row that of a group of x, column that of a panel;
// many panels share the remaining registers.
func (b *amxBlock) sum(group, panel int) tmm { return tmm(group*b.panels + panel) }
func (b *amxBlock) row(group int) tmm        { return tmm(b.groups*b.panels + group) }
func (b *amxBlock) column(panel int) tmm {
	first := b.groups*b.panels + b.groups
	return tmm(first + panel%(8-first))
}

// amxTile walks along k once, with all sums in tile registers.
func (g *generator) amxTile(t *tile) {
	t.format, t.isa, t.level = formatBF16, avx512, levelAMX
	g.begin(t)
	g.Attributes(0) // the stack may have to grow: results take some KiB of it
	b := &amxBlock{generator: g, tile: t, groups: (t.rows + tileRows - 1) / tileRows}
	b.configure()
	b.addresses()
	rounds, loop, done := g.arg("blocks"), g.label("loop"), g.label("done")
	g.SHRQ(operand.U8(5), rounds)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	b.ask(b.tile, b.next, rows{stride: b.apart}, tileRows*tileLine)
	b.step()
	g.DECQ(rounds)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	b.finish()
}

// configure gives sums and rows of x as many rows as the tile has.
func (b *amxBlock) configure() {
	sizes := make([]tileSize, 8)
	for i := range sizes {
		sizes[i] = tileSize{tileRows, tileLine}
		if i < b.groups*b.panels+b.groups {
			sizes[i].rows = min(b.rows, tileRows)
		}
	}
	b.configureTiles(sizes)
}

func (b *amxBlock) addresses() {
	b.line = b.GP64()
	b.MOVQ(operand.U32(tileLine), b.line)
	b.x, b.xStride = []reg.GPVirtual{b.arg("x")}, b.arg("xStride")
	if b.groups > 1 {
		second := b.GP64()
		b.MOVQ(b.xStride, second)
		b.SHLQ(operand.U8(4), second)
		b.ADDQ(b.x[0], second)
		b.x = append(b.x, second)
	}
	b.w, b.next = []reg.GPVirtual{b.arg("w")}, b.newAsk(b.tile)
	if b.swiglu {
		b.apart = b.arg("up")
		b.w = append(b.w, b.GP64())
		b.MOVQ(b.apart, b.w[1])
		b.SUBQ(b.w[0], b.apart)
		return
	}
	for p := 1; p < b.panels; p++ {
		next := b.arg("panelBytes")
		b.ADDQ(b.w[p-1], next)
		b.w = append(b.w, next)
	}
}

// step adds the products of 32 of k.
func (b *amxBlock) step() {
	for group, x := range b.x {
		b.loadTile(b.row(group), x, b.xStride, 0)
		b.ADDQ(operand.U8(tileLine), x)
	}
	for p, w := range b.w {
		b.loadTile(b.column(p), w, b.line, 0)
		b.ADDQ(operand.U32(tileRows*tileLine), w)
		for group := range b.groups {
			b.multiplyBF16(b.sum(group, p), b.row(group), b.column(p))
		}
	}
}

// finish writes the sums, by way of the stack: rows of a panel follow each other there.
func (b *amxBlock) finish() {
	panel := b.rows * tileLine
	at := b.GP64()
	b.LEAQ(b.AllocLocal(b.panels*panel+lineBytes).Offset(lineBytes-1), at)
	b.ANDQ(operand.I8(-lineBytes), at)
	for group := range b.groups {
		for p := range b.panels {
			b.storeTile(b.sum(group, p), at, b.line, p*panel+group*tileRows*tileLine)
		}
	}
	b.releaseTiles()
	last := b.lastPanel(0, 1)
	if b.swiglu {
		b.writeRows(at, last, plainOutput)
		b.ret()
		return
	}
	plain, done, res := b.label("plain"), b.label("written"), b.arg("res")
	b.TESTQ(res, res)
	b.JZ(operand.LabelRef(plain))
	b.writeRows(at, last, withResidual)
	b.JMP(operand.LabelRef(done))
	b.Label(plain)
	b.writeRows(at, last, plainOutput)
	b.Label(done)
	b.ret()
}

// output is what is written of a product.
type output uint8

const (
	plainOutput  output = iota
	withResidual        // added to the argument res
)

// writeRows writes the rows at from.
func (b *amxBlock) writeRows(from reg.GPVirtual, last []mask, to output) {
	stride, dst := b.arg("dstStride"), b.arg("dst")
	var res reg.GPVirtual
	if to == withResidual {
		res = b.arg("res")
	}
	left, loop := b.GP64(), b.label("row")
	b.MOVQ(operand.U32(uint32(b.rows)), left)
	b.Label(loop)
	for p := range b.results() {
		var k *mask
		if p == b.results()-1 {
			k = &last[0]
		}
		disp, v := p*tileLine, b.vec()
		b.VMOVUPS(operand.Mem{Base: from, Disp: p * b.rows * tileLine}, v)
		if b.swiglu {
			b.silu(v)
			b.VMULPS(operand.Mem{Base: from, Disp: b.rows * tileLine}, v, v)
		}
		if to == withResidual {
			old := b.vec()
			b.load(operand.Mem{Base: res, Disp: disp}, k, old)
			b.VADDPS(old, v, v)
		}
		b.store(v, k, operand.Mem{Base: dst, Disp: disp})
	}
	b.ADDQ(operand.U8(tileLine), from)
	b.ADDQ(stride, dst)
	if to == withResidual {
		b.ADDQ(stride, res)
	}
	b.DECQ(left)
	b.JNZ(operand.LabelRef(loop))
}
