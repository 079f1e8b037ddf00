package spirv

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// builtins are the variables that distinguish threads, with the number of lanes: of the vectors the first lane is used,
// because workgroups have one dimension.
var builtins = map[kir.Op]struct {
	number uint32
	lanes  int
}{
	kir.OpThread:    {builtInLocalInvocationIndex, 1},
	kir.OpGroup:     {builtInWorkgroupID, 3},
	kir.OpNumGroups: {builtInNumWorkgroups, 3},
	kir.OpLane:      {builtInSubgroupLocalInvocationID, 1},
	kir.OpSubgroup:  {builtInSubgroupID, 1},
	kir.OpLanes:     {builtInSubgroupSize, 1},
}

// builtin loads one of these variables.
func (e *emitter) builtin(op kir.Op) id {
	m, b := e.m, builtins[op]
	if op.Caps(kir.Type{}) != 0 {
		m.need(capGroupNonUniform)
	}
	t := m.vector(m.u32(), b.lanes)
	v, ok := e.builtins[b.number]
	if !ok {
		v = m.variable(storageInput, t)
		m.decorate(v, decorationBuiltIn, b.number)
		e.builtins[b.number] = v
	}
	x := e.op(opLoad, t, v)
	if b.lanes > 1 {
		x = e.op(opCompositeExtract, m.u32(), x, 0)
	}
	return x
}

// reductions are the instructions that reduce over a subgroup.
var reductions = map[kir.Op]codes{
	kir.OpReduceAdd: {opGroupNonUniformIAdd, opGroupNonUniformIAdd, opGroupNonUniformFAdd, 0},
	kir.OpReduceMax: {opGroupNonUniformSMax, opGroupNonUniformUMax, opGroupNonUniformFMax, 0},
}

// subgroup prints an operation among the threads of a subgroup.
func (e *emitter) subgroup(i *kir.Instr) id {
	m, t := e.m, i.Result().Type
	e.uses(t.Kind)
	m.need(capGroupNonUniform)
	scope, x := m.uint(scopeSubgroup), e.get(i.Args[0])
	if i.Op == kir.OpShuffleXor {
		m.need(capGroupNonUniformShuffle)
		return e.op(opGroupNonUniformShuffleXor, e.typ(t), scope, x, m.uint(uint32(i.Imm)))
	}
	m.need(capGroupNonUniformArithmetic)
	return e.op(reductions[i.Op].of(t.Kind), e.typ(t), scope, groupReduce, x)
}
