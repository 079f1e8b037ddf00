package kir

import "slices"

// Numbers of the factors of a product of slabs.
const (
	SlabDepth = 16 // elements of a line of a factor
	SlabBlock = 8  // lines of a block of a factor, and elements of a line of it
)

// SlabStrides returns the elements of the array from one block of a factor to the next: across, from the first 8
// elements of its lines to the other ones; down, from 8 lines to the next 8.
func (i *Instr) SlabStrides() (across, down int) { return int(uint32(i.Imm)), int(i.Imm >> 32) }

// slab checks the signature of an operation on slabs.
func (v *verifier) slab(i *Instr) {
	v.must(v.k.Threads == SlabThreads, "a slab belongs to %d threads, the workgroup has %d", SlabThreads, v.k.Threads)
	switch i.Op {
	case OpSlabFill:
		v.shape(i, 1, 1)
		v.is(i, 0, Scalar(F32))
		v.must(i.resultType().isSlab(), "a %v is no slab", i.resultType())
	case OpSlabMulAdd:
		v.slabProduct(i)
	case OpSlabTile:
		v.shape(i, 1, 1)
		t := i.argType(0)
		v.must(t.isSlab(), "operand 0 is a %v", t)
		v.must(i.Imm < uint64(t.Cols/TileSize), "a %v has no tile %d", t, i.Imm)
		v.result(i, Tile(F32, TileSum))
	case OpSlabWait:
		v.shape(i, 0, 0)
		v.must(i.Imm < maxGroups, "%d groups: at most %d stay under way", i.Imm, maxGroups-1)
	default:
		v.shape(i, 0, 0)
	}
}

// slabProduct checks a product.
func (v *verifier) slabProduct(i *Instr) {
	v.shape(i, 3, 1)
	if !slices.Contains(v.k.Shared, i.Shared) {
		v.fail("accesses a shared array that the kernel does not have")
		return
	}
	k := i.Shared.Elem.Kind
	v.must(k == F16 || k == BF16, "%s has elements of %v: factors are of f16 or bf16", i.Shared.Name, i.Shared.Elem)
	v.is(i, 0, Scalar(I32))
	v.is(i, 1, Scalar(I32))
	v.must(i.argType(2).isSlab(), "operand 2 is a %v", i.argType(2))
	v.result(i, i.argType(2))
	across, down := i.SlabStrides()
	v.blockStride(i, "across", across)
	v.blockStride(i, "down", down)
}

// maxBlockStride bounds the bytes from one block of a factor to the next: what shared memory has at most, so that no
// sum of two overflows.
const maxBlockStride = maxShared

// blockStride checks the elements from one block of a factor to another.
func (v *verifier) blockStride(i *Instr, way string, elems int) {
	if elems > maxBlockStride {
		v.fail("the stride %s of %d is too large", way, elems)
		return
	}
	bytes, block := elems*i.Shared.Elem.Bytes(), SlabBlock*SlabBlock*i.Shared.Elem.Kind.Bytes()
	v.must(bytes >= block && bytes <= maxBlockStride, "the stride %s of %d bytes is not that of blocks of %d", way, bytes, block)
	v.must(bytes%16 == 0, "the stride %s of %d bytes is no multiple of 16", way, bytes)
}

// wholeGroup checks that all threads of a workgroup make an operation on slabs, with equal operands besides slabs.
func (v *verifier) wholeGroup(i *Instr) {
	v.must(v.diverged == perGroup, "not all threads of the workgroup may reach it")
	for n, a := range i.Args {
		v.must(a.Type.Tile == TileSlab || v.varies[a] == perGroup, "operand %d may differ between the threads of the workgroup", n)
	}
	if i.Op == OpSlabMulAdd {
		v.consume(i.Args[2])
	}
}

// slabUses is what the verifier knows of a slab: the value that it began as, in which block, and how it was used.
type slabUses struct {
	root     *Value
	depth    int // of the block that defines it
	consumed bool
	read     bool
}

// begins records a slab that is not the continuation of another one.
func (v *verifier) begins(x *Value) { v.slabs[x] = &slabUses{root: x, depth: v.depth} }

// consume records that a slab continues as another value. It is changed in its place, so nothing else uses it.
func (v *verifier) consume(x *Value) {
	s := v.slabs[x]
	if s == nil {
		return // it is not defined, which was reported
	}
	v.must(!s.consumed && !s.read, "%%%s is used twice: a slab that is added to is used by nothing else", x.Name)
	v.must(s.depth == v.depth, "%%%s is from another block: the slabs that a loop adds to are carried", x.Name)
	s.consumed = true
}

// readSlab records that a slab is read.
func (v *verifier) readSlab(x *Value) {
	if s := v.slabs[x]; s != nil {
		v.must(!s.consumed, "%%%s is used twice: a slab that is added to is used by nothing else", x.Name)
		s.read = true
	}
}

// defineSlab records a slab that an instruction defines.
func (v *verifier) defineSlab(i *Instr) {
	switch i.Op {
	case OpSlabFill:
		v.begins(i.Result())
	case OpSlabMulAdd:
		if from := v.slabs[i.Args[2]]; from != nil {
			v.slabs[i.Result()] = &slabUses{root: from.root, depth: v.depth}
		}
	case OpSlabTile:
		v.readSlab(i.Args[0])
	}
}

// carriedSlabs checks the slabs that a loop begins with.
func (v *verifier) carriedSlabs(i *Instr) {
	for n, p := range i.Body.Params[1:] {
		if p != nil && p.Type.Tile == TileSlab {
			v.consume(i.Args[3+n])
		}
	}
}

// yieldedSlabs checks that a loop yields each slab in the place in which it is carried, since it is changed there.
func (v *verifier) yieldedSlabs(i *Instr) {
	for n, r := range i.Results {
		if r == nil || r.Type.Tile != TileSlab {
			continue
		}
		s := v.slabs[i.Body.Yield[n]]
		v.must(s != nil && s.root == i.Body.Params[1+n], "result %d is a slab that the body does not continue", n)
		if s != nil {
			v.must(!s.consumed && !s.read, "%%%s is used twice: a slab that is added to is used by nothing else", i.Body.Yield[n].Name)
		}
		if from := v.slabs[i.Args[3+n]]; from != nil {
			v.slabs[r] = &slabUses{root: from.root, depth: v.depth}
		}
	}
}
