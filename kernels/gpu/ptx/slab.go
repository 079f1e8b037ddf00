package ptx

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Section numbers in this file are those of "PTX ISA", version 8.7: 7.6 does not have these instructions.
//
// A slab is the accumulators of wgmma.mma_async.m64nNk16 (9.7.15.5.1.1): a thread has N/2 f32. With warp = the warp in
// its group of four, group = lane/4 and pair = lane%4, register 4*c+2*h+i is in row 16*warp + group + 8*h and in column
// 8*c + 2*pair + i. So eight of them are a tile_sum.

// slab prints an operation on slabs.
func (e *emitter) slab(i *kir.Instr) {
	switch i.Op {
	case kir.OpSlabFill:
		for _, d := range e.define(i.Result()) {
			e.ins("mov.f32", d, e.lane(i.Args[0]))
		}
	case kir.OpSlabMulAdd:
		e.slabProduct(i)
	case kir.OpSlabFence: // (9.7.15.7.1)
		e.ins("wgmma.fence.sync.aligned")
	case kir.OpSlabCommit: // (9.7.15.7.2)
		e.ins("wgmma.commit_group.sync.aligned")
	case kir.OpSlabWait: // (9.7.15.7.3)
		e.ins("wgmma.wait_group.sync.aligned", fmt.Sprint(i.Imm))
	case kir.OpSlabPublish:
		// Products read shared memory by the async proxy, and this orders what a thread stored before them (9.7.15.4,
		// 9.7.13.4). Their end needs no such fence.
		e.ins("fence.proxy.async.shared::cta")
	case kir.OpSlabTile:
		e.alias(i.Result(), e.lanes(i.Args[0])[8*i.Imm:][:8])
	}
}

// slabProduct prints a product (9.7.15.5.2). Its sums stay in their registers. The operands after the descriptors: the
// sums are added to, neither factor is negated, and neither is transposed, so that lines of both are along k.
func (e *emitter) slabProduct(i *kir.Instr) {
	sums, k := e.lanes(i.Args[2]), i.Shared.Elem.Kind
	a, b := e.descriptor(i, i.Args[0]), e.descriptor(i, i.Args[1])
	add := e.set("pred", "mov.pred", "1")
	op := fmt.Sprintf("wgmma.mma_async.sync.aligned.m%dn%dk%d.f32.%v.%v", kir.SlabRows, i.Result().Type.Cols, kir.SlabDepth, k, k)
	e.ins(op, pack(sums), a, b, add, "1", "1", "0", "0")
	e.alias(i.Result(), sums)
}

// descriptor returns the matrix descriptor of the factor from an element on (9.7.15.5.1.2). Numbers of bytes are in
// units of 16, in 14 bits:
//
//	bits  0 to 13: the address
//	bits 16 to 29: from the first 8 elements of lines to the next 8, which is the leading dimension byte offset
//	bits 32 to 45: from 8 lines to the next 8, which is the stride dimension byte offset
//	bits 49 to 51: 0, and bits 62 to 63: 0, as there is no swizzling
//
// Without swizzling, 8 lines of 8 elements are 128 contiguous bytes (9.7.15.5.1.2).
func (e *emitter) descriptor(i *kir.Instr, index *kir.Value) string {
	bytes := i.Shared.Elem.Bytes()
	across, down := i.SlabStrides()
	base := e.set("u32", "mov.u32", sharedName(i.Shared))
	address := e.set("u32", "mad.lo.u32", e.lane(index), fmt.Sprint(bytes), base)
	low := e.set("u64", "cvt.u64.u32", e.set("u32", "bfe.u32", address, "4", "14"))
	return e.set("u64", "or.b64", low, fmt.Sprint(uint64(across*bytes/16)<<16|uint64(down*bytes/16)<<32))
}
