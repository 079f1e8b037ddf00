package ptx

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// instr prints an instruction without blocks.
func (e *emitter) instr(i *kir.Instr) {
	if f, ok := perLane[i.Op]; ok {
		e.eachLane(i, f)
		return
	}
	switch i.Op {
	case kir.OpConst:
		k := i.Result().Type.Kind
		e.ins("mov."+kinds[k].mov, e.define(i.Result())[0], literal(k, i.Imm))
	case kir.OpThread, kir.OpGroup, kir.OpNumGroups, kir.OpLane, kir.OpSubgroup, kir.OpLanes:
		e.special(i)
	case kir.OpEq, kir.OpNe, kir.OpLt, kir.OpLe:
		e.ins("setp."+comparison(i)+"."+typeOf(i), e.define(i.Result())[0], e.lane(i.Args[0]), e.lane(i.Args[1]))
	case kir.OpSelect:
		e.choose(i)
	case kir.OpConvert:
		for l, d := range e.define(i.Result()) {
			e.convert(d, i.Result().Type.Kind, e.lanes(i.Args[0])[l], i.Args[0].Type.Kind)
		}
	case kir.OpBitcast:
		e.bitcast(i)
	case kir.OpVector:
		var list []string
		for _, a := range i.Args {
			list = append(list, e.lane(a))
		}
		e.alias(i.Result(), list)
	case kir.OpExtract:
		e.alias(i.Result(), e.lanes(i.Args[0])[i.Imm:][:1])
	case kir.OpDot4:
		// The bytes of both operands are signed (9.7.1.23).
		e.ins("dp4a.s32.s32", e.define(i.Result())[0], e.lane(i.Args[0]), e.lane(i.Args[1]), e.lane(i.Args[2]))
	case kir.OpReduceAdd, kir.OpReduceMax, kir.OpShuffleXor:
		e.subgroup(i)
	case kir.OpTileFill, kir.OpTileLoad, kir.OpTileSharedLoad, kir.OpTileTurned, kir.OpTileMulAdd, kir.OpTileSharedStore:
		e.tile(i)
	case kir.OpSlabFill, kir.OpSlabMulAdd, kir.OpSlabFence, kir.OpSlabCommit, kir.OpSlabWait, kir.OpSlabPublish, kir.OpSlabTile:
		e.slab(i)
	default:
		e.memory(i)
	}
}

// perLane are the operations that are made lane by lane, with what prints one lane: d is the result, a the operands.
var perLane = map[kir.Op]func(e *emitter, k kir.Kind, d string, a []string){
	kir.OpAdd: arithmetic("add"), kir.OpSub: arithmetic("sub"), kir.OpMul: arithmetic("mul"),
	kir.OpDiv: divide, kir.OpRem: arithmetic("rem"), kir.OpMin: extreme("min"), kir.OpMax: extreme("max"),
	kir.OpNeg: typed("neg"), kir.OpFMA: typed("fma.rn"),
	kir.OpAnd: bitwise("and"), kir.OpOr: bitwise("or"), kir.OpXor: bitwise("xor"), kir.OpNot: bitwise("not"),
	kir.OpShl: bitwise("shl"), kir.OpShr: typed("shr"),
	kir.OpSqrt: typed("sqrt.rn"), kir.OpFloor: typed("cvt.rmi.f32"), kir.OpRound: typed("cvt.rni.f32"),
	kir.OpExp: function((*emitter).exp), kir.OpLog: function((*emitter).log), kir.OpTanh: function((*emitter).tanh),
	kir.OpSin: function((*emitter).sin), kir.OpCos: function((*emitter).cos),
}

func (e *emitter) eachLane(i *kir.Instr, f func(e *emitter, k kir.Kind, d string, a []string)) {
	for l, d := range e.define(i.Result()) {
		var args []string
		for _, a := range i.Args {
			args = append(args, e.lanes(a)[l])
		}
		f(e, i.Args[0].Type.Kind, d, args)
	}
}

// numeric has the instruction type of each kind that is computed with.
var numeric = map[kir.Kind]string{kir.I32: "s32", kir.U32: "u32", kir.U64: "u64", kir.F32: "f32", kir.F16: "f16"}

func typeOf(i *kir.Instr) string { return numeric[i.Args[0].Type.Kind] }

// typed returns the printer of an instruction that has the type of its operands.
func typed(op string) func(*emitter, kir.Kind, string, []string) {
	return func(e *emitter, k kir.Kind, d string, a []string) {
		e.ins(op+"."+numeric[k], append([]string{d}, a...)...)
	}
}

// bitwise returns the printer of an instruction whose type is the operands' number of bits.
func bitwise(op string) func(*emitter, kir.Kind, string, []string) {
	return func(e *emitter, k kir.Kind, d string, a []string) {
		e.ins(op+"."+kinds[k].bits, append([]string{d}, a...)...)
	}
}

// arithmetic returns the printer of add, sub, mul or rem. Without .rn they may be contracted (9.7.3.3, 9.7.4.1).
func arithmetic(op string) func(*emitter, kir.Kind, string, []string) {
	return func(e *emitter, k kir.Kind, d string, a []string) {
		mod := ""
		if k.Float() {
			mod = ".rn"
		} else if op == "mul" {
			mod = ".lo"
		}
		e.ins(op+mod+"."+numeric[k], d, a[0], a[1])
	}
}

// divide prints a division. There is none of f16: the quotient in f32 has more than twice as many digits, so rounding
// it again gives the f16 closest to the exact quotient.
func divide(e *emitter, k kir.Kind, d string, a []string) {
	switch k {
	case kir.F16:
		q := e.set("f32", "div.rn.f32", e.wide(a[0]), e.wide(a[1]))
		e.ins("cvt.rn.f16.f32", d, q)
	case kir.F32:
		e.ins("div.rn.f32", d, a[0], a[1])
	default:
		e.ins("div."+numeric[k], d, a[0], a[1])
	}
}

// wide returns an f16 as f32.
func (e *emitter) wide(x string) string { return e.set("f32", "cvt.f32.f16", x) }

// extreme returns the printer of min or max. Of a number and a NaN both give the number (9.7.3.11, 9.7.4.7). Where f16
// has none, that of f32 gives the same.
func extreme(op string) func(*emitter, kir.Kind, string, []string) {
	return func(e *emitter, k kir.Kind, d string, a []string) {
		if k == kir.F16 && !e.target.hasMinF16() {
			e.ins("cvt.rn.f16.f32", d, e.set("f32", op+".f32", e.wide(a[0]), e.wide(a[1])))
			return
		}
		e.ins(op+"."+numeric[k], d, a[0], a[1])
	}
}

func function(f func(e *emitter, d, x string)) func(*emitter, kir.Kind, string, []string) {
	return func(e *emitter, _ kir.Kind, d string, a []string) { f(e, d, a[0]) }
}

// comparison returns the operator of setp. All are ordered except ne, which holds if an operand is NaN (9.3.1.2).
func comparison(i *kir.Instr) string {
	switch {
	case i.Op == kir.OpNe && i.Args[0].Type.Kind == kir.F32:
		return "neu"
	case i.Op == kir.OpNe:
		return "ne"
	case i.Op == kir.OpEq:
		return "eq"
	case i.Op == kir.OpLt:
		return "lt"
	}
	return "le"
}

// literal returns a constant with those bits.
func literal(k kir.Kind, bits uint64) string {
	switch k {
	case kir.I8:
		return fmt.Sprint(int8(bits))
	case kir.I32:
		return fmt.Sprint(int32(bits))
	case kir.F32:
		return number(math.Float32frombits(uint32(bits)))
	case kir.F16, kir.BF16, kir.U64:
		return fmt.Sprintf("0x%x", bits)
	}
	return fmt.Sprint(bits)
}

// number returns an f32 constant in the notation of its bits (4.6.1).
func number(x float32) string { return fmt.Sprintf("0f%08X", math.Float32bits(x)) }

// special prints what distinguishes threads. A workgroup has one dimension, and its warps are of consecutive threads,
// so lane and subgroup are digits of the thread's index; %warpid may change while the kernel runs (10.4).
func (e *emitter) special(i *kir.Instr) {
	d := e.define(i.Result())[0]
	switch i.Op {
	case kir.OpThread:
		e.ins("mov.u32", d, "%tid.x")
	case kir.OpGroup:
		e.ins("mov.u32", d, "%ctaid.x")
	case kir.OpNumGroups:
		e.ins("mov.u32", d, "%nctaid.x")
	case kir.OpLanes:
		e.ins("mov.s32", d, fmt.Sprint(warp))
	case kir.OpLane:
		e.ins("and.b32", d, e.set("u32", "mov.u32", "%tid.x"), fmt.Sprint(warp-1))
	case kir.OpSubgroup:
		e.ins("shr.u32", d, e.set("u32", "mov.u32", "%tid.x"), "5")
	}
}

// choose prints a select. There is no selp of predicates (9.7.5.3).
func (e *emitter) choose(i *kir.Instr) {
	cond, k := e.lane(i.Args[0]), i.Result().Type.Kind
	for l, d := range e.define(i.Result()) {
		x, y := e.lanes(i.Args[1])[l], e.lanes(i.Args[2])[l]
		if k != kir.Bool {
			e.ins("selp."+kinds[k].mov, d, x, y, cond)
			continue
		}
		x = e.set("pred", "and.pred", cond, x)
		y = e.set("pred", "and.pred", e.set("pred", "not.pred", cond), y)
		e.ins("or.pred", d, x, y)
	}
}
