package ptx

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// location is the operand of an access to memory.
type location struct {
	address source
	offset  uint64
	bytes   int
	shared  bool
	line    int
}

// locate returns what finds the bytes at an address operand, in the memory that the instruction names.
func (p *Program) locate(s *statement, o operand, bytes int) location {
	if strings.Contains(s.op, ".shared") {
		return p.sharedPlace(s, o, bytes)
	}
	return p.globalPlace(s, o, bytes)
}

func (p *Program) sharedPlace(s *statement, o operand, bytes int) location {
	at := p.globalPlace(s, o, bytes)
	at.shared = true
	return at
}

func (p *Program) globalPlace(s *statement, o operand, bytes int) location {
	typ := "u64"
	if _, ok := p.bases[o.name]; !ok {
		typ = "b" + p.e.registers[o.name][1:]
	}
	return location{address: p.source(operand{name: o.name}, typ), offset: o.value, bytes: bytes, line: s.line}
}

// in returns the bytes, whose address has to be a multiple of their number, a power of two.
func (at *location) in(th *thread) []byte {
	address := at.address.bits(th) + at.offset
	if address&uint64(at.bytes-1) != 0 {
		panic(runError{fmt.Errorf("line %d: %d bytes at %#x", at.line, at.bytes, address)})
	}
	var found []byte
	if !at.shared {
		found = th.cta.m.memory.At(address, at.bytes)
	} else if address+uint64(at.bytes) <= uint64(len(th.cta.shared)) {
		found = th.cta.shared[address:][:at.bytes]
	}
	if found == nil {
		panic(runError{fmt.Errorf("line %d: %d bytes at %#x are outside of memory", at.line, at.bytes, address)})
	}
	return found
}

func lanesOf(o operand, lanes int) []operand {
	if lanes == 1 {
		return []operand{o}
	}
	return o.list
}

func (p *Program) loadParam(s *statement, typ string) func(th *thread) {
	out, n := p.result(s.operands[0], typ), slices.Index(p.e.paramNames, s.operands[1].name)
	shift := 8 * s.operands[1].value
	return func(th *thread) { out.set(th, th.cta.m.Words[n]>>shift) }
}

func (p *Program) load(s *statement, typ string, lanes int) func(th *thread) {
	n := sizes[typ] / 8
	out, at := p.results(lanesOf(s.operands[0], lanes), typ), p.locate(s, s.operands[1], lanes*n)
	return func(th *thread) {
		from := at.in(th)
		for l := range out {
			out[l].set(th, get(from[l*n:], 8*n))
		}
	}
}

func (p *Program) store(s *statement, typ string, lanes int) func(th *thread) {
	n := sizes[typ] / 8
	at := p.locate(s, s.operands[0], lanes*n)
	var in []source
	for _, o := range lanesOf(s.operands[1], lanes) {
		in = append(in, p.source(o, typ))
	}
	return func(th *thread) {
		to := at.in(th)
		th.stores(&at, to)
		for l := range in {
			put(to[l*n:], in[l].bits(th), 8*n)
		}
	}
}

func (p *Program) atomicAdd(s *statement) func(th *thread) {
	out, at, in := p.result(s.operands[0], "u32"), p.locate(s, s.operands[1], 4), p.source(s.operands[2], "u32")
	return func(th *thread) {
		bytes := at.in(th)
		old := get(bytes, 32)
		put(bytes, old+in.bits(th), 32)
		out.set(th, old)
	}
}

func get(p []byte, bits int) uint64 {
	switch bits {
	case 8:
		return uint64(p[0])
	case 16:
		return uint64(binary.LittleEndian.Uint16(p))
	case 32:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

func put(p []byte, x uint64, bits int) {
	switch bits {
	case 8:
		p[0] = byte(x)
	case 16:
		binary.LittleEndian.PutUint16(p, uint16(x))
	case 32:
		binary.LittleEndian.PutUint32(p, uint32(x))
	default:
		binary.LittleEndian.PutUint64(p, x)
	}
}
