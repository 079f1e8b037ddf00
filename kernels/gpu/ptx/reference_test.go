package ptx

import (
	"math"
	"math/big"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// reference runs kernels of kir whose threads do not meet: straight from what doc.go and op.go of kir state, one thread
// after the other. Values are the bits of their lanes.
type reference struct {
	k      *kir.Kernel
	memory []byte
	groups int
	group  int
	thread int
	values [][]uint64
}

// runReference runs all threads.
func runReference(k *kir.Kernel, groups int, args []uint64, memory []byte) {
	for g := range groups {
		for t := range k.Threads {
			r := &reference{k: k, memory: memory, groups: groups, group: g, thread: t, values: make([][]uint64, k.NumValues())}
			for i, a := range k.Args {
				r.values[a.ID] = []uint64{trim(a.Type.Kind, args[i])}
			}
			r.block(k.Body)
		}
	}
}

// trim returns the bits of a kind.
func trim(k kir.Kind, x uint64) uint64 {
	if k == kir.Bool {
		return x & 1
	}
	return mask(x, 8*k.Bytes())
}

func (r *reference) get(v *kir.Value) []uint64 { return r.values[v.ID] }

func (r *reference) list(values []*kir.Value) [][]uint64 {
	var all [][]uint64
	for _, v := range values {
		all = append(all, r.get(v))
	}
	return all
}

func (r *reference) block(b *kir.Block) [][]uint64 {
	for _, i := range b.Instrs {
		switch i.Op {
		case kir.OpFor:
			r.loop(i)
		case kir.OpIf:
			r.branch(i)
		default:
			r.instr(i)
		}
	}
	return r.list(b.Yield)
}

func (r *reference) loop(i *kir.Instr) {
	to, step := int32(r.get(i.Args[1])[0]), int32(r.get(i.Args[2])[0])
	carried := r.list(i.Args[3:])
	for n := int32(r.get(i.Args[0])[0]); n < to; n += step {
		r.values[i.Body.Params[0].ID] = []uint64{uint64(uint32(n))}
		for at, p := range i.Body.Params[1:] {
			r.values[p.ID] = carried[at]
		}
		carried = r.block(i.Body)
	}
	for at, v := range i.Results {
		r.values[v.ID] = carried[at]
	}
}

func (r *reference) branch(i *kir.Instr) {
	b := i.Body
	if r.get(i.Args[0])[0] == 0 {
		if b = i.Else; b == nil {
			return
		}
	}
	for at, x := range r.block(b) {
		r.values[i.Results[at].ID] = x
	}
}

func (r *reference) instr(i *kir.Instr) {
	if i.Op == kir.OpStore {
		x, t := r.get(i.Args[1]), i.Args[1].Type
		for l := range x {
			put(r.memory[r.get(i.Args[0])[0]-deviceBase+uint64(l*t.Kind.Bytes()):], x[l], 8*t.Kind.Bytes())
		}
		return
	}
	t := i.Result().Type
	out := make([]uint64, t.Lanes)
	switch i.Op {
	case kir.OpBitcast:
		from, joined := i.Args[0].Type.Kind, make([]byte, t.Bytes())
		for l, x := range r.get(i.Args[0]) {
			put(joined[l*from.Bytes():], x, 8*from.Bytes())
		}
		for l := range out {
			out[l] = get(joined[l*t.Kind.Bytes():], 8*t.Kind.Bytes())
		}
	case kir.OpVector:
		for l := range out {
			out[l] = r.get(i.Args[l])[0]
		}
	case kir.OpExtract:
		out[0] = r.get(i.Args[0])[i.Imm]
	case kir.OpLoad, kir.OpLoadUniform:
		for l := range out {
			out[l] = get(r.memory[r.get(i.Args[0])[0]-deviceBase+uint64(l*t.Kind.Bytes()):], 8*t.Kind.Bytes())
		}
	case kir.OpSelect:
		copy(out, r.get(i.Args[2-r.get(i.Args[0])[0]]))
	default:
		for l := range out {
			var a []uint64
			for _, x := range i.Args {
				a = append(a, r.get(x)[min(l, x.Type.Lanes-1)])
			}
			out[l] = trim(t.Kind, r.scalar(i, a))
		}
	}
	r.values[i.Result().ID] = out
}

// scalar returns the result of an operation on scalars.
func (r *reference) scalar(i *kir.Instr, a []uint64) uint64 {
	k := i.Result().Type.Kind
	if len(i.Args) > 0 {
		k = i.Args[0].Type.Kind
	}
	switch i.Op {
	case kir.OpConst:
		return i.Imm
	case kir.OpThread:
		return uint64(r.thread)
	case kir.OpGroup:
		return uint64(r.group)
	case kir.OpNumGroups:
		return uint64(r.groups)
	case kir.OpLane:
		return uint64(r.thread % 32)
	case kir.OpSubgroup:
		return uint64(r.thread / 32)
	case kir.OpLanes:
		return 32
	case kir.OpOffset:
		return a[0] * i.Imm
	case kir.OpConvert:
		return convertKind(i.Result().Type.Kind, k, a[0])
	case kir.OpDot4:
		sum := int32(a[2])
		for n := range 4 {
			sum += int32(int8(a[0]>>(8*n))) * int32(int8(a[1]>>(8*n)))
		}
		return uint64(sum)
	case kir.OpEq, kir.OpNe, kir.OpLt, kir.OpLe:
		return compareKind(i.Op, k, a[0], a[1])
	case kir.OpNot:
		return 1 - a[0]
	case kir.OpAnd:
		return a[0] & a[1]
	case kir.OpOr:
		return a[0] | a[1]
	case kir.OpXor:
		return a[0] ^ a[1]
	case kir.OpShl:
		return a[0] << a[1]
	case kir.OpShr:
		if k == kir.I32 {
			return uint64(int32(a[0]) >> a[1])
		}
		return a[0] >> a[1]
	}
	if k.Float() {
		return floatOp(i.Op, k, a)
	}
	return intOp(i.Op, k, a)
}

// float returns the number that bits of a floating-point kind are; every one is a float64.
func float(k kir.Kind, bits uint64) float64 {
	switch k {
	case kir.F16:
		return f16value(bits)
	case kir.BF16:
		return float64(f32of(bits << 16))
	}
	return float64(f32of(bits))
}

func bitsOf(k kir.Kind, x float64) uint64 {
	if k == kir.F16 {
		return f16bits(x)
	}
	return canonical(float32(x))
}

func floatOp(op kir.Op, k kir.Kind, a []uint64) uint64 {
	x := make([]float64, 3)
	for i := range a {
		x[i] = float(k, a[i])
	}
	switch op {
	case kir.OpAdd: // a sum of two f32 rounded to float64 rounds to the closest f32
		return bitsOf(k, x[0]+x[1])
	case kir.OpSub:
		return bitsOf(k, x[0]-x[1])
	case kir.OpMul:
		return bitsOf(k, x[0]*x[1])
	case kir.OpDiv:
		return bitsOf(k, x[0]/x[1])
	case kir.OpFMA:
		return bitsOf(k, oddFMA(x[0], x[1], x[2]))
	case kir.OpNeg:
		return a[0] ^ 1<<(8*k.Bytes()-1)
	case kir.OpMin, kir.OpMax:
		return minMaxKind(op, k, x[0], x[1])
	case kir.OpSqrt:
		return bitsOf(k, math.Sqrt(x[0]))
	case kir.OpFloor:
		return bitsOf(k, math.Floor(x[0]))
	case kir.OpRound:
		return bitsOf(k, math.RoundToEven(x[0]))
	}
	panic("the reference has no " + op.String())
}

func minMaxKind(op kir.Op, k kir.Kind, x, y float64) uint64 {
	switch {
	case x != x:
		return bitsOf(k, y)
	case y != y:
		return bitsOf(k, x)
	case op == kir.OpMin:
		return bitsOf(k, math.Min(x, y))
	}
	return bitsOf(k, math.Max(x, y))
}

func intOp(op kir.Op, k kir.Kind, a []uint64) uint64 {
	s := func(n int) int64 { return int64(int32(a[n])) }
	signed := k == kir.I32
	switch op {
	case kir.OpAdd:
		return a[0] + a[1]
	case kir.OpSub:
		return a[0] - a[1]
	case kir.OpMul:
		return a[0] * a[1]
	case kir.OpNeg:
		return -a[0]
	case kir.OpDiv:
		if signed {
			return uint64(s(0) / s(1))
		}
		return a[0] / a[1]
	case kir.OpRem:
		if signed {
			return uint64(s(0) % s(1))
		}
		return a[0] % a[1]
	case kir.OpMin:
		if signed {
			return uint64(min(s(0), s(1)))
		}
		return min(a[0], a[1])
	case kir.OpMax:
		if signed {
			return uint64(max(s(0), s(1)))
		}
		return max(a[0], a[1])
	}
	panic("the reference has no " + op.String())
}

func compareKind(op kir.Op, k kir.Kind, a, b uint64) uint64 {
	var equal, less bool
	switch k {
	case kir.F32:
		equal, less = f32of(a) == f32of(b), f32of(a) < f32of(b)
	case kir.I32:
		equal, less = a == b, int32(a) < int32(b)
	default:
		equal, less = a == b, a < b
	}
	holds := op == kir.OpEq && equal || op == kir.OpNe && !equal || op == kir.OpLt && less || op == kir.OpLe && (less || equal)
	if holds {
		return 1
	}
	return 0
}

// signedOf returns the number that bits of an integer kind are.
func signedOf(k kir.Kind, bits uint64) *big.Int {
	switch k {
	case kir.I8:
		return big.NewInt(int64(int8(bits)))
	case kir.I32:
		return big.NewInt(int64(int32(bits)))
	}
	return new(big.Int).SetUint64(bits)
}

// convertKind returns the number x of kind from as one of kind to, by numbers of any length.
func convertKind(to, from kir.Kind, x uint64) uint64 {
	if !isFloatKind(from) {
		n := signedOf(from, x)
		if !isFloatKind(to) {
			low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
			return low.Uint64()
		}
		return roundTo(to, new(big.Float).SetPrec(200).SetInt(n))
	}
	y := float(from, x)
	if from == kir.BF16 && to == kir.F32 {
		return x << 16
	}
	if isFloatKind(to) {
		if to == kir.BF16 && y != y {
			if from == kir.F16 {
				return 0x7fff
			}
			return x>>16 | 0x40
		}
		if y != y || math.IsInf(y, 0) || y == 0 {
			return specialBits(to, y)
		}
		return roundTo(to, new(big.Float).SetPrec(200).SetFloat64(y))
	}
	if y = math.Trunc(y); y < 0 {
		return uint64(int64(y))
	}
	return uint64(y)
}

func isFloatKind(k kir.Kind) bool { return k == kir.F32 || k == kir.F16 || k == kir.BF16 }

func specialBits(k kir.Kind, y float64) uint64 {
	if k == kir.BF16 {
		return canonical(float32(y)) >> 16
	}
	return bitsOf(k, y)
}

// roundTo rounds a number once, to the digits and exponents of a kind.
func roundTo(k kir.Kind, x *big.Float) uint64 {
	digits, least := 24, -149
	switch k {
	case kir.F16:
		digits, least = 11, -24
	case kir.BF16:
		digits, least = 8, -133
	}
	if x.Sign() == 0 {
		return 0
	}
	prec := min(digits, x.MantExp(nil)-least)
	if prec < 1 {
		// Below the least number: a half of it or less is 0.
		half := new(big.Float).SetMantExp(big.NewFloat(1), least-1)
		y := 0.0
		if new(big.Float).Abs(x).Cmp(half) > 0 {
			y = math.Ldexp(1, least)
		}
		if x.Signbit() {
			y = math.Copysign(y, -1)
		}
		return specialBits(k, y)
	}
	y, _ := new(big.Float).SetPrec(uint(prec)).SetMode(big.ToNearestEven).Set(x).Float64()
	return specialBits(k, y)
}
