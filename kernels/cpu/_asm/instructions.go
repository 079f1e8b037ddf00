package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// instructions are the methods of a build.Context that are used here, as functions. That has 3162 methods: each type that
// embeds it, here some 30, gets as many wrappers, and the package took two minutes to compile. Functions get none.
type instructions struct {
	GP32, GP64                 func() reg.GPVirtual
	K                          func() reg.OpmaskVirtual
	XMM, YMM, ZMM              func() reg.VecVirtual
	Attributes, DataAttributes func(a attr.Attribute)
	ConstraintExpr             func(expr string)
	Instruction                func(i *ir.Instruction)
	Function, Label            func(name string)
	Param, Return              func(name string) gotypes.Component
	StaticGlobal               func(name string) operand.Mem
	Signature                  func(s *gotypes.Signature)
	AllocLocal                 func(size int) operand.Mem
	Doc                        func(lines ...string)
	Result                     func() (*ir.File, error)
	AddDatum                   func(offset int, v operand.Constant)
	Load                       func(src gotypes.Component, dst reg.Register) reg.Register
	Store                      func(src reg.Register, dst gotypes.Component)

	CPUID, RET, VZEROUPPER, XGETBV                                                                          func()
	DECQ, INCQ, JEQ, JGE, JHI, JL, JLE, JMP, JNE, JNZ, JZ, NEGQ, PREFETCHT0, PREFETCHT1, VLDMXCSR, VSTMXCSR func(x operand.Op)
	IMULQ, SHLQ, SHRQ, VADDPD, VADDPS, VADDSS, VANDPS, VBLENDMPS, VBROADCASTSS, VCMPPS, VCMPSS, VCVTDQ2PS,
	VCVTPH2PS, VCVTPS2DQ, VCVTPS2PD, VCVTPS2PH, VCVTTPS2DQ, VDIVPS, VDIVSS, VEXTRACTF64X4,
	VFMADD213PS, VFMADD231PD, VFMADD231PS, VFMADD231PS_BCST, VFNMADD213PS, VFNMADD231PS, VMAXPS, VMINPS,
	VMOVAPS, VMOVDQU32, VMOVSD, VMOVSS, VMOVUPS, VMULPS, VMULPS_BCST, VORPS, VPABSB, VPACKSSDW, VPACKSSWB, VPACKUSDW,
	VPADDB, VPADDD, VPADDW, VPANDD, VPANDD_BCST, VPBROADCASTD, VPBROADCASTW, VPCMPGTB, VPERMD, VPERMILPD,
	VPERMILPS, VPERMQ, VPERMW, VPMADDUBSW, VPMADDWD, VPMAXSD, VPMOVDB, VPMOVDW, VPMOVSXBD, VPMOVZXBD,
	VPMOVZXWD, VPMULLD, VPMULLW, VPORD, VPSHUFB, VPSLLD, VPSLLD_BCST, VPSLLW, VPSRAD, VPSRLD, VPSRLW, VPSUBB,
	VPSUBD, VPTERNLOGD, VPUNPCKHWD, VPUNPCKLWD, VPXORD, VREDUCEPS, VRNDSCALEPS, VSCALEFPS, VSHUFF32X4, VSUBPS,
	VSUBPS_BCST, VSUBSS, VUNPCKHPD, VUNPCKHPS, VUNPCKLPD, VUNPCKLPS, VXORPS func(ops ...operand.Op)
	ADDQ, ANDQ, CMOVQEQ, CMOVQGE, CMOVQGT, CMOVQLT, CMPQ, KMOVW, LEAQ, MOVL, MOVQ, MOVWLZX, ORL, SUBQ, TESTQ,
	VMOVD, VMOVDQA, VMOVDQU, XCHGQ, XORL, XORQ func(y, z operand.Op)
	SHLXQ, VEXTRACTF128, VMASKMOVPS, VMOVAPS_Z, VMOVUPS_Z, VPAND, VPHADDW, VPOR, VPSIGNB, VPXOR, VROUNDPS func(x, y, z operand.Op)
	VBLENDVPS, VINSERTI128, VINSERTPS, VPBLENDW, VPERM2F128                                               func(w, x, y, z operand.Op)
}

// newInstructions returns those of a new context.
func newInstructions() instructions {
	c := build.NewContext()
	return instructions{
		AddDatum: c.AddDatum, AllocLocal: c.AllocLocal, Attributes: c.Attributes, ConstraintExpr: c.ConstraintExpr,
		DataAttributes: c.DataAttributes, Doc: c.Doc, Function: c.Function, GP32: c.GP32, GP64: c.GP64,
		Instruction: c.Instruction, K: c.K, Label: c.Label, Load: c.Load, Param: c.Param, Result: c.Result,
		Return: c.Return, Signature: c.Signature, StaticGlobal: c.StaticGlobal, Store: c.Store, XMM: c.XMM,
		YMM: c.YMM, ZMM: c.ZMM,

		ADDQ: c.ADDQ, ANDQ: c.ANDQ, CMOVQEQ: c.CMOVQEQ, CMOVQGE: c.CMOVQGE, CMOVQGT: c.CMOVQGT, CMOVQLT: c.CMOVQLT,
		CMPQ: c.CMPQ, CPUID: c.CPUID, DECQ: c.DECQ, IMULQ: c.IMULQ, INCQ: c.INCQ, JEQ: c.JEQ, JGE: c.JGE, JHI: c.JHI,
		JL: c.JL, JLE: c.JLE, JMP: c.JMP, JNE: c.JNE, JNZ: c.JNZ, JZ: c.JZ, KMOVW: c.KMOVW, LEAQ: c.LEAQ,
		MOVL: c.MOVL, MOVQ: c.MOVQ, MOVWLZX: c.MOVWLZX, NEGQ: c.NEGQ, ORL: c.ORL, PREFETCHT0: c.PREFETCHT0,
		PREFETCHT1: c.PREFETCHT1, RET: c.RET, SHLQ: c.SHLQ, SHLXQ: c.SHLXQ, SHRQ: c.SHRQ, SUBQ: c.SUBQ,
		TESTQ: c.TESTQ, VADDPD: c.VADDPD, VADDPS: c.VADDPS, VADDSS: c.VADDSS, VANDPS: c.VANDPS,
		VBLENDMPS: c.VBLENDMPS, VBLENDVPS: c.VBLENDVPS, VBROADCASTSS: c.VBROADCASTSS, VCMPPS: c.VCMPPS,
		VCMPSS: c.VCMPSS, VCVTDQ2PS: c.VCVTDQ2PS, VCVTPH2PS: c.VCVTPH2PS, VCVTPS2DQ: c.VCVTPS2DQ,
		VCVTPS2PD: c.VCVTPS2PD, VCVTPS2PH: c.VCVTPS2PH, VCVTTPS2DQ: c.VCVTTPS2DQ,
		VDIVPS: c.VDIVPS, VDIVSS: c.VDIVSS, VEXTRACTF128: c.VEXTRACTF128, VEXTRACTF64X4: c.VEXTRACTF64X4,
		VFMADD213PS: c.VFMADD213PS, VFMADD231PD: c.VFMADD231PD, VFMADD231PS: c.VFMADD231PS,
		VFMADD231PS_BCST: c.VFMADD231PS_BCST, VFNMADD213PS: c.VFNMADD213PS, VFNMADD231PS: c.VFNMADD231PS,
		VINSERTI128: c.VINSERTI128, VINSERTPS: c.VINSERTPS, VLDMXCSR: c.VLDMXCSR, VMASKMOVPS: c.VMASKMOVPS,
		VMAXPS: c.VMAXPS, VMINPS: c.VMINPS, VMOVAPS: c.VMOVAPS, VMOVAPS_Z: c.VMOVAPS_Z, VMOVD: c.VMOVD,
		VMOVDQA: c.VMOVDQA, VMOVDQU: c.VMOVDQU, VMOVDQU32: c.VMOVDQU32, VMOVSD: c.VMOVSD, VMOVSS: c.VMOVSS, VMOVUPS: c.VMOVUPS,
		VMOVUPS_Z: c.VMOVUPS_Z, VMULPS: c.VMULPS, VMULPS_BCST: c.VMULPS_BCST, VORPS: c.VORPS, VPABSB: c.VPABSB,
		VPACKSSDW: c.VPACKSSDW, VPACKSSWB: c.VPACKSSWB, VPACKUSDW: c.VPACKUSDW, VPADDB: c.VPADDB, VPADDD: c.VPADDD,
		VPADDW: c.VPADDW, VPAND: c.VPAND, VPANDD: c.VPANDD, VPANDD_BCST: c.VPANDD_BCST, VPBLENDW: c.VPBLENDW,
		VPBROADCASTD: c.VPBROADCASTD, VPBROADCASTW: c.VPBROADCASTW, VPCMPGTB: c.VPCMPGTB, VPERM2F128: c.VPERM2F128,
		VPERMD: c.VPERMD, VPERMILPD: c.VPERMILPD, VPERMILPS: c.VPERMILPS, VPERMQ: c.VPERMQ, VPERMW: c.VPERMW,
		VPHADDW: c.VPHADDW, VPMADDUBSW: c.VPMADDUBSW, VPMADDWD: c.VPMADDWD, VPMAXSD: c.VPMAXSD, VPMOVDB: c.VPMOVDB,
		VPMOVDW: c.VPMOVDW, VPMOVSXBD: c.VPMOVSXBD, VPMOVZXBD: c.VPMOVZXBD, VPMOVZXWD: c.VPMOVZXWD,
		VPMULLD: c.VPMULLD, VPMULLW: c.VPMULLW, VPOR: c.VPOR, VPORD: c.VPORD, VPSHUFB: c.VPSHUFB, VPSIGNB: c.VPSIGNB,
		VPSLLD: c.VPSLLD, VPSLLD_BCST: c.VPSLLD_BCST, VPSLLW: c.VPSLLW, VPSRAD: c.VPSRAD, VPSRLD: c.VPSRLD,
		VPSRLW: c.VPSRLW, VPSUBB: c.VPSUBB, VPSUBD: c.VPSUBD, VPTERNLOGD: c.VPTERNLOGD, VPUNPCKHWD: c.VPUNPCKHWD,
		VPUNPCKLWD: c.VPUNPCKLWD, VPXOR: c.VPXOR, VPXORD: c.VPXORD, VREDUCEPS: c.VREDUCEPS,
		VRNDSCALEPS: c.VRNDSCALEPS, VROUNDPS: c.VROUNDPS, VSCALEFPS: c.VSCALEFPS, VSHUFF32X4: c.VSHUFF32X4,
		VSTMXCSR: c.VSTMXCSR, VSUBPS: c.VSUBPS, VSUBPS_BCST: c.VSUBPS_BCST, VSUBSS: c.VSUBSS, VUNPCKHPD: c.VUNPCKHPD,
		VUNPCKHPS: c.VUNPCKHPS, VUNPCKLPD: c.VUNPCKLPD, VUNPCKLPS: c.VUNPCKLPS, VXORPS: c.VXORPS,
		VZEROUPPER: c.VZEROUPPER, XCHGQ: c.XCHGQ, XGETBV: c.XGETBV, XORL: c.XORL, XORQ: c.XORQ,
	}
}
