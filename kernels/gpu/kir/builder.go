package kir

import (
	"math"
	"slices"
	"strconv"
)

// Builder builds a kernel. Its methods append an instruction to the current block and return the result. They do not
// check operands: Kernel does. Numbers that an instruction in this block, or in one around it, has computed from the
// same operands are not computed again.
type Builder struct {
	k     *Kernel
	block *Block
	ids   int
	names map[string]int
	known []map[computation]*Value // of the current block and those around it, that last
}

// computation is an instruction that computes the same number wherever its operands are known.
type computation struct {
	op   Op
	imm  uint64
	t    Type
	args [4]*Value
}

// computes returns the computation of an instruction; ok is false if it depends on anything but its operands.
func computes(i *Instr, t Type) (c computation, ok bool) {
	_, ok = plain[i.Op]
	switch i.Op {
	case OpReduceAdd, OpReduceMax, OpShuffleXor:
		return c, false
	case OpConst, OpThread, OpGroup, OpNumGroups, OpLane, OpSubgroup, OpLanes, OpShl, OpShr, OpEq, OpNe, OpLt, OpLe, OpSelect,
		OpConvert, OpBitcast, OpVector, OpExtract, OpDot4, OpOffset:
		ok = true
	}
	c = computation{op: i.Op, imm: i.Imm, t: t}
	return c, ok && copy(c.args[:], i.Args) == len(i.Args)
}

// lookUp returns the value of a computation, nil if no instruction of the current block, or of one around it, has
// computed it.
func (b *Builder) lookUp(c computation) *Value {
	for _, known := range b.known {
		if v := known[c]; v != nil {
			return v
		}
	}
	return nil
}

// NewBuilder returns a builder of a kernel for workgroups of that many threads.
func NewBuilder(name string, threads int) *Builder {
	body := new(Block)
	b := &Builder{k: &Kernel{Name: name, Threads: threads, Body: body}, block: body, names: make(map[string]int)}
	b.known = append(b.known, make(map[computation]*Value))
	return b
}

// Kernel returns the kernel, verified. It needs the capabilities that its instructions do.
func (b *Builder) Kernel() (*Kernel, error) {
	b.k.Needs |= b.k.needs()
	return b.k, Verify(b.k)
}

// value returns a new value. A number makes its name unique.
func (b *Builder) value(t Type, name string, def *Instr) *Value {
	v := &Value{ID: b.ids, Type: t, Def: def}
	b.ids++
	if name == "" {
		name = strconv.Itoa(v.ID)
	} else if n := b.names[name]; n > 0 {
		b.names[name]++
		name += "." + strconv.Itoa(n)
	} else {
		b.names[name] = 1
	}
	v.Name = name
	return v
}

// Arg adds an argument.
func (b *Builder) Arg(name string, k Kind) *Value {
	v := b.value(Scalar(k), name, nil)
	b.k.Args = append(b.k.Args, v)
	return v
}

// NewShared adds an array in shared memory.
func (b *Builder) NewShared(name string, elem Type, n int) *Shared {
	s := &Shared{Name: name, Elem: elem, Len: n}
	b.k.Shared = append(b.k.Shared, s)
	return s
}

// emit appends an instruction with one result of type t, or none for the zero Type.
func (b *Builder) emit(i *Instr, t Type) *Value {
	c, pure := computes(i, t)
	if pure {
		if v := b.lookUp(c); v != nil {
			return v
		}
	}
	b.block.Instrs = append(b.block.Instrs, i)
	if t == (Type{}) {
		return nil
	}
	v := b.value(t, "", i)
	i.Results = []*Value{v}
	if pure {
		b.known[len(b.known)-1][c] = v
	}
	return v
}

// op appends an operation whose result has the type of its last operand.
func (b *Builder) op(op Op, args ...*Value) *Value {
	return b.emit(&Instr{Op: op, Args: args}, args[len(args)-1].Type)
}

// Bits returns a constant with those bits.
func (b *Builder) Bits(k Kind, bits uint64) *Value {
	return b.emit(&Instr{Op: OpConst, Imm: bits}, Scalar(k))
}

// Int returns an i32 constant, Uint a u32 one.
func (b *Builder) Int(n int) *Value     { return b.Bits(I32, uint64(uint32(int32(n)))) }
func (b *Builder) Uint(n uint32) *Value { return b.Bits(U32, uint64(n)) }

// Float returns an f32 constant.
func (b *Builder) Float(x float32) *Value { return b.Bits(F32, uint64(math.Float32bits(x))) }

func (b *Builder) special(op Op) *Value { return b.emit(&Instr{Op: op}, Scalar(I32)) }

// Thread and the following return what distinguishes the thread; see OpThread.
func (b *Builder) Thread() *Value    { return b.special(OpThread) }
func (b *Builder) Group() *Value     { return b.special(OpGroup) }
func (b *Builder) NumGroups() *Value { return b.special(OpNumGroups) }
func (b *Builder) Lane() *Value      { return b.special(OpLane) }
func (b *Builder) Subgroup() *Value  { return b.special(OpSubgroup) }
func (b *Builder) Lanes() *Value     { return b.special(OpLanes) }

// Arithmetic; see the ops of that name.
func (b *Builder) Add(x, y *Value) *Value    { return b.op(OpAdd, x, y) }
func (b *Builder) Sub(x, y *Value) *Value    { return b.op(OpSub, x, y) }
func (b *Builder) Mul(x, y *Value) *Value    { return b.op(OpMul, x, y) }
func (b *Builder) Div(x, y *Value) *Value    { return b.op(OpDiv, x, y) }
func (b *Builder) Rem(x, y *Value) *Value    { return b.op(OpRem, x, y) }
func (b *Builder) Min(x, y *Value) *Value    { return b.op(OpMin, x, y) }
func (b *Builder) Max(x, y *Value) *Value    { return b.op(OpMax, x, y) }
func (b *Builder) Neg(x *Value) *Value       { return b.op(OpNeg, x) }
func (b *Builder) FMA(x, y, z *Value) *Value { return b.op(OpFMA, x, y, z) }
func (b *Builder) And(x, y *Value) *Value    { return b.op(OpAnd, x, y) }
func (b *Builder) Or(x, y *Value) *Value     { return b.op(OpOr, x, y) }
func (b *Builder) Xor(x, y *Value) *Value    { return b.op(OpXor, x, y) }
func (b *Builder) Not(x *Value) *Value       { return b.op(OpNot, x) }

// Shl and Shr shift x by a u32 count.
func (b *Builder) Shl(x, count *Value) *Value {
	return b.emit(&Instr{Op: OpShl, Args: []*Value{x, count}}, x.Type)
}
func (b *Builder) Shr(x, count *Value) *Value {
	return b.emit(&Instr{Op: OpShr, Args: []*Value{x, count}}, x.Type)
}

func (b *Builder) compare(op Op, x, y *Value) *Value {
	return b.emit(&Instr{Op: op, Args: []*Value{x, y}}, Scalar(Bool))
}

// Comparisons; see the ops of that name.
func (b *Builder) Eq(x, y *Value) *Value { return b.compare(OpEq, x, y) }
func (b *Builder) Ne(x, y *Value) *Value { return b.compare(OpNe, x, y) }
func (b *Builder) Lt(x, y *Value) *Value { return b.compare(OpLt, x, y) }
func (b *Builder) Le(x, y *Value) *Value { return b.compare(OpLe, x, y) }

// Select returns x where cond holds, else y.
func (b *Builder) Select(cond, x, y *Value) *Value { return b.op(OpSelect, cond, x, y) }

// Functions of f32.
func (b *Builder) Exp(x *Value) *Value   { return b.op(OpExp, x) }
func (b *Builder) Log(x *Value) *Value   { return b.op(OpLog, x) }
func (b *Builder) Sqrt(x *Value) *Value  { return b.op(OpSqrt, x) }
func (b *Builder) Sin(x *Value) *Value   { return b.op(OpSin, x) }
func (b *Builder) Cos(x *Value) *Value   { return b.op(OpCos, x) }
func (b *Builder) Tanh(x *Value) *Value  { return b.op(OpTanh, x) }
func (b *Builder) Floor(x *Value) *Value { return b.op(OpFloor, x) }
func (b *Builder) Round(x *Value) *Value { return b.op(OpRound, x) }

// Convert returns the number x as a k, lane by lane. Bitcast returns the bits of x as a t.
func (b *Builder) Convert(x *Value, k Kind) *Value {
	return b.emit(&Instr{Op: OpConvert, Args: []*Value{x}}, Vector(k, x.Type.Lanes))
}
func (b *Builder) Bitcast(x *Value, t Type) *Value {
	return b.emit(&Instr{Op: OpBitcast, Args: []*Value{x}}, t)
}

// Vector joins scalars. Extract returns a lane.
func (b *Builder) Vector(lanes ...*Value) *Value {
	return b.emit(&Instr{Op: OpVector, Args: lanes}, Vector(lanes[0].Type.Kind, len(lanes)))
}
func (b *Builder) Extract(x *Value, lane int) *Value {
	return b.emit(&Instr{Op: OpExtract, Args: []*Value{x}, Imm: uint64(lane)}, Scalar(x.Type.Kind))
}

// Dot4 returns sum + the dot product of four signed bytes each of x and y.
func (b *Builder) Dot4(x, y, sum *Value) *Value { return b.op(OpDot4, x, y, sum) }

// Offset returns index times bytes as u64.
func (b *Builder) Offset(index *Value, bytes int) *Value {
	return b.emit(&Instr{Op: OpOffset, Args: []*Value{index}, Imm: uint64(bytes)}, Scalar(U64))
}

// At returns the address of element index of an array of elements of that many bytes.
func (b *Builder) At(base, index *Value, bytes int) *Value {
	return b.Add(base, b.Offset(index, bytes))
}

// Load and Store access device memory, AtomicAdd adds to a u32 there.
func (b *Builder) Load(t Type, address *Value) *Value {
	return b.emit(&Instr{Op: OpLoad, Args: []*Value{address}}, t)
}
func (b *Builder) Store(address, x *Value) {
	b.emit(&Instr{Op: OpStore, Args: []*Value{address, x}}, Type{})
}
func (b *Builder) AtomicAdd(address, x *Value) *Value { return b.op(OpAtomicAdd, address, x) }

// LoadUniform loads what nothing writes while the kernel runs; see OpLoadUniform.
func (b *Builder) LoadUniform(t Type, address *Value) *Value {
	return b.emit(&Instr{Op: OpLoadUniform, Args: []*Value{address}}, t)
}

// SharedLoad and SharedStore access an array in shared memory.
func (b *Builder) SharedLoad(s *Shared, index *Value) *Value {
	return b.emit(&Instr{Op: OpSharedLoad, Args: []*Value{index}, Shared: s}, s.Elem)
}
func (b *Builder) SharedStore(s *Shared, index, x *Value) {
	b.emit(&Instr{Op: OpSharedStore, Args: []*Value{index, x}, Shared: s}, Type{})
}

// Barrier waits for all threads of the workgroup.
func (b *Builder) Barrier() { b.emit(&Instr{Op: OpBarrier}, Type{}) }

// TileFill returns a tile of sums that are all x.
func (b *Builder) TileFill(x *Value) *Value {
	return b.emit(&Instr{Op: OpTileFill, Args: []*Value{x}}, Tile(F32, TileSum))
}

// TileLoad loads a tile from device memory, TileSharedLoad and TileTurned load one from shared memory, from element
// index on; stride is the number of elements from one line to the next.
func (b *Builder) TileLoad(t Type, address *Value, stride int) *Value {
	return b.emit(&Instr{Op: OpTileLoad, Args: []*Value{address}, Imm: uint64(stride)}, t)
}
func (b *Builder) TileSharedLoad(t Type, s *Shared, index *Value, stride int) *Value {
	return b.emit(&Instr{Op: OpTileSharedLoad, Args: []*Value{index}, Shared: s, Imm: uint64(stride)}, t)
}
func (b *Builder) TileTurned(t Type, s *Shared, index *Value, stride int) *Value {
	return b.emit(&Instr{Op: OpTileTurned, Args: []*Value{index}, Shared: s, Imm: uint64(stride)}, t)
}

// TileMulAdd returns x*y + sum.
func (b *Builder) TileMulAdd(x, y, sum *Value) *Value { return b.op(OpTileMulAdd, x, y, sum) }

// TileSharedStore stores a tile of sums in shared memory.
func (b *Builder) TileSharedStore(s *Shared, index, sum *Value, stride int) {
	b.emit(&Instr{Op: OpTileSharedStore, Args: []*Value{index, sum}, Shared: s, Imm: uint64(stride)}, Type{})
}

// CopyAsync begins to copy bytes from an address to an array in shared memory, from element index on; see OpCopyAsync.
func (b *Builder) CopyAsync(s *Shared, index, address *Value, bytes int) {
	b.emit(&Instr{Op: OpCopyAsync, Args: []*Value{index, address}, Shared: s, Imm: uint64(bytes)}, Type{})
}

// CopyCommit ends a group of copies, CopyWait waits for all groups but the last n.
func (b *Builder) CopyCommit()    { b.emit(&Instr{Op: OpCopyCommit}, Type{}) }
func (b *Builder) CopyWait(n int) { b.emit(&Instr{Op: OpCopyWait, Imm: uint64(n)}, Type{}) }

// SlabFill returns a slab of that many columns, whose elements are all x.
func (b *Builder) SlabFill(cols int, x *Value) *Value {
	return b.emit(&Instr{Op: OpSlabFill, Args: []*Value{x}}, Slab(cols))
}

// SlabMulAdd begins to add to sum the product of the factors at elements x and y of an array, whose blocks are so many
// elements from each other; see OpSlabMulAdd.
func (b *Builder) SlabMulAdd(s *Shared, x, y, sum *Value, across, down int) *Value {
	strides := uint64(uint32(across)) | uint64(uint32(down))<<32
	return b.emit(&Instr{Op: OpSlabMulAdd, Args: []*Value{x, y, sum}, Shared: s, Imm: strides}, sum.Type)
}

// SlabFence, SlabCommit and SlabWait order products of slabs; SlabPublish lets them read what the thread stored.
func (b *Builder) SlabFence()     { b.emit(&Instr{Op: OpSlabFence}, Type{}) }
func (b *Builder) SlabCommit()    { b.emit(&Instr{Op: OpSlabCommit}, Type{}) }
func (b *Builder) SlabWait(n int) { b.emit(&Instr{Op: OpSlabWait, Imm: uint64(n)}, Type{}) }
func (b *Builder) SlabPublish()   { b.emit(&Instr{Op: OpSlabPublish}, Type{}) }

// SlabTile returns the n-th 16 columns of the subgroup's rows of a slab.
func (b *Builder) SlabTile(slab *Value, n int) *Value {
	return b.emit(&Instr{Op: OpSlabTile, Args: []*Value{slab}, Imm: uint64(n)}, Tile(F32, TileSum))
}

// Operations among the threads of a subgroup.
func (b *Builder) ReduceAdd(x *Value) *Value { return b.op(OpReduceAdd, x) }
func (b *Builder) ReduceMax(x *Value) *Value { return b.op(OpReduceMax, x) }
func (b *Builder) ShuffleXor(x *Value, mask int) *Value {
	return b.emit(&Instr{Op: OpShuffleXor, Args: []*Value{x}, Imm: uint64(mask)}, x.Type)
}

// in builds a block with fill, which returns what the block yields.
func (b *Builder) in(block *Block, fill func() []*Value) *Block {
	outer := b.block
	b.block = block
	b.known = append(b.known, make(map[computation]*Value))
	block.Yield = fill()
	b.block, b.known = outer, b.known[:len(b.known)-1]
	return block
}

// results adds results with the types of values.
func (b *Builder) results(i *Instr, values []*Value) []*Value {
	for _, v := range values {
		i.Results = append(i.Results, b.value(v.Type, "", i))
	}
	return slices.Clone(i.Results) // the caller may change its list
}

// If runs then where cond holds.
func (b *Builder) If(cond *Value, then func()) {
	i := &Instr{Op: OpIf, Args: []*Value{cond}}
	i.Body = b.in(new(Block), func() []*Value { then(); return nil })
	b.emit(i, Type{})
}

// Choose runs then where cond holds, and otherwise the other one. It returns what the one that ran returned.
func (b *Builder) Choose(cond *Value, then, otherwise func() []*Value) []*Value {
	i := &Instr{Op: OpIf, Args: []*Value{cond}}
	i.Body = b.in(new(Block), then)
	i.Else = b.in(new(Block), otherwise)
	b.emit(i, Type{})
	return b.results(i, i.Body.Yield)
}

// For runs body for i from from, below to, in steps of step. Body gets the carried values, at first init, and returns
// their next ones. For returns the last ones.
func (b *Builder) For(from, to, step *Value, init []*Value, body func(i *Value, carried []*Value) []*Value) []*Value {
	in := &Instr{Op: OpFor, Args: append([]*Value{from, to, step}, init...)}
	block := new(Block)
	index := b.value(Scalar(I32), "", nil)
	var carried []*Value
	for _, v := range init {
		carried = append(carried, b.value(v.Type, "", nil))
	}
	block.Params = append([]*Value{index}, carried...)
	in.Body = b.in(block, func() []*Value { return body(index, carried) })
	b.emit(in, Type{})
	return b.results(in, init)
}
