package spirv

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// isBits reports whether a kind is held as its bits, in integers of 32 bits.
func (e *emitter) isBits(k kir.Kind) bool {
	switch k {
	case kir.I8, kir.U8, kir.U16, kir.BF16:
		return true
	case kir.F16:
		return !e.native()
	}
	return false
}

// scalar returns the type of a lane of a kind that is not held as its bits.
func (e *emitter) scalar(k kir.Kind) id {
	switch k {
	case kir.Bool:
		return e.m.bool()
	case kir.F16:
		return e.m.f16()
	case kir.F32:
		return e.m.f32()
	case kir.U64:
		return e.m.integer(64)
	}
	return e.m.u32()
}

// typ returns the type of a t in a register.
func (e *emitter) typ(t kir.Type) id {
	if t.Tile != kir.NoTile {
		return e.tileType(t)
	}
	if e.isBits(t.Kind) {
		return e.m.vector(e.m.u32(), wordsOf(t))
	}
	return e.m.vector(e.scalar(t.Kind), t.Lanes)
}

// wordsOf returns how many u32 hold the bits of a t.
func wordsOf(t kir.Type) int { return (t.Bytes() + 3) / 4 }

// constant returns a constant with those bits.
func (e *emitter) constant(k kir.Kind, bits uint64) id {
	m := e.m
	switch k {
	case kir.Bool:
		if bits != 0 {
			return m.constant(opConstantTrue, m.bool())
		}
		return m.constant(opConstantFalse, m.bool())
	case kir.U64:
		return m.constant(opConstant, m.integer(64), uint32(bits), uint32(bits>>32))
	}
	return m.constant(opConstant, e.typ(kir.Scalar(k)), uint32(bits))
}

// lane returns lane n of a vector of SPIR-V, whose lanes have type t.
func (e *emitter) lane(x, t id, lanes, n int) id {
	if lanes == 1 {
		return x
	}
	return e.op(opCompositeExtract, t, x, uint32(n))
}

// construct joins scalars or vectors to a vector of n of t. A single one is that already.
func (e *emitter) construct(t id, n int, parts []id) id {
	if len(parts) == 1 {
		return parts[0]
	}
	return e.op(opCompositeConstruct, e.m.vector(t, n), parts...)
}

// join makes a vector of scalars.
func (e *emitter) join(lanes []id, t kir.Type) id {
	if e.isBits(t.Kind) {
		return e.pack(lanes, t)
	}
	return e.construct(e.scalar(t.Kind), t.Lanes, lanes)
}

// extract returns a lane of a vector.
func (e *emitter) extract(x id, t kir.Type, n int) id {
	if e.isBits(t.Kind) {
		return e.unpackLane(x, t, n, opBitFieldUExtract)
	}
	return e.lane(x, e.scalar(t.Kind), t.Lanes, n)
}

// pack returns the bits of lanes, each of which is in the low bits of a u32.
func (e *emitter) pack(lanes []id, t kir.Type) id {
	m, bits := e.m, 8*t.Kind.Bytes()
	perWord := min(32/bits, len(lanes))
	var parts []id
	for first := 0; first < len(lanes); first += perWord {
		word := lanes[first]
		if perWord*bits < 32 {
			word = e.op(opBitwiseAnd, m.u32(), word, m.uint(1<<bits-1))
		}
		for n := 1; n < perWord; n++ {
			word = e.op(opBitFieldInsert, m.u32(), word, lanes[first+n], m.uint(uint32(n*bits)), m.uint(uint32(bits)))
		}
		parts = append(parts, word)
	}
	return e.construct(m.u32(), len(parts), parts)
}

// unpackLane returns lane n of the bits of a t as a u32, by an instruction that fills with zeros or the sign.
func (e *emitter) unpackLane(x id, t kir.Type, n int, code opcode) id {
	m, bits := e.m, 8*t.Kind.Bytes()
	word := e.lane(x, m.u32(), wordsOf(t), n*bits/32)
	if code == opBitFieldUExtract && t.Lanes == 1 {
		return word
	}
	return e.op(code, m.u32(), word, m.uint(uint32(n*bits%32)), m.uint(uint32(bits)))
}

// unpack returns the lanes of the bits of a t as a vector of u32.
func (e *emitter) unpack(x id, t kir.Type, code opcode) id {
	var lanes []id
	for n := range t.Lanes {
		lanes = append(lanes, e.unpackLane(x, t, n, code))
	}
	return e.construct(e.m.u32(), t.Lanes, lanes)
}

// packAll is pack of the lanes of a vector of u32.
func (e *emitter) packAll(x id, t kir.Type) id {
	var lanes []id
	for n := range t.Lanes {
		lanes = append(lanes, e.lane(x, e.m.u32(), t.Lanes, n))
	}
	return e.pack(lanes, t)
}

// bitcast returns the bits of x, a from, as a to.
func (e *emitter) bitcast(x id, from, to kir.Type) id {
	if from.Kind == kir.F16 && e.native() && from.Lanes == 1 {
		x = e.construct(e.m.f16(), 2, []id{x, e.constant(kir.F16, 0)})
		x = e.op(opBitcast, e.m.u32(), x)
		from = kir.Scalar(kir.U16)
	}
	if to.Kind == kir.F16 && e.native() && to.Lanes == 1 {
		pair := e.op(opBitcast, e.m.vector(e.m.f16(), 2), x)
		return e.lane(pair, e.m.f16(), 2, 0)
	}
	if e.typ(from) == e.typ(to) {
		return x
	}
	return e.op(opBitcast, e.typ(to), x)
}
