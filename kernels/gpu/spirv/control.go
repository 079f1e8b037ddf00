package spirv

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// label begins a block.
func (e *emitter) label(l id) {
	e.m.code.op(opLabel, l)
	e.block = l
}

// begin ends the current block and begins the next one.
func (e *emitter) begin(l id) {
	e.m.code.op(opBranch, l)
	e.label(l)
}

// loop prints a for. Its header has the index and the carried values as phis, which are its results as well: the header
// is the block before the merge.
//
//	header: phis; merge, continue; if index < to goto body else merge
//	body:   ...; goto continue
//	continue: next = index + step; goto header
func (e *emitter) loop(i *kir.Instr) {
	m, before := e.m, e.block
	header, body, next, merge := m.newID(), m.newID(), m.newID(), m.newID()
	e.begin(header)
	params := i.Body.Params
	at := []int{e.phi(params[0], e.get(i.Args[0]), before, next)}
	for n, p := range params[1:] {
		at = append(at, e.phi(p, e.get(i.Args[3+n]), before, next))
	}
	index := e.get(params[0])
	more := e.op(opSLessThan, m.bool(), index, e.get(i.Args[1]))
	m.code.op(opLoopMerge, merge, next, noLoopControl)
	m.code.op(opBranchConditional, more, body, merge)
	e.label(body)
	e.instrs(i.Body)
	e.begin(next)
	m.code[at[0]] = e.op(opIAdd, m.u32(), index, e.get(i.Args[2]))
	for n, y := range i.Body.Yield {
		m.code[at[1+n]] = e.get(y)
	}
	m.code.op(opBranch, header)
	e.label(merge)
	for n, r := range i.Results {
		e.ids[r.ID] = e.get(params[1+n])
	}
}

// phi defines p as first, from the block before, or as a value from the block next that is not known yet. It returns
// the index in the code of the word for that value.
func (e *emitter) phi(p *kir.Value, first, before, next id) int {
	at := len(e.m.code) + 5
	e.set(p, e.op(opPhi, e.typ(p.Type), first, before, 0, next))
	return at
}

// branch prints an if. Its results are phis of the merge block.
func (e *emitter) branch(i *kir.Instr) {
	m := e.m
	then, merge := m.newID(), m.newID()
	otherwise := merge
	if i.Else != nil {
		otherwise = m.newID()
	}
	m.code.op(opSelectionMerge, merge, noSelectionControl)
	m.code.op(opBranchConditional, e.get(i.Args[0]), then, otherwise)
	e.label(then)
	e.instrs(i.Body)
	thenEnd, otherwiseEnd := e.block, id(0)
	m.code.op(opBranch, merge)
	if i.Else != nil {
		e.label(otherwise)
		e.instrs(i.Else)
		otherwiseEnd = e.block
		m.code.op(opBranch, merge)
	}
	e.label(merge)
	for n, r := range i.Results {
		e.set(r, e.op(opPhi, e.typ(r.Type), e.get(i.Body.Yield[n]), thenEnd, e.get(i.Else.Yield[n]), otherwiseEnd))
	}
}

// barrier prints a barrier of the workgroup that makes stores to device and shared memory visible to its threads.
func (e *emitter) barrier() {
	const semantics = semanticsAcquireRelease | semanticsUniformMemory | semanticsWorkgroupMemory | semanticsMakeAvailable | semanticsMakeVisible
	workgroup := e.m.uint(scopeWorkgroup)
	e.m.code.op(opControlBarrier, workgroup, workgroup, e.m.uint(semantics))
}
