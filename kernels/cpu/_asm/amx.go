package main

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tile registers (AMX) are eight matrices of up to 16 rows of 64 bytes, whose sizes a function
// sets for itself. Neither avo nor Go's assembler knows their instructions: like those of evex.go
// they have names here until encodeUnknown writes their bytes. Which tile register an instruction
// takes is part of its name, as avo allocates none (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 1, 18; volume 2, the instructions).

// tmm is the number of a tile register.
type tmm byte

// amxOp is an instruction on tile registers: VEX-encoded, in opcode map 0F38 with W0 and L0.
type amxOp struct {
	name           string
	prefix, opcode byte
	reg, rm, vvvv  tmm  // as far as it has them
	memory         bool // its rm is memory
}

const (
	prefixNone = 0

	opcodeConfig   = 0x49 // LDTILECFG (memory), TILERELEASE, TILEZERO (F2)
	opcodeTileMove = 0x4b // TILELOADD (F2), TILESTORED (F3)
	opcodeTileBF16 = 0x5c // TDPBF16PS (F3)
	opcodeTileInt8 = 0x5e // TDPBSUD (F3), TDPBSSD (F2)
)

// amx adds an instruction, with the memory that it reads or writes if it has some.
func (g *generator) amx(op amxOp, m ...operand.Mem) {
	opcode := op.name
	if op.name != "LDTILECFG" && op.name != "TILERELEASE" {
		opcode = fmt.Sprintf("%s_%d_%d_%d", op.name, op.reg, op.rm, op.vvvv)
	}
	op.memory = len(m) > 0
	g.amxOps[opcode] = op
	i := &ir.Instruction{Opcode: opcode, ISA: []string{"AMX"}}
	for _, at := range m {
		i.Operands, i.Inputs = append(i.Operands, at), append(i.Inputs, at)
	}
	g.Instruction(i)
}

// loadTile reads rows of a tile register, at distances of stride bytes.
func (g *generator) loadTile(t tmm, base, stride reg.Register, disp int) {
	g.amx(amxOp{name: "TILELOADD", prefix: prefixF2, opcode: opcodeTileMove, reg: t}, operand.Mem{Base: base, Index: stride, Scale: 1, Disp: disp})
}

// storeTile writes rows of a tile register, at distances of stride bytes.
func (g *generator) storeTile(t tmm, base, stride reg.Register, disp int) {
	g.amx(amxOp{name: "TILESTORED", prefix: prefixF3, opcode: opcodeTileMove, reg: t}, operand.Mem{Base: base, Index: stride, Scale: 1, Disp: disp})
}

// multiplyBF16 adds to each float32 of acc the products of a row of pairs of bfloat16 of x with a
// column of pairs of w. Products of even k and products of odd k are summed separately, each in order from zero;
// then both sums are added, and their sum is added to acc. All operations round to nearest, ties to even, and denormals
// count as zero.
func (g *generator) multiplyBF16(acc, x, w tmm) {
	g.amx(amxOp{name: "TDPBF16PS", prefix: prefixF3, opcode: opcodeTileBF16, reg: acc, rm: x, vvvv: w})
}

// multiplyUnsignedWeights adds to each integer of acc the products of a row of signed bytes of x with a column of unsigned
// bytes of w, which are in words of four.
func (g *generator) multiplyUnsignedWeights(acc, x, w tmm) {
	g.amx(amxOp{name: "TDPBSUD", prefix: prefixF3, opcode: opcodeTileInt8, reg: acc, rm: x, vvvv: w})
}

// multiplySignedWeights is multiplyUnsignedWeights for signed bytes of w.
func (g *generator) multiplySignedWeights(acc, x, w tmm) {
	g.amx(amxOp{name: "TDPBSSD", prefix: prefixF2, opcode: opcodeTileInt8, reg: acc, rm: x, vvvv: w})
}

// zeroTile clears a tile register.
func (g *generator) zeroTile(t tmm) {
	g.amx(amxOp{name: "TILEZERO", prefix: prefixF2, opcode: opcodeConfig, reg: t})
}

// releaseTiles gives all tile registers back: what the system saves of a thread then leaves them out.
func (g *generator) releaseTiles() {
	g.amx(amxOp{name: "TILERELEASE", opcode: opcodeConfig})
}

// tileSize is the rows and the bytes of a row that a tile register has.
type tileSize struct{ rows, bytes int }

// fullTiles returns the largest sizes of all tile registers.
func fullTiles() []tileSize {
	return slices.Repeat([]tileSize{{tileRows, tileLine}}, 8)
}

// configureTiles sets the sizes of all tile registers, from 0 on, and clears them.
func (g *generator) configureTiles(sizes []tileSize) {
	var config [64]byte
	config[0] = 1 // the palette
	name := "tiles"
	for i, s := range sizes {
		binary.LittleEndian.PutUint16(config[16+2*i:], uint16(s.bytes))
		config[48+i] = byte(s.rows)
		name += fmt.Sprintf("_%dx%d", s.rows, s.bytes)
	}
	at := g.GP64()
	g.LEAQ(g.table(name, 16, func(i int) uint32 { return binary.LittleEndian.Uint32(config[4*i:]) }), at)
	g.amx(amxOp{name: "LDTILECFG", opcode: opcodeConfig}, operand.Mem{Base: at})
}

// encodeAMX returns the bytes of an instruction on tile registers. Memory has a base, an index
// unless nothing has one, and always a displacement of 32 bits.
func encodeAMX(op amxOp, ops []operand.Op) ([]byte, error) {
	const map0F38 = 2
	if !op.memory {
		modrm := 3<<6 | byte(op.reg)<<3 | byte(op.rm)
		return []byte{0xc4, 0xe0 | map0F38, (^byte(op.vvvv)&15)<<3 | op.prefix, op.opcode, modrm}, nil
	}
	m, ok := ops[0].(operand.Mem)
	if !ok {
		return nil, fmt.Errorf("operand is %s, not memory", ops[0].Asm())
	}
	base, err := gpNumber(m.Base)
	if err != nil {
		return nil, err
	}
	index := byte(4) // none
	if m.Index != nil {
		if index, err = gpNumber(m.Index); err != nil {
			return nil, err
		}
		if index == 4 || m.Scale != 1 {
			return nil, fmt.Errorf("%s: such an index cannot be encoded", m.Asm())
		}
	}
	const disp32, sib = 2 << 6, 4
	code := []byte{
		0xc4, 1<<7 | (^index>>3&1)<<6 | (^base>>3&1)<<5 | map0F38, 15<<3 | op.prefix, op.opcode,
		disp32 | byte(op.reg)<<3 | sib, index&7<<3 | base&7,
	}
	return binary.LittleEndian.AppendUint32(code, uint32(int32(m.Disp))), nil
}

// gpNumber returns the number by which instructions name a general register.
func gpNumber(r reg.Register) (byte, error) {
	p, ok := r.(reg.Physical)
	if !ok || p.Kind() != reg.KindGP || p.Size() != 8 {
		return 0, fmt.Errorf("%v is no 64-bit register", r)
	}
	return byte(p.PhysicalIndex()), nil
}
