package main

import (
	"bytes"
	"testing"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// TestAMX compares with GNU as 2.40, whose text is next to the bytes ({disp32} before those with memory).
func TestAMX(t *testing.T) {
	at := func(base, index reg.Register, disp int) []operand.Op {
		return []operand.Op{operand.Mem{Base: base, Index: index, Scale: 1, Disp: disp}}
	}
	load := func(to tmm) amxOp {
		return amxOp{prefix: prefixF2, opcode: opcodeTileMove, reg: to, memory: true}
	}
	store := func(from tmm) amxOp {
		return amxOp{prefix: prefixF3, opcode: opcodeTileMove, reg: from, memory: true}
	}
	product := func(acc, x, w tmm) amxOp {
		return amxOp{prefix: prefixF3, opcode: opcodeTileBF16, reg: acc, rm: x, vvvv: w}
	}
	config := amxOp{opcode: opcodeConfig, memory: true}
	for _, c := range []struct {
		text string
		op   amxOp
		ops  []operand.Op
		want []byte
	}{
		{"tileloadd 44(%rax,%rcx,1), %tmm3", load(3), at(reg.RAX, reg.RCX, 44), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x9c, 0x08, 0x2c, 0, 0, 0}},
		{"tileloadd 576(%r9,%r11,1), %tmm5", load(5), at(reg.R9, reg.R11, 576), []byte{0xc4, 0x82, 0x7b, 0x4b, 0xac, 0x19, 0x40, 0x02, 0, 0}},
		{"tileloadd (%rbp,%rdx,1), %tmm0", load(0), at(reg.RBP, reg.RDX, 0), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x84, 0x15, 0, 0, 0, 0}},
		{"tilestored %tmm6, -64(%rsp,%r15,1)", store(6), at(reg.RSP, reg.R15, -64), []byte{0xc4, 0xa2, 0x7a, 0x4b, 0xb4, 0x3c, 0xc0, 0xff, 0xff, 0xff}},
		{"tdpbf16ps %tmm6, %tmm4, %tmm0", product(0, 4, 6), nil, []byte{0xc4, 0xe2, 0x4a, 0x5c, 0xc4}},
		{"tdpbf16ps %tmm7, %tmm5, %tmm3", product(3, 5, 7), nil, []byte{0xc4, 0xe2, 0x42, 0x5c, 0xdd}},
		{"tdpbsud %tmm6, %tmm4, %tmm0", amxOp{prefix: prefixF3, opcode: opcodeTileInt8, reg: 0, rm: 4, vvvv: 6}, nil, []byte{0xc4, 0xe2, 0x4a, 0x5e, 0xc4}},
		{"tdpbssd %tmm7, %tmm5, %tmm3", amxOp{prefix: prefixF2, opcode: opcodeTileInt8, reg: 3, rm: 5, vvvv: 7}, nil, []byte{0xc4, 0xe2, 0x43, 0x5e, 0xdd}},
		{"tilezero %tmm5", amxOp{prefix: prefixF2, opcode: opcodeConfig, reg: 5}, nil, []byte{0xc4, 0xe2, 0x7b, 0x49, 0xe8}},
		{"ldtilecfg (%r12)", config, at(reg.R12, nil, 0), []byte{0xc4, 0xc2, 0x78, 0x49, 0x84, 0x24, 0, 0, 0, 0}},
		{"tilerelease", amxOp{opcode: opcodeConfig}, nil, []byte{0xc4, 0xe2, 0x78, 0x49, 0xc0}},
	} {
		if got, err := encodeAMX(c.op, c.ops); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: % x, %v, want % x", c.text, got, err, c.want)
		}
	}
	for _, ops := range [][]operand.Op{at(reg.RAX, reg.RSP, 0), at(reg.EAX, reg.RCX, 0), {reg.RAX}} {
		if code, err := encodeAMX(load(0), ops); err == nil {
			t.Errorf("%s is encoded as % x", ops[0].Asm(), code)
		}
	}
}
