package ptx

import (
	"fmt"
	"strings"
)

// step is an instruction that is ready to run.
type step struct {
	line    int
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

// source is an operand: a register, or what has a slot like one.
type source struct {
	slot  int
	mask  uint64 // of the type's bits, of which the register may have more
	shift uint8  // 64 minus the bits of a signed type; 0 of others
}

// bits returns the bits of the operand, and zeros.
func (s source) bits(th *thread) uint64 {
	if th.written[s.slot] == never {
		th.unwritten(s.slot)
	}
	return th.regs[s.slot] & s.mask
}

// value returns the operand extended to 64 bits: with its sign if it has a signed type.
func (s source) value(th *thread) uint64 {
	return uint64(int64(s.bits(th)<<(s.shift&63)) >> (s.shift & 63))
}

// unwritten ends the run: the instruction reads a register that has no value.
func (th *thread) unwritten(slot int) {
	p := th.cta.m.Program
	for name, at := range p.slots {
		if at == slot && specials[name] {
			panic(runError{fmt.Errorf("line %d: %s is not run here", p.steps[th.pc].line, name)})
		} else if at == slot {
			panic(runError{fmt.Errorf("line %d: %s is read before it is written", p.steps[th.pc].line, name)})
		}
	}
}

// result is a register that an instruction writes.
type result struct {
	slot  int
	mask  uint64
	shift uint8 // 64 minus the bits of a signed type that has fewer than the register; 0 of others
}

// set writes the bits of a type to the register.
func (r result) set(th *thread, x uint64) {
	th.regs[r.slot] = uint64(int64(x<<(r.shift&63))>>(r.shift&63)) & r.mask
	th.written[r.slot] = fresh
}

// mask returns the low bits of x.
func mask(x uint64, bits int) uint64 {
	if bits == 64 {
		return x
	}
	return x & (1<<bits - 1)
}

// result returns the register of an operand that is written with a type.
func (p *Program) result(o operand, typ string) result {
	n, all := sizes[typ], sizes[p.e.registers[o.name]]
	r := result{slot: p.slots[o.name], mask: mask(^uint64(0), all)}
	switch {
	case typ[0] != 's':
		r.mask &= mask(^uint64(0), n)
	case n < all:
		r.shift = uint8(64 - n)
	}
	return r
}

// source returns an operand that is read as a type.
func (p *Program) source(o operand, typ string) source {
	in := source{mask: mask(^uint64(0), sizes[typ])}
	if typ[0] == 's' {
		in.shift = uint8(64 - sizes[typ])
	}
	if base, ok := p.bases[o.name]; o.form != nameOperand {
		in.slot = p.constant(o.value & in.mask)
	} else if ok {
		in.slot = p.constant(base)
	} else {
		in.slot = p.slot(o.name)
	}
	return in
}

// sources returns what reads the operands from first on as one type.
func (p *Program) sources(s *statement, typ string) []source {
	var list []source
	for _, o := range s.operands[1:] {
		list = append(list, p.source(o, typ))
	}
	return list
}

// step makes an instruction ready to run.
func (p *Program) step(s *statement) step {
	r, types, lanes, _ := find(s.op)
	out := step{line: s.line, guard: -1, negated: s.negated}
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
		to, from, out, in := types[0], types[1], p.result(o[0], types[0]), p.source(o[1], types[1])
		if to[0] != 'f' && from[0] != 'f' {
			return func(th *thread) { out.set(th, in.value(th)) }
		}
		return func(th *thread) { out.set(th, convertBits(op, to, from, in.value(th))) }
	case "selp":
		out, yes, no, chooses := p.result(o[0], typ), p.source(o[1], typ), p.source(o[2], typ), p.source(o[3], "pred")
		return func(th *thread) {
			from := no
			if chooses.bits(th) != 0 {
				from = yes
			}
			out.set(th, from.value(th))
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
	if do := p.frequent(s, op, typ); do != nil {
		return do
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
		return func(th *thread) { out.set(th, f(x.value(th), 0, 0)) }
	case 2:
		x, y := in[0], in[1]
		return func(th *thread) { out.set(th, f(x.value(th), y.value(th), 0)) }
	}
	x, y, z := in[0], in[1], in[2]
	return func(th *thread) { out.set(th, f(x.value(th), y.value(th), z.value(th))) }
}

// frequent returns the instructions that programs run most often, without the call of a function for what they compute;
// nil for others. Of integers the low bits of the result follow from those of the operands, whatever the sign.
func (p *Program) frequent(s *statement, op, typ string) func(th *thread) {
	out, in := p.result(s.operands[0], typ), append(p.sources(s, typ), source{}, source{})
	x, y, z := in[0], in[1], in[2]
	if typ == "f32" {
		switch op {
		case "add.rn":
			return func(th *thread) { out.set(th, canonical(f32of(x.bits(th))+f32of(y.bits(th)))) }
		case "mul.rn":
			return func(th *thread) { out.set(th, canonical(f32of(x.bits(th))*f32of(y.bits(th)))) }
		case "fma.rn":
			return func(th *thread) {
				out.set(th, canonical(float32(oddFMA(float64(f32of(x.bits(th))), float64(f32of(y.bits(th))), float64(f32of(z.bits(th)))))))
			}
		}
	}
	if typ[0] == 'f' {
		return nil
	}
	switch op {
	case "add":
		return func(th *thread) { out.set(th, x.bits(th)+y.bits(th)) }
	case "sub":
		return func(th *thread) { out.set(th, x.bits(th)-y.bits(th)) }
	case "mul.lo":
		return func(th *thread) { out.set(th, x.bits(th)*y.bits(th)) }
	case "mad.lo":
		return func(th *thread) { out.set(th, x.bits(th)*y.bits(th)+z.bits(th)) }
	case "and":
		return func(th *thread) { out.set(th, x.bits(th)&y.bits(th)) }
	}
	return nil
}

func (p *Program) shift(s *statement, op, typ string) func(th *thread) {
	out, in, count := p.result(s.operands[0], typ), p.source(s.operands[1], typ), p.source(s.operands[2], "u32")
	switch {
	case op == "bfe":
		length := p.source(s.operands[3], "u32")
		return func(th *thread) {
			n := int(length.bits(th))
			x := mask(in.value(th)>>count.bits(th), n)
			if typ[0] == 's' {
				x = uint64(int64(x<<(64-n)) >> (64 - n))
			}
			out.set(th, x)
		}
	case op == "shl":
		return func(th *thread) { out.set(th, in.bits(th)<<count.bits(th)) }
	case typ[0] == 's':
		return func(th *thread) { out.set(th, uint64(int64(in.value(th))>>count.bits(th))) }
	}
	return func(th *thread) { out.set(th, in.bits(th)>>count.bits(th)) }
}

func (p *Program) dot4(s *statement) func(th *thread) {
	o := s.operands
	out, x, y, z := p.result(o[0], "s32"), p.source(o[1], "b32"), p.source(o[2], "b32"), p.source(o[3], "s32")
	return func(th *thread) {
		a, b, sum := x.bits(th), y.bits(th), z.bits(th)
		for n := range 4 {
			sum += uint64(int64(int8(a>>(8*n))) * int64(int8(b>>(8*n))))
		}
		out.set(th, sum)
	}
}

// exp2 is as wrong as the documentation of ex2.approx allows.
func (p *Program) exp2(s *statement) func(th *thread) {
	out, in := p.result(s.operands[0], "f32"), p.source(s.operands[1], "f32")
	return func(th *thread) { out.set(th, approximateExp2(in.bits(th), th.cta.m.random)) }
}

// move runs mov, with its lists.
func (p *Program) move(s *statement, typ string) func(th *thread) {
	o := s.operands
	switch {
	case o[0].form == listOperand:
		n := sizes[typ] / len(o[0].list)
		in, out := p.source(o[1], typ), p.results(o[0].list, fmt.Sprint("b", n))
		return func(th *thread) {
			x := in.bits(th)
			for l := range out {
				out[l].set(th, x>>(l*n))
			}
		}
	case o[1].form == listOperand:
		n := sizes[typ] / len(o[1].list)
		out := p.result(o[0], typ)
		in := p.listed(o[1], fmt.Sprint("b", n))
		return func(th *thread) {
			x := uint64(0)
			for l := range in {
				x |= in[l].bits(th) << (l * n)
			}
			out.set(th, x)
		}
	}
	out, in := p.result(o[0], typ), p.source(o[1], typ)
	return func(th *thread) { out.set(th, in.bits(th)) }
}

func (p *Program) results(list []operand, typ string) []result {
	var out []result
	for _, o := range list {
		out = append(out, p.result(o, typ))
	}
	return out
}
