package spirv

// arguments loads the arguments from their block, whose address is the push constant: a command that was recorded once
// reads the arguments of each step.
func (e *emitter) arguments() {
	if len(e.k.Args) == 0 {
		return
	}
	m := e.m
	block := e.argumentBlock()
	for i := range e.k.Args {
		m.decorateMember(block, i, decorationNonWritable)
	}
	m.need(capPhysicalStorageBufferAddresses)
	pushed := e.structure(m.integer(64))
	at := e.op(opAccessChain, m.pointer(storagePushConstant, m.integer(64)), m.variable(storagePushConstant, pushed), m.uint(0))
	e.members(e.pointer(e.op(opLoad, m.integer(64), at), block), storagePhysicalStorageBuffer, accessAligned, 8)
}

// structure adds a block of members 8 bytes from each other.
func (e *emitter) structure(members ...id) id {
	m, block := e.m, e.m.newID()
	m.globals.op(opTypeStruct, append([]uint32{block}, members...)...)
	m.decorate(block, decorationBlock)
	for i := range members {
		m.decorateMember(block, i, decorationOffset, uint32(8*i))
	}
	return block
}

// argumentBlock adds the type of the block of arguments.
func (e *emitter) argumentBlock() id {
	var members []id
	for _, a := range e.k.Args {
		members = append(members, e.typ(a.Type))
	}
	return e.structure(members...)
}

// members loads the arguments from a block.
func (e *emitter) members(block id, storage uint32, access ...uint32) {
	m := e.m
	for i, a := range e.k.Args {
		p := e.op(opAccessChain, m.pointer(storage, e.typ(a.Type)), block, m.uint(uint32(i)))
		e.set(a, e.op(opLoad, e.typ(a.Type), append([]uint32{p}, access...)...))
	}
}
