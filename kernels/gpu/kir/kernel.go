package kir

// Kernel is a function that workgroups run.
type Kernel struct {
	Name    string
	Threads int      // of a workgroup, in one dimension
	Args    []*Value // of type u64 (addresses), i32 or u32; each is 8 bytes of the block of arguments, whose address a device passes
	Shared  []*Shared
	Needs   Caps
	Body    *Block
}

// Caps are abilities of a device that not all have.
type Caps uint16

const (
	CapSubgroup Caps = 1 << iota // reductions and shuffles among the threads of a subgroup
	CapF16                       // arithmetic on f16; loads, stores and conversions need no capability
	CapDot4                      // dot products of four bytes
	CapTile                      // tiles: matrices that a subgroup multiplies
	CapAsync                     // copies to shared memory that run beside the thread
	CapSlab                      // slabs: matrices that a workgroup of four subgroups of 32 threads multiplies
)

// Shared is an array in the memory of a workgroup. Its contents are undefined when the kernel begins.
type Shared struct {
	Name string
	Elem Type
	Len  int // elements
}

// Bytes returns the size of the array.
func (s *Shared) Bytes() int { return s.Elem.Bytes() * s.Len }

// Block is a sequence of instructions that runs from begin to end.
type Block struct {
	Params []*Value // of the body of a For: the index, then the carried values
	Instrs []*Instr
	Yield  []*Value // results of the block: of a For the next carried values, of an If its results
}

// Instr is an instruction. The table of ops specifies how its fields besides Op are used.
type Instr struct {
	Op      Op
	Args    []*Value
	Results []*Value
	Shared  *Shared
	Imm     uint64 // bits of a constant, bytes of an Offset or a CopyAsync, lane of an Extract, groups of a CopyWait or SlabWait, stride of a tile, strides of a SlabMulAdd
	Body    *Block // of For and If
	Else    *Block // of If; nil if it has no results and does nothing otherwise
}

// Result returns the first result, or nil.
func (i *Instr) Result() *Value {
	if len(i.Results) == 0 {
		return nil
	}
	return i.Results[0]
}

// Value is defined once: an argument of the kernel, a parameter of a block, or a result of an instruction.
type Value struct {
	ID   int // dense within the kernel, from 0
	Type Type
	Name string // unique within the kernel
	Def  *Instr // nil for arguments and parameters
}

// Walk calls visit for each instruction of the block and of the blocks in it, outer ones first.
func (b *Block) Walk(visit func(*Instr)) {
	if b == nil {
		return
	}
	for _, i := range b.Instrs {
		visit(i)
		i.Body.Walk(visit)
		i.Else.Walk(visit)
	}
}

// NumValues returns an upper bound of the values' ids, for tables keyed by Value.ID.
func (k *Kernel) NumValues() int {
	n := 0
	count := func(values []*Value) {
		for _, v := range values {
			n = max(n, v.ID+1)
		}
	}
	count(k.Args)
	k.Body.Walk(func(i *Instr) {
		count(i.Results)
		if i.Body != nil {
			count(i.Body.Params)
		}
	})
	return n
}

// needs returns the capabilities that the instructions need.
func (k *Kernel) needs() Caps {
	var c Caps
	k.Body.Walk(func(i *Instr) { c |= i.Op.Caps(i.argType(0)) })
	return c
}

// SharedBytes returns the size of the shared memory of a workgroup, each array aligned to 16 bytes.
func (k *Kernel) SharedBytes() int {
	n := 0
	for _, s := range k.Shared {
		n += (s.Bytes() + 15) / 16 * 16
	}
	return n
}
