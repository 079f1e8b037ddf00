package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var zmm = []reg.Physical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
	reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20,
	reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// TestEVEX compares with Go's assembler: VPDPWSSD, which it knows, differs from what it
// does not know in prefix and opcode alone.
func TestEVEX(t *testing.T) {
	var text, want bytes.Buffer
	text.WriteString("TEXT ·f(SB), 4, $0\n")
	for i := range 3 * len(zmm) {
		ops := []operand.Op{zmm[i%32], zmm[(i*7+i/32)%32], zmm[(i*13+5)%32]}
		fmt.Fprintf(&text, "\tVPDPWSSD %s, %s, %s\n", ops[0].Asm(), ops[1].Asm(), ops[2].Asm())
		code, err := evex512(prefix66, opcodeDot, ops)
		if err != nil {
			t.Fatal(err)
		}
		want.Write(code[:])
		for name, u := range unknown {
			other, err := evex512(u.prefix, u.opcode, ops)
			if err != nil {
				t.Fatal(err)
			}
			if other[2] != code[2]^prefix66^u.prefix || other[4] != u.opcode {
				t.Errorf("%s %v: prefix or opcode: % x, % x", name, ops, code, other)
			}
			other[2], other[4] = code[2], code[4]
			if other != code {
				t.Errorf("%s %v: prefix and opcode are not the only difference", name, ops)
			}
		}
	}
	text.WriteString("\tRET\n")
	if object := assemble(t, text.Bytes()); !bytes.Contains(object, want.Bytes()) {
		t.Errorf("Go's assembler writes other bytes than\n% x", want.Bytes())
	}
}

var ymm = []reg.Physical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

// TestVEX compares with Go's assembler: VPMADDUBSW (VEX.256.66.0F38 04 /r), which it knows, differs from VPDPBUSD in opcode
// alone.
func TestVEX(t *testing.T) {
	const opcodePairsOfBytes = 0x04
	var text, want bytes.Buffer
	text.WriteString("TEXT ·f(SB), 4, $0\n")
	for i := range 16 * len(ymm) {
		ops := []operand.Op{ymm[i%16], ymm[(i*7+i/16)%16], ymm[(i*11+5+i/48)%16]}
		fmt.Fprintf(&text, "\tVPMADDUBSW %s, %s, %s\n", ops[0].Asm(), ops[1].Asm(), ops[2].Asm())
		code, err := vex256(prefix66, opcodePairsOfBytes, ops)
		if err != nil {
			t.Fatal(err)
		}
		want.Write(code[:])
	}
	text.WriteString("\tRET\n")
	if object := assemble(t, text.Bytes()); !bytes.Contains(object, want.Bytes()) {
		t.Errorf("Go's assembler writes other bytes than\n% x", want.Bytes())
	}
	for _, ops := range [][]operand.Op{{reg.Y0, reg.Y1, reg.Z2}, {operand.Mem{Base: reg.RAX}, reg.Y1, reg.Y2}, {reg.RAX, reg.Y1, reg.Y2}} {
		if _, err := vex256(prefix66, opcodeDotBytes, ops); err == nil {
			t.Errorf("%v is encoded", ops)
		}
	}
}

// assemble returns the object file of a text for amd64.
func assemble(t *testing.T, text []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	source, object := filepath.Join(dir, "f.s"), filepath.Join(dir, "f.o")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "asm", "-p", "f", "-o", object, source)
	cmd.Env = append(os.Environ(), "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEVEXRefuses(t *testing.T) {
	for _, ops := range [][]operand.Op{
		{reg.Z0, reg.Z1, reg.Y2},
		{operand.Mem{Base: reg.RAX}, reg.Z1, reg.Z2},
		{reg.RAX, reg.Z1, reg.Z2},
	} {
		if _, err := evex512(prefixF3, opcodeDot, ops); err == nil {
			t.Errorf("%v is encoded", ops)
		}
	}
}
