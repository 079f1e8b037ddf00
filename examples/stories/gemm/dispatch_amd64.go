package gemm

import "golang.org/x/sys/cpu"

var haveTile = cpu.X86.HasAVX

func tile(k int, a *float32, ars, acs int, panel, c *float32, ldc int) {
	tileAVX(k, a, ars, acs, panel, c, ldc)
}
