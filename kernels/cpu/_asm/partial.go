package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Sums of float32 are made of partial sums: the products of partLen of k are added up from zero, and then the partial sum
// to the total. The rounding errors of a chain of n additions grow like √n: with parts of p it is √p and √(n/p) instead.
const (
	partLen     = 16
	longPartLen = 64 // of rows of at least longRow
	longRow     = 1024
)

// totals holds the totals of partial sums, in registers or in the frame.
type totals struct {
	*generator
	sums      []reg.VecVirtual // partial sums
	registers []reg.VecVirtual // totals; nil: in the frame
	frame     reg.GPVirtual
}

// noSplitFrame is how large a frame may be in functions without a check of the stack: the linker allows 800 bytes for
// all of a chain of calls.
const noSplitFrame = 640

// newTotals makes totals that are zero, as sums are, in registers if there are so many spare ones.
func (g *generator) newTotals(sums []reg.VecVirtual, spare int) *totals {
	t := &totals{generator: g, sums: sums}
	if len(sums) <= spare {
		t.registers = g.vecs(len(sums))
		for i, s := range sums {
			g.VMOVAPS(s, t.registers[i]) // an instruction that clears would make it live from the function's start
		}
		return t
	}
	t.frame = g.GP64()
	g.LEAQ(g.local(len(sums)*g.bytes()+g.bytes()).Offset(g.bytes()-1), t.frame)
	g.ANDQ(operand.I8(int8(-g.bytes())), t.frame)
	for i := range sums {
		g.VMOVUPS(sums[i], t.at(i))
	}
	return t
}

// local returns room in the frame, the same for all of a function. The first of a function needs the most.
func (g *generator) local(size int) operand.Mem {
	if g.frame == nil {
		m := g.AllocLocal(size)
		g.frame = &m
	}
	if size > noSplitFrame {
		g.Attributes(attr.Attribute(0))
	}
	return *g.frame
}

// at is where total i is in the frame.
func (t *totals) at(i int) operand.Mem { return operand.Mem{Base: t.frame, Disp: i * t.bytes()} }

// fold adds the partial sums to the totals and clears them.
func (t *totals) fold() {
	for i, s := range t.sums {
		if t.registers != nil {
			t.VADDPS(s, t.registers[i], t.registers[i])
			continue
		}
		t.VADDPS(t.at(i), s, s)
		t.VMOVUPS(s, t.at(i))
	}
	t.zero(t.sums...)
}

// finish adds the totals to the partial sums.
func (t *totals) finish() {
	for i, s := range t.sums {
		if t.registers != nil {
			t.VADDPS(t.registers[i], s, s)
		} else {
			t.VADDPS(t.at(i), s, s)
		}
	}
}

// inParts runs body for each part of n of at most length, between which the totals take up the partial sums; n is
// positive and is used up. body uses its count up.
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
