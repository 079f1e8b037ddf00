package interp

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Program is a kernel as a flat list of instructions on registers. It can run several times, also at once.
type Program struct {
	kernel    *kir.Kernel
	options   Options
	code      []inst
	start     []uint64 // registers of a thread that begins: constants, and 0 for arguments
	args      []int32  // registers of the arguments
	specials  []special
	moved     int  // the most registers that one inst moves
	subgroups bool // whether the kernel uses subgroups
	slabs     bool // or slabs
}

// special is a register that holds what distinguishes a thread.
type special struct {
	op       kir.Op
	register int32
}

// inst is one step of a thread. Fields that its step does not use are 0.
type inst struct {
	step    func(g *group, t *thread, in *inst) signal
	run     lane
	check   check
	dst     int32 // registers of the first lanes
	a, b, c int32
	lanes   int32
	size    int32      // bytes of an access
	kind    kir.Kind   // of an access's lanes
	mode    mode       // of an access to device memory
	target  int32      // of a jump
	shared  int32      // number of the array
	from    []int32    // registers that are moved
	to      []int32    // where to
	loops   []int32    // registers of the indices of the loops around it
	number  int        // of the instruction in the text, from 1
	of      *kir.Instr // the instruction
}

// text returns the first line of the instruction's text.
func (in *inst) text() string {
	first, _, _ := strings.Cut(in.of.String(), "\n")
	return first
}

// compile returns the program of a verified kernel.
func compile(k *kir.Kernel, o Options) *Program {
	c := &compiler{Program: &Program{kernel: k, options: o}, register: make([]int32, k.NumValues()), known: make(map[presetKey]int32)}
	c.start = make([]uint64, 1) // register 0 is read for operands that an operation does not have
	for _, a := range k.Args {
		c.args = append(c.args, c.define(a))
	}
	k.Body.Walk(c.preset)
	c.block(k.Body)
	c.emit(inst{step: stepEnd})
	return c.Program
}

type compiler struct {
	*Program
	register []int32 // of the first lane of each value, by id
	next     int32   // the first register that no value has
	known    map[presetKey]int32
	loops    []int32
	number   int
	of       *kir.Instr
}

// define gives a value registers.
func (c *compiler) define(v *kir.Value) int32 {
	at := max(c.next, 1)
	c.register[v.ID] = at
	c.next = at + int32(c.width(v.Type))
	if n := int(c.next) - len(c.start); n > 0 {
		c.start = append(c.start, make([]uint64, n)...)
	}
	return at
}

// width returns the registers that a value has in each thread: one for each lane, or an equal share of a tile or slab.
func (c *compiler) width(t kir.Type) int {
	switch {
	case t.Tile == kir.TileSlab:
		return t.Cols / slabShare
	case t.Tile != kir.NoTile:
		return tileElems / c.options.Subgroup
	}
	return t.Lanes
}

// preset gives registers to what a thread has when it begins. Equal constants share one.
func (c *compiler) preset(i *kir.Instr) {
	if !presets[i.Op] {
		return
	}
	key := presetKey{i.Op, i.Imm}
	register, ok := c.known[key]
	if !ok {
		register = c.define(i.Result())
		c.known[key] = register
		if i.Op == kir.OpConst {
			c.start[register] = i.Imm
		} else {
			c.specials = append(c.specials, special{i.Op, register})
		}
	}
	c.register[i.Result().ID] = register
}

// presets are the operations whose results are known when a thread begins.
var presets = map[kir.Op]bool{
	kir.OpConst: true, kir.OpThread: true, kir.OpGroup: true, kir.OpNumGroups: true, kir.OpLane: true, kir.OpSubgroup: true, kir.OpLanes: true,
}

// presetKey is the same for values that share a register.
type presetKey struct {
	op  kir.Op
	imm uint64
}

func (c *compiler) emit(in inst) *inst {
	in.number, in.of = c.number, c.of
	c.code = append(c.code, in)
	return &c.code[len(c.code)-1]
}

func (c *compiler) here() int32 { return int32(len(c.code)) }

// block compiles the instructions of a block. What comes after it may use the registers of its values.
func (c *compiler) block(b *kir.Block) {
	defer func(next int32) { c.next = next }(c.next)
	for _, i := range b.Instrs {
		c.number++
		c.of = i
		switch i.Op {
		case kir.OpFor:
			c.loop(i)
		case kir.OpIf:
			c.branch(i)
		default:
			c.simple(i)
		}
	}
}

// at returns the register of operand n.
func (c *compiler) at(i *kir.Instr, n int) int32 {
	if n >= len(i.Args) {
		return 0
	}
	return c.register[i.Args[n].ID]
}

// simple compiles an instruction without blocks.
func (c *compiler) simple(i *kir.Instr) {
	c.subgroups = c.subgroups || i.Op.Caps(kir.Type{})&(kir.CapSubgroup|kir.CapTile) != 0
	c.slabs = c.slabs || i.Op.Caps(kir.Type{}) == kir.CapSlab
	if presets[i.Op] {
		return
	}
	in := inst{a: c.at(i, 0), b: c.at(i, 1), c: c.at(i, 2)}
	if i.Op == kir.OpSlabMulAdd {
		c.register[i.Result().ID] = in.c // it is changed in its place
	} else if r := i.Result(); r != nil {
		in.dst, in.lanes = c.define(r), int32(r.Type.Lanes)
	}
	switch i.Op {
	case kir.OpVector, kir.OpExtract, kir.OpSelect, kir.OpBitcast:
		c.arrange(i, in)
	case kir.OpLoad, kir.OpLoadUniform, kir.OpStore, kir.OpAtomicAdd:
		c.device(i, in)
	case kir.OpSharedLoad, kir.OpSharedStore:
		c.shared(i, in)
	case kir.OpCopyAsync, kir.OpCopyCommit, kir.OpCopyWait:
		c.copying(i, in)
	case kir.OpBarrier, kir.OpReduceAdd, kir.OpReduceMax, kir.OpShuffleXor,
		kir.OpTileFill, kir.OpTileLoad, kir.OpTileSharedLoad, kir.OpTileTurned, kir.OpTileMulAdd, kir.OpTileSharedStore,
		kir.OpSlabFill, kir.OpSlabMulAdd, kir.OpSlabFence, kir.OpSlabCommit, kir.OpSlabWait, kir.OpSlabTile:
		c.meeting(i, in)
	case kir.OpSlabPublish:
		in.step = stepSlabPublish
		c.emit(in)
	default:
		c.arithmetic(i, in)
	}
}

// arrange compiles what moves bits.
func (c *compiler) arrange(i *kir.Instr, in inst) {
	switch i.Op {
	case kir.OpVector:
		for n := range i.Args {
			in.from, in.to = append(in.from, c.at(i, n)), append(in.to, in.dst+int32(n))
		}
		c.move(in)
	case kir.OpExtract:
		in.from, in.to = []int32{in.a + int32(i.Imm)}, []int32{in.dst}
		c.move(in)
	case kir.OpSelect:
		in.step = stepSelect
		c.emit(in)
	case kir.OpBitcast:
		in.step = stepBitcast
		c.emit(in)
	}
}

// move compiles moves that are made at once.
func (c *compiler) move(in inst) {
	in.step = stepMove
	c.moved = max(c.moved, len(in.from))
	c.emit(in)
}

func (c *compiler) device(i *kir.Instr, in inst) {
	var t kir.Type
	switch i.Op {
	case kir.OpLoad:
		in.step, in.mode, t = stepLoad, reads, i.Result().Type
	case kir.OpLoadUniform:
		in.step, in.mode, t = stepLoad, uniforms, i.Result().Type
	case kir.OpStore:
		in.step, in.mode, t = stepStore, writes, i.Args[1].Type
	case kir.OpAtomicAdd:
		in.step, in.mode, t = stepAtomicAdd, atomics, i.Result().Type
	}
	in.kind, in.lanes, in.size = t.Kind, int32(t.Lanes), int32(t.Bytes())
	c.emit(in)
}

func (c *compiler) shared(i *kir.Instr, in inst) {
	in.shared = int32(slices.Index(c.kernel.Shared, i.Shared))
	in.lanes = int32(i.Shared.Elem.Lanes)
	in.step = stepSharedLoad
	if i.Op == kir.OpSharedStore {
		in.step = stepSharedStore
	}
	c.emit(in)
}

// copying compiles an operation on asynchronous copies.
func (c *compiler) copying(i *kir.Instr, in inst) {
	switch i.Op {
	case kir.OpCopyAsync:
		in.step, in.mode, in.size = stepCopyAsync, uniforms, int32(i.Imm)
		in.a, in.b = in.b, in.a // the address, the index
		in.shared = int32(slices.Index(c.kernel.Shared, i.Shared))
	case kir.OpCopyCommit:
		in.step = stepCopyCommit
	case kir.OpCopyWait:
		in.step = stepCopyWait
	}
	c.emit(in)
}

// meeting compiles an operation that several threads make together.
func (c *compiler) meeting(i *kir.Instr, in inst) {
	in.step = stepSubgroup
	in.loops = slices.Clone(c.loops)
	switch i.Op {
	case kir.OpBarrier:
		in.step = stepBarrier
	case kir.OpReduceAdd:
		in.run = c.lane(kir.OpAdd, i)
	case kir.OpReduceMax:
		in.run = c.lane(kir.OpMax, i)
	case kir.OpTileSharedLoad, kir.OpTileTurned, kir.OpTileSharedStore, kir.OpSlabMulAdd:
		in.shared = int32(slices.Index(c.kernel.Shared, i.Shared))
	}
	c.emit(in)
}

// lane returns an operation of the table, for the kind of the first operand of i.
func (c *compiler) lane(op kir.Op, i *kir.Instr) lane {
	from := i.Args[0].Type.Kind
	return c.flushing(lanes[op][from], from, i.Result().Type.Kind)
}

// flushing returns the operation on denormals as 0, if the options ask for it.
func (c *compiler) flushing(run lane, from, to kir.Kind) lane {
	if !c.options.Flush {
		return run
	}
	if from == kir.F32 {
		inner := run
		run = func(a, b, c uint64) uint64 { return inner(flushed(a), flushed(b), flushed(c)) }
	}
	if to == kir.F32 {
		inner := run
		run = func(a, b, c uint64) uint64 { return flushed(inner(a, b, c)) }
	}
	return run
}

func (c *compiler) arithmetic(i *kir.Instr, in inst) {
	from := i.Args[0].Type.Kind
	switch i.Op {
	case kir.OpOffset:
		in.run, in.check = offsetOf(from, i.Imm)
	case kir.OpConvert:
		to := i.Result().Type.Kind
		in.run, in.check = conversion(from, to)
		in.run = c.flushing(in.run, from, to)
	default:
		in.run, in.check = c.lane(i.Op, i), checks[i.Op][from]
	}
	in.step = stepLanes
	if in.check == nil && in.lanes == 1 {
		in.step = stepLane
	}
	c.emit(in)
}

// registers returns the registers of all lanes of values, without those of slabs, which stay in their places.
func (c *compiler) registers(values []*kir.Value) []int32 {
	var list []int32
	for _, v := range values {
		if v.Type.Tile == kir.TileSlab {
			continue
		}
		for n := range c.width(v.Type) {
			list = append(list, c.register[v.ID]+int32(n))
		}
	}
	return list
}

// loop compiles a for. Its results are the registers of the carried values.
func (c *compiler) loop(i *kir.Instr) {
	number := c.number
	for n, p := range i.Body.Params {
		if p.Type.Tile == kir.TileSlab {
			c.register[p.ID] = c.at(i, 2+n) // it is changed in its place
		} else {
			c.define(p)
		}
	}
	index, carried := c.register[i.Body.Params[0].ID], c.registers(i.Body.Params[1:])
	for n, r := range i.Results {
		c.register[r.ID] = c.register[i.Body.Params[1+n].ID]
	}
	c.emit(inst{step: stepCheckStep, a: c.at(i, 2)})
	c.move(inst{from: append([]int32{c.at(i, 0)}, c.registers(i.Args[3:])...), to: append([]int32{index}, carried...)})
	head := c.here()
	c.emit(inst{step: stepLoopTest, a: index, b: c.at(i, 1)})
	c.loops = append(c.loops, index)
	c.block(i.Body)
	c.loops = c.loops[:len(c.loops)-1]
	last := c.number
	c.number, c.of = number, i
	if len(carried) > 0 {
		c.move(inst{from: c.registers(i.Body.Yield), to: carried})
	}
	c.emit(inst{step: stepLoopNext, dst: index, a: index, b: c.at(i, 2), target: head})
	c.code[head].target = c.here()
	c.number = last
}

func (c *compiler) branch(i *kir.Instr) {
	for _, r := range i.Results {
		c.define(r)
	}
	results := c.registers(i.Results)
	test := c.here()
	c.emit(inst{step: stepBranch, a: c.at(i, 0)})
	c.arm(i.Body, results)
	if i.Else == nil {
		c.code[test].target = c.here()
		return
	}
	end := c.here()
	c.emit(inst{step: stepJump})
	c.code[test].target = c.here()
	c.arm(i.Else, results)
	c.code[end].target = c.here()
}

// arm compiles a block of an if.
func (c *compiler) arm(b *kir.Block, results []int32) {
	c.block(b)
	if len(results) > 0 {
		c.move(inst{from: c.registers(b.Yield), to: results})
	}
}
