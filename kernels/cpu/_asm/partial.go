package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Sums of float32 are made of partial sums: the products of partLen of k are added up from zero, and then the partial
// sum to the total. The rounding errors of a chain of n additions grow like √n: with parts of p it is √p and √(n/p)
// instead.
const (
	partLen     = 16
	longPartLen = 64 // of rows of at least longRow
	longRow     = 1024
)

// totals holds the totals of partial sums: as many as possible in registers, the others in the frame. Partial sums
// begin with products that are not added to anything.
type totals struct {
	*generator
	sums      []reg.VecVirtual // partial sums
	registers []reg.VecVirtual // of the first totals
	frame     reg.GPVirtual    // where the others are
}

// newTotals makes totals that are zero, with so many spare registers.
func (g *generator) newTotals(sums []reg.VecVirtual, spare int) *totals {
	t := &totals{generator: g, sums: sums}
	zero := g.vec()
	g.zero(zero)
	for range min(len(sums), spare) {
		v := g.vec()
		g.VMOVAPS(zero, v)
		t.registers = append(t.registers, v)
	}
	if left := len(sums) - len(t.registers); left > 0 {
		t.frame = g.GP64()
		g.LEAQ(g.local(left*g.bytes()+g.bytes()).Offset(g.bytes()-1), t.frame)
		g.ANDQ(operand.I8(int8(-g.bytes())), t.frame)
	}
	for i := len(t.registers); i < len(sums); i++ {
		g.VMOVUPS(zero, t.at(i))
	}
	return t
}

// local returns room in the frame, the same for all of a function. The first of a function needs the most.
func (g *generator) local(size int) operand.Mem {
	if g.frame == nil {
		m := g.AllocLocal(size)
		g.frame = &m
	}
	return *g.frame
}

// at is where total i is in the frame.
func (t *totals) at(i int) operand.Mem {
	return operand.Mem{Base: t.frame, Disp: (i - len(t.registers)) * t.bytes()}
}

// fold adds the partial sums to the totals.
func (t *totals) fold() {
	for i, s := range t.sums {
		if i < len(t.registers) {
			t.VADDPS(s, t.registers[i], t.registers[i])
			continue
		}
		t.VADDPS(t.at(i), s, s)
		t.VMOVUPS(s, t.at(i))
	}
}

// finish adds the totals to the partial sums.
func (t *totals) finish() {
	for i, s := range t.sums {
		if i < len(t.registers) {
			t.VADDPS(t.registers[i], s, s)
		} else {
			t.VADDPS(t.at(i), s, s)
		}
	}
}

// inParts runs body for each part of n of at most length, between which the totals take up the partial sums; n is
// positive and is used up. body uses its count up, and begins the partial sums anew.
func (t *totals) inParts(n reg.GPVirtual, length operand.Op, body func(count reg.GPVirtual)) {
	part, done := t.label("part"), t.label("partsDone")
	count := t.GP64()
	t.Label(part)
	t.MOVQ(length, count)
	t.CMPQ(n, count)
	t.CMOVQLT(n, count)
	t.SUBQ(count, n)
	body(count)
	t.TESTQ(n, n)
	t.JZ(operand.LabelRef(done))
	t.fold()
	t.JMP(operand.LabelRef(part))
	t.Label(done)
	t.finish()
}

// partOf returns the length of parts of rows of k.
func (g *generator) partOf(k reg.GPVirtual) reg.GPVirtual {
	length, long := g.GP64(), g.GP64()
	g.MOVQ(operand.U32(partLen), length)
	g.MOVQ(operand.U32(longPartLen), long)
	g.CMPQ(k, operand.U32(longRow))
	g.CMOVQGE(long, length)
	return length
}

// product is what a step does with a product: multiply or multiplyAdd. x is a register or, with AVX-512, memory of
// which one float32 serves all lanes.
type product func(x operand.Op, w, sum reg.VecVirtual)

// multiply begins a sum.
func (g *generator) multiply(x operand.Op, w, sum reg.VecVirtual) {
	if _, ok := x.(operand.Mem); ok {
		g.VMULPS_BCST(x, w, sum)
		return
	}
	g.VMULPS(x, w, sum)
}

// multiplyAdd continues a sum.
func (g *generator) multiplyAdd(x operand.Op, w, sum reg.VecVirtual) {
	if _, ok := x.(operand.Mem); ok {
		g.VFMADD231PS_BCST(x, w, sum)
		return
	}
	g.VFMADD231PS(x, w, sum)
}
