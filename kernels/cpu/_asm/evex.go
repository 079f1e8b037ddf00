package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// These are placeholders of instructions while registers are allocated. encodeUnknown then writes their
// bytes, as neither avo nor Go's assembler knows the instructions.
const (
	opDotBF16   = "VDPBF16PS"
	opPairsBF16 = "VCVTNE2PS2BF16"
	opDotVEX    = "VPDPBUSD_VEX" // of AVX-VNNI; Go's assembler knows that of AVX-512
)

// unknown is how they are encoded, all in opcode map 0F38 with W0.
var unknown = map[string]struct{ prefix, opcode byte }{
	opDotBF16:   {prefixF3, opcodeDot},
	opPairsBF16: {prefixF2, opcodePairs},
}

// The prefixes that a field of two bits encodes (Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2, 2.7, "EVEX").
const (
	prefix66 = 1
	prefixF3 = 2
	prefixF2 = 3
)

// opcodeDot is that of VDPBF16PS (with F3: EVEX.512.F3.0F38.W0 52 /r) and of VPDPWSSD
// (with 66), which Go's assembler knows and a test compares with.
const opcodeDot = 0x52

// opcodePairs is that of VCVTNE2PS2BF16 (EVEX.512.F2.0F38.W0 72 /r).
const opcodePairs = 0x72

// opcodeDotBytes is that of VPDPBUSD (VEX.256.66.0F38.W0 50 /r).
const opcodeDotBytes = 0x50

// dotBF16 adds to each float32 of acc the products of two bfloat16 of u with two of x:
//
//	acc = round(acc + u[1]·x[1]), then acc = round(acc + u[0]·x[0])
//
// to nearest, ties to even; denormal operands count as zero and denormal results become
// zero, independently of MXCSR (Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2, VDPBF16PS).
func (g *generator) dotBF16(x operand.Op, u, acc reg.VecVirtual) {
	g.Instruction(&ir.Instruction{
		Opcode:   opDotBF16,
		Operands: []operand.Op{x, u, acc},
		Inputs:   []operand.Op{x, u, acc},
		Outputs:  []operand.Op{acc},
		ISA:      []string{"AVX512_BF16"},
	})
}

// toBF16Words sets to to 32 bfloat16: those of low's float32, then those of high's, rounded to nearest,
// ties to even; denormals become zero, and a NaN stays one (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 2, VCVTNE2PS2BF16).
func (g *generator) toBF16Words(low, high, to reg.VecVirtual) {
	g.Instruction(&ir.Instruction{
		Opcode:   opPairsBF16,
		Operands: []operand.Op{low, high, to},
		Inputs:   []operand.Op{low, high},
		Outputs:  []operand.Op{to},
		ISA:      []string{"AVX512_BF16"},
	})
}

// encodeUnknown replaces instructions that the assembler does not know by their bytes.
func encodeUnknown(file *ir.File, amxOps map[string]amxOp) error {
	for _, f := range file.Functions() {
		var nodes []ir.Node
		for _, n := range f.Nodes {
			i, ok := n.(*ir.Instruction)
			if !ok {
				nodes = append(nodes, n)
				continue
			}
			code, err := encode(i, amxOps)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", f.Name, i.Opcode, err)
			}
			if code == nil {
				nodes = append(nodes, n)
				continue
			}
			nodes = append(nodes, bytesOf(i, code)...)
		}
		f.Nodes = nodes
	}
	return nil
}

// encode returns the bytes of an instruction that the assembler does not know; nil if it does.
func encode(i *ir.Instruction, amxOps map[string]amxOp) ([]byte, error) {
	if u, ok := unknown[i.Opcode]; ok {
		code, err := evex512(u.prefix, u.opcode, i.Operands)
		return code[:], err
	}
	if i.Opcode == opDotVEX {
		code, err := vex256(prefix66, opcodeDotBytes, i.Operands)
		return code[:], err
	}
	if op, ok := amxOps[i.Opcode]; ok {
		return encodeAMX(op, i.Operands)
	}
	return nil, nil
}

// bytesOf returns the directives that write the bytes of an instruction, with what they mean as a
// comment.
func bytesOf(i *ir.Instruction, code []byte) []ir.Node {
	var text []string
	for _, op := range i.Operands {
		text = append(text, op.Asm())
	}
	nodes := []ir.Node{ir.NewComment(strings.TrimSpace(i.Opcode + " " + strings.Join(text, ", ")))}
	for len(code) > 0 {
		directive := &ir.Instruction{}
		switch {
		case len(code) >= 4:
			directive.Opcode, directive.Operands = "LONG", []operand.Op{operand.U32(binary.LittleEndian.Uint32(code))}
			code = code[4:]
		case len(code) >= 2:
			directive.Opcode, directive.Operands = "WORD", []operand.Op{operand.U16(binary.LittleEndian.Uint16(code))}
			code = code[2:]
		default:
			directive.Opcode, directive.Operands = "BYTE", []operand.Op{operand.U8(code[0])}
			code = nil
		}
		nodes = append(nodes, directive)
	}
	return nodes
}

// registers returns the numbers of three vector registers of size bytes, which are the operands in Go's order: field
// r/m, field vvvv, and the destination in field reg.
func registers(ops []operand.Op, size uint) (rm, vvvv, dst byte, err error) {
	var n [3]byte
	for i, op := range ops {
		r, ok := op.(reg.Physical)
		if !ok || r.Kind() != reg.KindVector || r.Size() != size {
			return 0, 0, 0, fmt.Errorf("operand %d is %s, no register of %d bits", i, op.Asm(), 8*size)
		}
		n[i] = byte(r.PhysicalIndex())
	}
	return n[0], n[1], n[2], nil
}

// inverted returns bit from of v, inverted, as bit to.
func inverted(v byte, from, to int) byte { return (^v >> from & 1) << to }

// map0F38 is the number of an opcode map.
const map0F38 = 2

// vex256 encodes an instruction of three 256-bit registers in opcode map 0F38 with W0 (Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2, 2.3.5, "The VEX Prefix").
func vex256(prefix, opcode byte, ops []operand.Op) (code [5]byte, err error) {
	rm, vvvv, dst, err := registers(ops, 32)
	if err != nil {
		return code, err
	}
	const length256, noIndex = 1 << 2, 1 << 6
	return [5]byte{
		0xc4,
		inverted(dst, 3, 7) | noIndex | inverted(rm, 3, 5) | map0F38,
		(^vvvv&15)<<3 | length256 | prefix,
		opcode,
		3<<6 | dst&7<<3 | rm&7,
	}, nil
}

// evex512 encodes an instruction of three 512-bit registers in opcode map 0F38 with W0:
// operands in Go's order, the last being the destination (field reg), the one before it
// field vvvv, the first field r/m. Fields that extend register numbers are inverted.
func evex512(prefix, opcode byte, ops []operand.Op) (code [6]byte, err error) {
	rm, vvvv, dst, err := registers(ops, 64)
	if err != nil {
		return code, err
	}
	const length512 = 2 << 5
	return [6]byte{
		0x62,
		inverted(dst, 3, 7) | inverted(rm, 4, 6) | inverted(rm, 3, 5) | inverted(dst, 4, 4) | map0F38,
		(^vvvv&15)<<3 | 1<<2 | prefix,
		length512 | inverted(vvvv, 4, 3),
		opcode,
		3<<6 | dst&7<<3 | rm&7,
	}, nil
}
