package main

import "github.com/mmcloughlin/avo/reg"

// generateFeature makes the two instructions that feature detection needs callable.
func generateFeature(g *generator) {
	g.function("cpuid", []string{"cpuid executes CPUID for leaf eaxIn, subleaf ecxIn."},
		words("eax", "ebx", "ecx", "edx"), words("eaxIn", "ecxIn"))
	g.Load(g.Param("eaxIn"), reg.EAX)
	g.Load(g.Param("ecxIn"), reg.ECX)
	g.CPUID()
	for _, r := range []struct {
		name string
		reg  reg.Register
	}{{"eax", reg.EAX}, {"ebx", reg.EBX}, {"ecx", reg.ECX}, {"edx", reg.EDX}} {
		g.Store(r.reg, g.Return(r.name))
	}
	g.RET()

	g.function("xgetbv", []string{"xgetbv reads the low half of extended control register 0: which register state",
		"the operating system saves. The processor must have OSXSAVE."}, words("eax"))
	g.XORL(reg.ECX, reg.ECX)
	g.XGETBV()
	g.Store(reg.EAX, g.Return("eax"))
	g.RET()
}
