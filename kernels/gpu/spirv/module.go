package spirv

import (
	"fmt"
	"maps"
	"slices"
)

// id names a result within a module, from 1.
type id = uint32

// module collects the sections of a module, in the order that the specification's section 2.4 asks for.
type module struct {
	last       id // the highest id in use
	caps       map[capability]bool
	extensions map[string]bool
	glsl       id // of the imported set of extended instructions, 0 if none is
	modes      words
	names      words
	decorated  words
	globals    words         // types, constants and variables
	interned   map[string]id // ids in globals by their words, without the id itself
	variables  []id          // global variables of the entry point
	code       words         // the function
}

func newModule() *module {
	m := &module{caps: make(map[capability]bool), extensions: make(map[string]bool), interned: make(map[string]id)}
	m.need(capShader, capVulkanMemoryModel)
	return m
}

func (m *module) newID() id {
	m.last++
	return m.last
}

// need declares capabilities.
func (m *module) need(caps ...capability) {
	for _, c := range caps {
		m.caps[c] = true
	}
}

// typeOf returns the id of a type that is identified by its words.
func (m *module) typeOf(code opcode, operands ...uint32) id {
	key := fmt.Sprint(code, operands)
	if known, ok := m.interned[key]; ok {
		return known
	}
	t := m.newID()
	m.globals.op(code, append([]uint32{t}, operands...)...)
	m.interned[key] = t
	return t
}

// constant returns the id of a constant of type t.
func (m *module) constant(code opcode, t id, operands ...uint32) id {
	key := fmt.Sprint(code, t, operands)
	if known, ok := m.interned[key]; ok {
		return known
	}
	c := m.newID()
	m.globals.op(code, append([]uint32{t, c}, operands...)...)
	m.interned[key] = c
	return c
}

func (m *module) void() id { return m.typeOf(opTypeVoid) }
func (m *module) bool() id { return m.typeOf(opTypeBool) }
func (m *module) u32() id  { return m.integer(32) }
func (m *module) f32() id  { return m.typeOf(opTypeFloat, 32) }

// integer returns the type of integers of that many bits.
func (m *module) integer(bits uint32) id {
	if bits == 64 {
		m.need(capInt64)
	}
	return m.typeOf(opTypeInt, bits, 0)
}

func (m *module) f16() id {
	m.need(capFloat16)
	return m.typeOf(opTypeFloat, 16)
}

// vector returns the type of n of t; of 1 it is t.
func (m *module) vector(t id, n int) id {
	if n == 1 {
		return t
	}
	return m.typeOf(opTypeVector, t, uint32(n))
}

func (m *module) pointer(storage uint32, t id) id { return m.typeOf(opTypePointer, storage, t) }

// uint returns a u32 constant.
func (m *module) uint(n uint32) id { return m.constant(opConstant, m.u32(), n) }

// splat returns a constant vector with n equal lanes of type t, or for 1 the lane.
func (m *module) splat(t, lane id, n int) id {
	if n == 1 {
		return lane
	}
	return m.constant(opConstantComposite, m.vector(t, n), slices.Repeat([]uint32{lane}, n)...)
}

// uints returns a vector of n equal u32.
func (m *module) uints(x uint32, n int) id { return m.splat(m.u32(), m.uint(x), n) }

// variable adds a variable of the entry point, of type t.
func (m *module) variable(storage uint32, t id) id {
	v := m.newID()
	m.globals.op(opVariable, m.pointer(storage, t), v, storage)
	m.variables = append(m.variables, v)
	return v
}

func (m *module) decorate(target id, decoration uint32, operands ...uint32) {
	m.decorated.op(opDecorate, append([]uint32{target, decoration}, operands...)...)
}

func (m *module) decorateMember(structure id, member int, decoration uint32, operands ...uint32) {
	m.decorated.op(opMemberDecorate, append([]uint32{structure, uint32(member), decoration}, operands...)...)
}

// assemble returns the words of the module, whose entry point is the function main.
func (m *module) assemble(main id) []uint32 {
	out := words{magic, version, 0, m.last + 1, 0}
	for _, c := range slices.Sorted(maps.Keys(m.caps)) {
		out.op(opCapability, uint32(c))
	}
	for _, e := range slices.Sorted(maps.Keys(m.extensions)) {
		out.op(opExtension, literal(e)...)
	}
	if m.glsl != 0 {
		out.op(opExtInstImport, append([]uint32{m.glsl}, literal("GLSL.std.450")...)...)
	}
	out.op(opMemoryModel, m.addressing(), memoryModelVulkan)
	entry := append([]uint32{executionModelGLCompute, main}, literal("main")...)
	out.op(opEntryPoint, append(entry, m.variables...)...)
	return slices.Concat(out, m.modes, m.names, m.decorated, m.globals, m.code)
}

func (m *module) addressing() uint32 {
	if m.caps[capPhysicalStorageBufferAddresses] {
		return addressingPhysicalStorageBuffer64
	}
	return addressingLogical
}
