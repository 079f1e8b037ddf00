package spirv

import (
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// machine runs the straight-line part of a module of one thread whose arguments are one u32, enough for conversions.
type machine struct {
	t      *testing.T
	values map[id][]uint32 // lanes
	arg    uint32
	stored [][]uint32
}

// execute runs a module with the argument and returns what it stores.
func execute(t *testing.T, module []uint32, arg uint32) [][]uint32 {
	m := &machine{t: t, values: make(map[id][]uint32), arg: arg}
	for at := headerWords; at < len(module); {
		n := int(module[at] >> 16)
		m.step(opcode(module[at]), module[at+1:at+n])
		at += n
	}
	return m.stored
}

// step runs one instruction. Operands are the type, the result and the rest.
func (m *machine) step(op opcode, o []uint32) {
	switch op {
	case opConstant:
		m.values[o[1]] = o[2:]
	case opConstantComposite, opCompositeConstruct:
		for _, part := range o[2:] {
			m.values[o[1]] = append(m.values[o[1]], m.values[part]...)
		}
	case opCompositeExtract:
		m.values[o[1]] = m.values[o[2]][o[3] : o[3]+1]
	case opLoad:
		m.values[o[1]] = []uint32{m.arg}
	case opStore:
		m.stored = append(m.stored, m.values[o[1]])
	case opBitcast, opUConvert:
		m.values[o[1]] = m.values[o[2]]
	case opBitFieldUExtract, opBitFieldInsert, opBitwiseAnd, opBitwiseOr, opBitwiseXor, opIAdd, opISub, opIMul, opFAdd,
		opShiftRightLogical, opShiftLeftLogical, opUGreaterThan, opSelect:
		m.lanes(op, o[1], o[2:])
	case opAccessChain, opConvertUToPtr, opVariable, opDecorate, opMemberDecorate, opCapability, opExtInstImport, opMemoryModel,
		opEntryPoint, opExecutionMode, opTypeVoid, opTypeBool, opTypeInt, opTypeFloat, opTypeVector, opTypeStruct, opTypePointer,
		opTypeFunction, opFunction, opLabel, opReturn, opFunctionEnd:
	default:
		m.t.Fatalf("no rule for opcode %d", op)
	}
}

// lanes runs an instruction lane by lane. Operands that are not vectors, as those of bit fields, are the same for all.
func (m *machine) lanes(op opcode, result id, operands []uint32) {
	var out []uint32
	for lane := range m.values[operands[0]] {
		var x [4]uint32
		for i, o := range operands {
			x[i] = m.values[o][min(lane, len(m.values[o])-1)]
		}
		out = append(out, m.scalar(op, x))
	}
	m.values[result] = out
}

func (m *machine) scalar(op opcode, x [4]uint32) uint32 {
	switch op {
	case opBitFieldUExtract:
		return x[0] >> x[1] & (1<<x[2] - 1)
	case opBitFieldInsert:
		mask := uint32(1<<x[3]-1) << x[2]
		return x[0]&^mask | x[1]<<x[2]&mask
	case opBitwiseAnd:
		return x[0] & x[1]
	case opBitwiseOr:
		return x[0] | x[1]
	case opBitwiseXor:
		return x[0] ^ x[1]
	case opIAdd:
		return x[0] + x[1]
	case opISub:
		return x[0] - x[1]
	case opIMul:
		return x[0] * x[1]
	case opFAdd:
		return math.Float32bits(math.Float32frombits(x[0]) + math.Float32frombits(x[1]))
	case opShiftRightLogical:
		return x[0] >> x[1]
	case opShiftLeftLogical:
		return x[0] << x[1]
	case opUGreaterThan:
		if x[0] > x[1] {
			return 1
		}
		return 0
	}
	return x[2-x[0]] // opSelect
}

// conversionKernel stores the bits of the argument m, an f32, as kind k, and the lanes of (1, m) and (m, 1, m, m) as
// words.
func conversionKernel(t *testing.T, k kir.Kind) []uint32 {
	b := kir.NewBuilder("convert", 1)
	bits, out := b.Arg("m", kir.U32), b.Bits(kir.U64, 0)
	x, one := b.Bitcast(bits, kir.Scalar(kir.F32)), b.Float(1)
	b.Store(out, b.Convert(b.Bitcast(b.Convert(x, k), kir.Scalar(kir.U16)), kir.U32))
	b.Store(out, b.Bitcast(b.Convert(b.Vector(one, x), k), kir.Scalar(kir.U32)))
	b.Store(out, b.Bitcast(b.Convert(b.Vector(x, one, x, x), k), kir.Vector(kir.U32, 2)))
	kernel, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	return words32(t, kernel)
}

// hardFloats returns f32 around all halves between neighbours of the upper 16 bits, and around those of f16.
func hardFloats() []uint32 {
	var out []uint32
	for high := uint32(0); high < 1<<16; high += 97 {
		for _, low := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff} {
			out = append(out, high<<16|low)
		}
	}
	for n := range uint32(1 << 11) { // multiples of a quarter of the smallest f16
		out = append(out, math.Float32bits(float32(n)*0x1p-26), math.Float32bits(-float32(n)*0x1p-26)+1)
	}
	return append(out, 0x477fefff, 0x477ff000, 0x47800000, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff)
}

// rounded returns the f32 with those bits as a float with that many bits of fraction and of exponent: an independent
// definition by scaling and rounding.
func rounded(bits uint32, fraction, exponent int) uint32 {
	x := float64(math.Float32frombits(bits))
	sign := bits >> 31 << (fraction + exponent)
	infinity := uint32(1<<exponent-1) << fraction
	if x != x {
		return infinity + 1 // any NaN
	}
	bias := 1<<(exponent-1) - 1
	_, e := math.Frexp(x)
	if e = max(e-1, 1-bias); x == 0 {
		e = 1 - bias
	}
	units := math.RoundToEven(math.Abs(math.Ldexp(x, fraction-e)))
	result := uint32(e+bias-1)<<fraction + uint32(units)
	if math.IsInf(x, 0) || result > infinity {
		result = infinity
	}
	return sign | result
}

// TestFloatsAreRoundedToEven runs the instructions of conversions to f16 and bf16.
func TestFloatsAreRoundedToEven(t *testing.T) {
	for _, f := range []struct {
		kind               kir.Kind
		fraction, exponent int
	}{{kir.F16, 10, 5}, {kir.BF16, 7, 8}} {
		module := conversionKernel(t, f.kind)
		one := rounded(math.Float32bits(1), f.fraction, f.exponent)
		infinity := uint32(1<<f.exponent-1) << f.fraction
		for _, x := range hardFloats() {
			stored := execute(t, module, x)
			got, want := stored[0][0], rounded(x, f.fraction, f.exponent)
			if got != want && !(got&0x7fff > infinity && got < 1<<16 && want > infinity) {
				t.Fatalf("%v of %#x: %#x instead of %#x", f.kind, x, got, want)
			}
			if stored[1][0] != got<<16|one || stored[2][0] != one<<16|got || stored[2][1] != got<<16|got {
				t.Fatalf("%v of %#x: lanes %#x do not have %#x", f.kind, x, stored, got)
			}
		}
	}
}

// TestHalvesAreUnpackedOneByOne counts the instructions, because Mesa 22.3 makes 0 of the second half of a constant.
func TestHalvesAreUnpackedOneByOne(t *testing.T) {
	module := words32(t, sample(t, "k", func(b *builder) { b.keep(b.Convert(b.read(kir.Vector(kir.F16, 4)), kir.F32)) }))
	unpacked := make(map[id]bool)
	for _, o := range declared(module, opExtInst) {
		unpacked[o[1]] = extended(o[3]) == glslUnpackHalf2x16
	}
	for _, o := range declared(module, opCompositeExtract) {
		if unpacked[o[2]] && o[3] != 0 {
			t.Errorf("lane %d of two unpacked halves is used", o[3])
		}
	}
	if len(unpacked) != 4 {
		t.Errorf("%d unpacked for 4 halves", len(unpacked))
	}
}
