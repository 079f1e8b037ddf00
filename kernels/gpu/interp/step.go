package interp

import (
	"encoding/binary"
	"math"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// signal is what becomes of a thread after a step.
type signal uint8

const (
	proceed signal = iota
	interrupted
	parked // waits for other threads
	ended
	failed // a fault is recorded
)

// thread is a thread of a workgroup.
type thread struct {
	registers []uint64
	index     int32
	pc        int32
	state     signal
	copies    copies
	stored    []place // since the last slab_publish, of kernels with slabs
}

// run makes steps until one does not proceed.
func (g *group) run(t *thread) signal {
	code := g.m.code
	for {
		in := &code[t.pc]
		t.pc++
		if s := in.step(g, t, in); s != proceed {
			return s
		}
	}
}

func stepEnd(*group, *thread, *inst) signal { return ended }

// stepLane is stepLanes of one lane that needs no check.
func stepLane(_ *group, t *thread, in *inst) signal {
	r := t.registers
	r[in.dst] = in.run(r[in.a], r[in.b], r[in.c])
	return proceed
}

func stepLanes(g *group, t *thread, in *inst) signal {
	a, b, c := t.operand(in, in.a), t.operand(in, in.b), t.operand(in, in.c)
	for n := range in.lanes {
		if in.check != nil {
			if bad := in.check(a[n], b[n]); bad != "" {
				return g.fail(t, in, checkKinds[in.of.Op], "%s", bad)
			}
		}
		t.registers[in.dst+n] = in.run(a[n], b[n], c[n])
	}
	return proceed
}

// none are the lanes of an operand that an operation does not have.
var none [4]uint64

func (t *thread) operand(in *inst, register int32) []uint64 {
	if register == 0 {
		return none[:in.lanes]
	}
	return t.registers[register : register+in.lanes]
}

func stepMove(g *group, t *thread, in *inst) signal {
	r, buffer := t.registers, g.m.moving
	for n, from := range in.from {
		buffer[n] = r[from]
	}
	for n, to := range in.to {
		r[to] = buffer[n]
	}
	return proceed
}

func stepSelect(_ *group, t *thread, in *inst) signal {
	from := in.b
	if t.registers[in.a] == 0 {
		from = in.c
	}
	copy(t.registers[in.dst:in.dst+in.lanes], t.registers[from:from+in.lanes])
	return proceed
}

func stepBitcast(_ *group, t *thread, in *inst) signal {
	from, to := in.of.Args[0].Type, in.of.Result().Type
	var bytes [32]byte
	for n := range from.Lanes {
		put(bytes[n*from.Kind.Bytes():], from.Kind, t.registers[int(in.a)+n])
	}
	for n := range to.Lanes {
		t.registers[int(in.dst)+n] = get(bytes[n*to.Kind.Bytes():], to.Kind)
	}
	return proceed
}

// get reads a k from memory.
func get(from []byte, k kir.Kind) uint64 {
	switch k.Bytes() {
	case 1:
		return uint64(from[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(from))
	case 4:
		return uint64(binary.LittleEndian.Uint32(from))
	}
	return binary.LittleEndian.Uint64(from)
}

// put writes a k to memory.
func put(to []byte, k kir.Kind, x uint64) {
	switch k.Bytes() {
	case 1:
		to[0] = byte(x)
	case 2:
		binary.LittleEndian.PutUint16(to, uint16(x))
	case 4:
		binary.LittleEndian.PutUint32(to, uint32(x))
	default:
		binary.LittleEndian.PutUint64(to, x)
	}
}

func stepJump(_ *group, t *thread, in *inst) signal {
	t.pc = in.target
	return proceed
}

func stepBranch(_ *group, t *thread, in *inst) signal {
	if t.registers[in.a] == 0 {
		t.pc = in.target
	}
	return proceed
}

func stepCheckStep(g *group, t *thread, in *inst) signal {
	if s := int32(t.registers[in.a]); s <= 0 {
		return g.fail(t, in, Loop, "the step is %d", s)
	}
	return proceed
}

func stepLoopTest(_ *group, t *thread, in *inst) signal {
	if int32(t.registers[in.a]) >= int32(t.registers[in.b]) {
		t.pc = in.target
	}
	return proceed
}

func stepLoopNext(g *group, t *thread, in *inst) signal {
	next := int64(int32(t.registers[in.a])) + int64(int32(t.registers[in.b]))
	if next > math.MaxInt32 {
		return g.fail(t, in, Loop, "the index overflows: it would be %d", next)
	}
	t.registers[in.dst] = uint64(uint32(next))
	t.pc = in.target
	return proceed
}
