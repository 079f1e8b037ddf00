// Command asm writes tile_amd64.s and its stub with avo.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	rows  = 4  // rows of c in one tile
	vecs  = 2  // vectors of 8 columns in one tile
	width = 32 // bytes of one vector
)

func main() {
	ConstraintExpr("amd64")

	TEXT("tileAVX", NOSPLIT, "func(k int, a *float32, ars, acs int, panel, c *float32, ldc int)")
	Pragma("noescape")
	Doc("tileAVX is addGo for a tile of 4 rows and 16 columns.",
		"Products are rounded before they are added: the result is addGo's to the bit.")
	k := Load(Param("k"), GP64())
	acc := accumulators()
	productLoop(k, acc)
	addToC(acc)
	VZEROUPPER()
	RET()
	Generate()
}

func accumulators() (acc [rows][vecs]VecVirtual) {
	for i := range acc {
		for j := range acc[i] {
			acc[i][j] = YMM()
			VXORPS(acc[i][j], acc[i][j], acc[i][j])
		}
	}
	return acc
}

// productLoop adds one outer product of a column of a and a row of the panel
// for each of the k steps.
func productLoop(k Register, acc [rows][vecs]VecVirtual) {
	a := Load(Param("a"), GP64())
	ars := Load(Param("ars"), GP64())
	acs := Load(Param("acs"), GP64())
	panel := Load(Param("panel"), GP64())
	ars3 := GP64()
	LEAQ(Mem{Base: ars, Index: ars, Scale: 2}, ars3)
	SHLQ(Imm(2), acs)

	Label("step")
	TESTQ(k, k)
	JZ(LabelRef("done"))
	var b [vecs]VecVirtual
	for j := range b {
		b[j] = YMM()
		VMOVUPS(Mem{Base: panel, Disp: j * width}, b[j])
	}
	element := [rows]Mem{
		{Base: a},
		{Base: a, Index: ars, Scale: 4},
		{Base: a, Index: ars, Scale: 8},
		{Base: a, Index: ars3, Scale: 4},
	}
	for i, e := range element {
		x, product := YMM(), YMM()
		VBROADCASTSS(e, x)
		for j := range b {
			VMULPS(x, b[j], product)
			VADDPS(product, acc[i][j], acc[i][j])
		}
	}
	ADDQ(Imm(vecs*width), panel)
	ADDQ(acs, a)
	DECQ(k)
	JMP(LabelRef("step"))
	Label("done")
}

func addToC(acc [rows][vecs]VecVirtual) {
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	SHLQ(Imm(2), ldc)
	for i := range acc {
		for j, sum := range acc[i] {
			at := Mem{Base: c, Disp: j * width}
			VADDPS(at, sum, sum)
			VMOVUPS(sum, at)
		}
		if i < rows-1 {
			ADDQ(ldc, c)
		}
	}
}
