package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expandSuper generates the function for 256 bits that expands blocks of a panel: see superLayout.
func (g *generator) expandSuper(s *scheme) {
	name := "expand" + string(s.format) + g.isa.name
	g.function(name, []string{name + " expands blocks of a panel. See expandFunc."}, nil,
		pointers("dst", "panel"), integers("blocks"))
	b := g.newBlockSource(s, g.newRows(g.arg("panel"), nil, 1))
	e := &superExpansion{blockSource: b, layout: b.layout(), dst: g.newRows(g.arg("dst"), nil, 1)}
	g.eachBlock(e.block)
	g.ret()
}

// superExpansion is what the code for a block uses.
type superExpansion struct {
	*blockSource
	layout superLayout
	dst    rows
}

// block expands a block.
func (e *superExpansion) block() {
	var begin []reg.VecVirtual // what integer sums begin with, if there are magnitudes
	if e.layout.magnitudes {
		begin = e.vecs(e.halves())
		e.clear(begin...)
	}
	e.advance(e.w, e.head())
	e.overSuperParts(e.w, e.sub(), rows{}, func() {
		for h := range e.halves() {
			if begin != nil {
				e.magnitudes(h, begin[h])
			} else {
				e.bytesOf(0, h, func(j int, u reg.VecVirtual) { e.VMOVDQU(u, e.at(64*j, h)) })
			}
			for i := range e.groups() {
				e.storeScales(h, i)
			}
		}
		e.advance(e.dst, e.layout.partBytes())
	})
	for h := range e.halves() {
		if begin != nil {
			e.VMOVDQU(begin[h], e.at(0, h))
		}
		e.end(h)
	}
	e.advance(e.dst, e.layout.endBytes())
}

// at is the memory of vector h, disp bytes on.
func (e *superExpansion) at(disp, h int) operand.Mem { return e.dst.at(0, disp+h*e.bytes()) }

// storeScales stores the scales of group i of vector h.
func (e *superExpansion) storeScales(h, i int) {
	e.VMOVDQU(e.scalePairs(0, h, i), e.at(e.layout.scalesAt()+i*vectorSize, h))
}

// magnitudes stores the signs and magnitudes of vector h of a part, and adds to sum the scale times what the signs'
// error is.
func (e *superExpansion) magnitudes(h int, sum reg.VecVirtual) {
	half := e.newSigned(e.dst.bases[0], h)
	e.bytesOf(0, h, half.add)
	s := e.smallInts(e.scaleAt(0, h, 0))
	e.VPMULLD(s, half.negatives, half.negatives)
	e.VPADDD(half.negatives, sum, sum)
}

// end stores what is used at the end of the parts.
func (e *superExpansion) end(h int) {
	for i := range e.layout.pairs() {
		e.VMOVDQU(e.correction(0, h, i), e.at(e.layout.correctionAt(i), h))
	}
	e.VMOVUPS(e.headFloats(0, h*e.isa.lanes*2), e.at(e.layout.dAt(), h))
	if e.layout.mins {
		e.VMOVUPS(e.headFloats(0, 2*panelRows+h*e.isa.lanes*2), e.at(e.layout.mAt(), h))
	}
}
