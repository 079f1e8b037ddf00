package ptx

import (
	"fmt"
	"strings"
)

// step is an instruction that is ready to run.
type step struct {
	kind    stepKind
	guard   int // register, or -1
	negated bool
	to      int // of a jump
	do      func(th *thread)
	meet    func(threads []thread) // of what threads of a warp or a warpgroup run together
}

type stepKind uint8

const (
	dataStep stepKind = iota // it computes, or accesses memory
	jumpStep
	warpStep
	warpgroupStep
	barrierStep
	endStep
)

// source returns an operand, extended to 64 bits: with its sign if it has a signed type.
type source func(th *thread) uint64

// result is a register that an instruction writes.
type result struct {
	slot   int
	shift  int // 64 minus the bits of a signed type; 0 of others
	typed  uint64
	stored uint64 // masks of the type's bits and of the register's, which may have more
}

// set writes the bits of a type to the register.
func (r *result) set(th *thread, x uint64) {
	if r.shift > 0 {
		x = uint64(int64(x<<r.shift) >> r.shift)
	} else {
		x &= r.typed
	}
	th.regs[r.slot] = x & r.stored
	th.written[r.slot] = true
	if th.proxy != nil {
		th.fresh[r.slot] = true
	}
}

// mask returns the low bits of x.
func mask(x uint64, bits int) uint64 {
	if bits == 64 {
		return x
	}
	return x & (1<<bits - 1)
}

// extend returns x, of a type, as 64 bits: sign-extended if the type is signed.
func extend(x uint64, typ string) uint64 {
	n := 64 - sizes[typ]
	if typ[0] == 's' {
		return uint64(int64(x<<n) >> n)
	}
	return x << n >> n
}

// result returns the register of an operand that is written with a type.
func (p *Program) result(o operand, typ string) result {
	r := result{slot: p.slots[o.name], typed: mask(^uint64(0), sizes[typ]), stored: mask(^uint64(0), sizes[p.e.registers[o.name]])}
	if typ[0] == 's' {
		r.shift = 64 - sizes[typ]
	}
	return r
}

// source returns what reads an operand as a type.
func (p *Program) source(o operand, typ string, line int) source {
	if o.form != nameOperand {
		x := extend(o.value, typ)
		return func(*thread) uint64 { return x }
	}
	if base, ok := p.bases[o.name]; ok {
		return func(*thread) uint64 { return base }
	}
	if slot, ok := p.slots[o.name]; ok {
		return p.register(slot, o.name, typ, line)
	}
	switch o.name {
	case "%tid.x":
		return func(th *thread) uint64 { return uint64(th.index) }
	case "%ctaid.x":
		return func(th *thread) uint64 { return uint64(th.cta.index) }
	case "%nctaid.x":
		return func(th *thread) uint64 { return uint64(th.cta.m.Groups) }
	case "%ntid.x":
		return func(th *thread) uint64 { return uint64(th.cta.m.Threads) }
	}
	return func(*thread) uint64 { panic(runError{fmt.Errorf("line %d: %s is not run here", line, o.name)}) }
}

// register returns what reads a register as a type.
func (p *Program) register(slot int, name, typ string, line int) source {
	get := func(th *thread) uint64 {
		if !th.written[slot] {
			panic(runError{fmt.Errorf("line %d: %s is read before it is written", line, name)})
		}
		return th.regs[slot]
	}
	n := 64 - sizes[typ]
	switch {
	case typ[0] == 's':
		return func(th *thread) uint64 { return uint64(int64(get(th)<<n) >> n) }
	case sizes[typ] < sizes[p.e.registers[name]]:
		return func(th *thread) uint64 { return get(th) << n >> n }
	}
	return get
}

// sources returns what reads the operands from first on as one type.
func (p *Program) sources(s *statement, typ string) []source {
	var list []source
	for _, o := range s.operands[1:] {
		list = append(list, p.source(o, typ, s.line))
	}
	return list
}

// step makes an instruction ready to run.
func (p *Program) step(s *statement) step {
	r, types, lanes, _ := find(s.op)
	out := step{guard: -1, negated: s.negated}
	if s.guard != "" {
		out.guard = p.slots[s.guard]
	}
	switch r.op {
	case "ret":
		out.kind = endStep
	case "bar.sync":
		out.kind = barrierStep
	case "bra":
		out.kind, out.to = jumpStep, p.e.labels[s.operands[0].name]
	case "shfl.sync.bfly":
		out.kind, out.meet = warpStep, p.shuffle(s)
	case "redux.sync.add":
		out.kind, out.meet = warpStep, p.reduce(s, types[0], sum32)
	case "redux.sync.max":
		out.kind, out.meet = warpStep, p.reduce(s, types[0], greatest)
	case "mma.sync.aligned.m16n8k16.row.col":
		out.kind, out.meet = warpStep, p.multiply(s)
	case "ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans.shared":
		out.kind, out.meet = warpStep, p.loadMatrices(s)
	case "cp.async.ca.shared.global", "cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group":
		out.do = p.async(s, r.op)
	case "fence.proxy.async", "fence.proxy.async.shared::cta":
		out.do = showDirty
	default:
		if out.meet = p.ofWarpgroup(s, r.op); out.meet != nil {
			out.kind = warpgroupStep
			break
		}
		out.do = p.data(s, r.op, types, lanes)
	}
	return out
}

// data returns what an instruction does that computes, or accesses memory.
func (p *Program) data(s *statement, op string, types []string, lanes int) func(th *thread) {
	o, typ := s.operands, types[0]
	switch op {
	case "ld.param":
		return p.loadParam(s, typ)
	case "ld.global", "ld.shared", "ld.global.nc":
		return p.load(s, typ, lanes)
	case "st.global", "st.shared":
		return p.store(s, typ, lanes)
	case "atom.global.add":
		return p.atomicAdd(s)
	case "mov":
		return p.move(s, typ)
	case "cvt", "cvt.rn", "cvt.rz", "cvt.rzi", "cvt.rni", "cvt.rmi":
		to, from, out, in := types[0], types[1], p.result(o[0], types[0]), p.source(o[1], types[1], s.line)
		if to[0] != 'f' && from[0] != 'f' {
			return func(th *thread) { out.set(th, in(th)) }
		}
		return func(th *thread) { out.set(th, convertBits(op, to, from, in(th))) }
	case "selp":
		out, in, chooses := p.result(o[0], typ), p.sources(s, typ), p.source(o[3], "pred", s.line)
		return func(th *thread) {
			n := 1
			if chooses(th) != 0 {
				n = 0
			}
			out.set(th, in[n](th))
		}
	case "shl", "shr", "bfe":
		return p.shift(s, op, typ)
	case "dp4a":
		return p.dot4(s)
	case "mul.wide":
		return p.compute(s, typ[:1]+"64", typ, func(a, b, _ uint64) uint64 { return a * b })
	}
	if name, ok := strings.CutPrefix(op, "setp."); ok {
		return p.compute(s, "pred", typ, comparing(name, typ))
	}
	if op == "ex2.approx" {
		return p.exp2(s)
	}
	f := meaningOf(op, typ)
	if f == nil {
		return func(*thread) { panic(runError{fmt.Errorf("line %d: %s is not run here", s.line, s.op)}) }
	}
	return p.compute(s, typ, typ, f)
}

// compute returns an instruction that applies a function to up to three operands.
func (p *Program) compute(s *statement, to, from string, f func(a, b, c uint64) uint64) func(th *thread) {
	out, in := p.result(s.operands[0], to), p.sources(s, from)
	switch len(in) {
	case 1:
		x := in[0]
		return func(th *thread) { out.set(th, f(x(th), 0, 0)) }
	case 2:
		x, y := in[0], in[1]
		return func(th *thread) { out.set(th, f(x(th), y(th), 0)) }
	}
	x, y, z := in[0], in[1], in[2]
	return func(th *thread) { out.set(th, f(x(th), y(th), z(th))) }
}

func (p *Program) shift(s *statement, op, typ string) func(th *thread) {
	out, in, count := p.result(s.operands[0], typ), p.source(s.operands[1], typ, s.line), p.source(s.operands[2], "u32", s.line)
	switch {
	case op == "bfe":
		length := p.source(s.operands[3], "u32", s.line)
		return func(th *thread) {
			n := int(length(th))
			x := mask(in(th)>>count(th), n)
			if typ[0] == 's' {
				x = uint64(int64(x<<(64-n)) >> (64 - n))
			}
			out.set(th, x)
		}
	case op == "shl":
		return func(th *thread) { out.set(th, in(th)<<count(th)) }
	case typ[0] == 's':
		return func(th *thread) { out.set(th, uint64(int64(in(th))>>count(th))) }
	}
	return func(th *thread) { out.set(th, in(th)>>count(th)) }
}

func (p *Program) dot4(s *statement) func(th *thread) {
	o := s.operands
	out, x, y, z := p.result(o[0], "s32"), p.source(o[1], "b32", s.line), p.source(o[2], "b32", s.line), p.source(o[3], "s32", s.line)
	return func(th *thread) {
		a, b, sum := x(th), y(th), z(th)
		for n := range 4 {
			sum += uint64(int64(int8(a>>(8*n))) * int64(int8(b>>(8*n))))
		}
		out.set(th, sum)
	}
}

// exp2 is as wrong as the documentation of ex2.approx allows.
func (p *Program) exp2(s *statement) func(th *thread) {
	out, in := p.result(s.operands[0], "f32"), p.source(s.operands[1], "f32", s.line)
	return func(th *thread) { out.set(th, approximateExp2(in(th), th.cta.m.random)) }
}

// move runs mov, with its lists.
func (p *Program) move(s *statement, typ string) func(th *thread) {
	o := s.operands
	switch {
	case o[0].form == listOperand:
		n := sizes[typ] / len(o[0].list)
		in, out := p.source(o[1], typ, s.line), p.results(o[0].list, fmt.Sprint("b", n))
		return func(th *thread) {
			x := in(th)
			for l := range out {
				out[l].set(th, x>>(l*n))
			}
		}
	case o[1].form == listOperand:
		n := sizes[typ] / len(o[1].list)
		out := p.result(o[0], typ)
		in := p.listed(s, o[1], fmt.Sprint("b", n))
		return func(th *thread) {
			x := uint64(0)
			for l := range in {
				x |= in[l](th) << (l * n)
			}
			out.set(th, x)
		}
	}
	out, in := p.result(o[0], typ), p.source(o[1], typ, s.line)
	return func(th *thread) { out.set(th, in(th)) }
}

func (p *Program) results(list []operand, typ string) []result {
	var out []result
	for _, o := range list {
		out = append(out, p.result(o, typ))
	}
	return out
}
