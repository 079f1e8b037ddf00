package spirv

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Emit returns the words of a module that runs k. Equal kernels give equal words.
func Emit(k *kir.Kernel) ([]uint32, error) {
	return emit(k, func(*module, id, string) {})
}

// EmitNamed is Emit with the names of values, for reading. A constant has the name of the first value that is equal to
// it.
func EmitNamed(k *kir.Kernel) ([]uint32, error) {
	named := make(map[id]bool)
	return emit(k, func(m *module, value id, name string) {
		if !named[value] {
			m.names.op(opName, append([]uint32{value}, literal(name)...)...)
		}
		named[value] = true
	})
}

func emit(k *kir.Kernel, name func(*module, id, string)) ([]uint32, error) {
	if err := kir.Verify(k); err != nil {
		return nil, err
	}
	if err := capable(k); err != nil {
		return nil, err
	}
	e := &emitter{
		k: k, m: newModule(), name: name,
		ids:      make([]id, k.NumValues()),
		shared:   make(map[*kir.Shared]id),
		builtins: make(map[uint32]id),
		readOnly: make(map[id]id),
	}
	return e.m.assemble(e.kernel()), nil
}

// capable checks that SPIR-V expresses the instructions, and that the kernel lists their capabilities: the type of an
// f16 depends on them.
func capable(k *kir.Kernel) (err error) {
	k.Body.Walk(func(i *kir.Instr) {
		var t kir.Type
		if len(i.Args) > 0 {
			t = i.Args[0].Type
		}
		if i.Op.Caps(t)&^k.Needs != 0 {
			err = fmt.Errorf("%s: %v needs a capability that the kernel does not list", k.Name, i.Op)
		}
		switch i.Op.Caps(t) {
		case kir.CapAsync:
			err = fmt.Errorf("%s: SPIR-V has no %v: build the kernel for a machine without asynchronous copies", k.Name, i.Op)
		case kir.CapSlab:
			err = fmt.Errorf("%s: SPIR-V has no %v: build the kernel for a machine without slabs", k.Name, i.Op)
		}
	})
	return err
}

// emitter prints one kernel.
type emitter struct {
	k         *kir.Kernel
	m         *module
	name      func(*module, id, string)
	ids       []id // of values, by Value.ID
	shared    map[*kir.Shared]id
	builtins  map[uint32]id // variables by number
	wordArray id            // block of one member, an array of u32; 0 if there is none
	readOnly  map[id]id     // blocks of one member that is not written, by the type of the member
	block     id            // label of the current block
	computes  [2]bool       // with f16, f32
}

// kernel prints the function and what belongs to it, and returns its id.
func (e *emitter) kernel() id {
	m := e.m
	main := m.newID()
	m.modes.op(opExecutionMode, main, modeLocalSize, uint32(e.k.Threads), 1, 1)
	for _, s := range e.k.Shared {
		e.declareShared(s)
	}
	m.code.op(opFunction, m.void(), main, noFunctionControl, m.typeOf(opTypeFunction, m.void()))
	e.label(m.newID())
	e.arguments()
	e.instrs(e.k.Body)
	m.code.op(opReturn)
	m.code.op(opFunctionEnd)
	e.floatModes(main)
	return main
}

// floatModes declares what arithmetic relies on.
func (e *emitter) floatModes(main id) {
	for i, bits := range []uint32{16, 32} {
		if e.computes[i] {
			e.m.need(capSignedZeroInfNanPreserve)
			e.m.modes.op(opExecutionMode, main, modeSignedZeroInfNanPreserve, bits)
		}
	}
	if e.native() {
		e.m.need(capRoundingModeRTE)
		e.m.modes.op(opExecutionMode, main, modeRoundingModeRTE, 16)
	}
}

// native reports whether an f16 is a floating-point number in registers rather than its bits.
func (e *emitter) native() bool { return e.k.Needs&kir.CapF16 != 0 }

// set makes x the value v.
func (e *emitter) set(v *kir.Value, x id) {
	e.ids[v.ID] = x
	e.name(e.m, x, v.Name)
}

// get returns the id of a value.
func (e *emitter) get(v *kir.Value) id { return e.ids[v.ID] }

// operands returns the ids of the operands of an instruction.
func (e *emitter) operands(i *kir.Instr) []id {
	var out []id
	for _, a := range i.Args {
		out = append(out, e.get(a))
	}
	return out
}

// op appends an instruction with a result of type t.
func (e *emitter) op(code opcode, t id, operands ...uint32) id {
	r := e.m.newID()
	e.m.code.op(code, append([]uint32{t, r}, operands...)...)
	return r
}

// call appends an extended instruction.
func (e *emitter) call(x extended, t id, operands ...uint32) id {
	if e.m.glsl == 0 {
		e.m.glsl = e.m.newID()
	}
	return e.op(opExtInst, t, append([]uint32{e.m.glsl, uint32(x)}, operands...)...)
}

// instrs prints the instructions of a block.
func (e *emitter) instrs(b *kir.Block) {
	for _, i := range b.Instrs {
		e.instr(i)
	}
}

// instr prints an instruction.
func (e *emitter) instr(i *kir.Instr) {
	switch i.Op {
	case kir.OpFor:
		e.loop(i)
	case kir.OpIf:
		e.branch(i)
	case kir.OpBarrier:
		e.barrier()
	case kir.OpStore:
		e.store(i)
	case kir.OpSharedStore:
		e.sharedStore(i)
	case kir.OpTileSharedStore:
		e.tileStore(i)
	default:
		e.set(i.Result(), e.value(i))
	}
}

// value prints an instruction that has one result, and returns its id.
func (e *emitter) value(i *kir.Instr) id {
	t := i.Result().Type
	switch i.Op {
	case kir.OpConst:
		return e.constant(t.Kind, i.Imm)
	case kir.OpThread, kir.OpGroup, kir.OpNumGroups, kir.OpLane, kir.OpSubgroup, kir.OpLanes:
		return e.builtin(i.Op)
	case kir.OpConvert:
		return e.convert(e.get(i.Args[0]), i.Args[0].Type, t.Kind)
	case kir.OpBitcast:
		return e.bitcast(e.get(i.Args[0]), i.Args[0].Type, t)
	case kir.OpVector:
		return e.join(e.operands(i), t)
	case kir.OpExtract:
		return e.extract(e.get(i.Args[0]), i.Args[0].Type, int(i.Imm))
	case kir.OpOffset:
		return e.offset(i)
	case kir.OpLoad, kir.OpLoadUniform:
		return e.load(i)
	case kir.OpAtomicAdd:
		return e.atomicAdd(i)
	case kir.OpSharedLoad:
		return e.sharedLoad(i)
	case kir.OpReduceAdd, kir.OpReduceMax, kir.OpShuffleXor:
		return e.subgroup(i)
	case kir.OpTileFill, kir.OpTileLoad, kir.OpTileSharedLoad, kir.OpTileTurned, kir.OpTileMulAdd:
		return e.tile(i)
	}
	return e.arithmetic(i)
}
