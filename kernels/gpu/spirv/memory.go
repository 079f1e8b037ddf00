package spirv

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// cell is how a type is stored in memory.
type cell struct {
	typ   id
	small uint32 // bits of an integer that is extended to a u32 in a register, or 0
}

// cellOf returns how a t is stored.
func (e *emitter) cellOf(t kir.Type) cell {
	if e.isBits(t.Kind) && t.Bytes() < 4 {
		bits := uint32(8 * t.Bytes())
		return cell{e.m.integer(bits), bits}
	}
	return cell{typ: e.typ(t)}
}

// fill returns what a load of a cell gives as the value in a register, spill the reverse.
func (e *emitter) fill(c cell, x id) id {
	if c.small == 0 {
		return x
	}
	return e.op(opUConvert, e.m.u32(), x)
}

func (e *emitter) spill(c cell, x id) id {
	if c.small == 0 {
		return x
	}
	return e.op(opUConvert, c.typ, x)
}

// device declares what an access of a t in device memory needs, and returns how it is stored.
func (e *emitter) device(t kir.Type) cell {
	c := e.cellOf(t)
	e.m.need(capPhysicalStorageBufferAddresses)
	switch {
	case c.small == 8:
		e.m.need(capStorageBuffer8BitAccess)
	case c.small == 16 || t.Kind == kir.F16 && e.native():
		e.m.need(capStorageBuffer16BitAccess)
	}
	return c
}

// pointer returns an address as a pointer to t.
func (e *emitter) pointer(address, t id) id {
	return e.op(opConvertUToPtr, e.m.pointer(storagePhysicalStorageBuffer, t), address)
}

func (e *emitter) load(i *kir.Instr) id {
	t := i.Result().Type
	c := e.device(t)
	align := uint32(t.Bytes())
	address := e.get(i.Args[0])
	if i.Op == kir.OpLoadUniform {
		return e.fill(c, e.op(opLoad, c.typ, e.readOnlyPointer(address, c.typ), accessAligned, align))
	}
	return e.fill(c, e.op(opLoad, c.typ, e.pointer(address, c.typ), accessAligned|accessNonPrivatePointer, align))
}

// readOnlyPointer returns an address as a pointer to t that is never written through. Only members of blocks can have
// this decoration.
func (e *emitter) readOnlyPointer(address, t id) id {
	m := e.m
	block, ok := e.readOnly[t]
	if !ok {
		block = e.structure(t)
		m.decorateMember(block, 0, decorationNonWritable)
		e.readOnly[t] = block
	}
	return e.op(opAccessChain, m.pointer(storagePhysicalStorageBuffer, t), e.pointer(address, block), m.uint(0))
}

func (e *emitter) store(i *kir.Instr) {
	t := i.Args[1].Type
	c := e.device(t)
	p := e.pointer(e.get(i.Args[0]), c.typ)
	e.m.code.op(opStore, p, e.spill(c, e.get(i.Args[1])), accessAligned|accessNonPrivatePointer, uint32(t.Bytes()))
}

func (e *emitter) atomicAdd(i *kir.Instr) id {
	m := e.m
	m.need(capPhysicalStorageBufferAddresses)
	p := e.pointer(e.get(i.Args[0]), m.u32())
	return e.op(opAtomicIAdd, m.u32(), p, m.uint(scopeQueueFamily), m.uint(semanticsRelaxed), e.get(i.Args[1]))
}

// offset prints an index times bytes, as 64 bits.
func (e *emitter) offset(i *kir.Instr) id {
	wide := e.op(opUConvert, e.m.integer(64), e.get(i.Args[0]))
	return e.op(opIMul, e.m.integer(64), wide, e.constant(kir.U64, i.Imm))
}

// declareShared adds the variable of an array in shared memory.
func (e *emitter) declareShared(s *kir.Shared) {
	m, c := e.m, e.cellOf(s.Elem)
	switch c.small {
	case 8:
		m.need(capInt8)
	case 16:
		m.need(capInt16)
	}
	v := m.variable(storageWorkgroup, m.typeOf(opTypeArray, c.typ, m.uint(uint32(s.Len))))
	e.name(m, v, s.Name)
	e.shared[s] = v
}

// element returns a pointer to an element of a shared array.
func (e *emitter) element(s *kir.Shared, c cell, index id) id {
	return e.op(opAccessChain, e.m.pointer(storageWorkgroup, c.typ), e.shared[s], index)
}

func (e *emitter) sharedLoad(i *kir.Instr) id {
	c := e.cellOf(i.Shared.Elem)
	return e.fill(c, e.op(opLoad, c.typ, e.element(i.Shared, c, e.get(i.Args[0])), accessNonPrivatePointer))
}

func (e *emitter) sharedStore(i *kir.Instr) {
	c := e.cellOf(i.Shared.Elem)
	p := e.element(i.Shared, c, e.get(i.Args[0]))
	e.m.code.op(opStore, p, e.spill(c, e.get(i.Args[1])), accessNonPrivatePointer)
}
