package ptx

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// isFloat reports whether k is a kind of floating-point numbers, BF16 too.
func isFloat(k kir.Kind) bool { return k.Float() || k == kir.BF16 }

// convert prints the conversion of x, a number of kind from, to d of kind to.
func (e *emitter) convert(d string, to kir.Kind, x string, from kir.Kind) {
	switch {
	case from == kir.BF16:
		e.fromWide(d, to, e.bfloatToFloat(x))
	case to == kir.BF16 && from == kir.F32:
		e.floatToBfloat(d, x)
	case to == kir.BF16 && from == kir.F16:
		e.floatToBfloat(d, e.wide(x))
	case to == kir.BF16:
		e.floatToBfloat(d, e.intToOdd(x, kinds[from].reg))
	case isFloat(from) && isFloat(to):
		e.floatToFloat(d, to, x)
	case isFloat(from):
		e.floatToInt(d, to, x, numeric[from])
	case isFloat(to):
		e.ins("cvt.rn."+numeric[to]+"."+kinds[from].reg, d, x)
	default:
		e.intToInt(d, to, x, from)
	}
}

// fromWide converts an f32 to a kind that may be f32 itself.
func (e *emitter) fromWide(d string, to kir.Kind, x string) {
	if to == kir.F32 {
		e.ins("mov.f32", d, x)
		return
	}
	e.convert(d, to, x, kir.F32)
}

// floatToFloat converts between f32 and f16. Only narrowing takes a rounding modifier (9.7.8.18).
func (e *emitter) floatToFloat(d string, to kir.Kind, x string) {
	if to == kir.F32 {
		e.ins("cvt.f32.f16", d, x)
		return
	}
	e.ins("cvt.rn.f16.f32", d, x)
}

// floatToInt converts toward 0. The value fits, so 8-bit integers are converted as 16-bit ones.
func (e *emitter) floatToInt(d string, to kir.Kind, x, from string) {
	e.ins("cvt.rzi."+kinds[to].reg+"."+from, d, x)
}

// intToInt converts between integers, which are sign-extended or zero-extended in their registers. The source's sign
// decides about the high bits, so a longer result has its signedness.
func (e *emitter) intToInt(d string, to kir.Kind, x string, from kir.Kind) {
	source, bits := kinds[from].reg, 8*registerBytes(to)
	switch {
	case registerBytes(to) > registerBytes(from):
		e.ins(fmt.Sprintf("cvt.%c%d.%s", source[0], bits, source), d, x)
	case registerBytes(to) < registerBytes(from):
		e.ins(fmt.Sprintf("cvt.u%d.%s", bits, source), d, x)
	default:
		e.ins(fmt.Sprintf("mov.b%d", bits), d, x)
	}
	e.narrow(d, to, from)
}

// registerBytes returns the bytes of a register of the kind.
func registerBytes(k kir.Kind) int { return max(2, k.Bytes()) }

// narrow extends the low byte of d to its register, if d holds an 8-bit integer from a kind that may have higher bits.
func (e *emitter) narrow(d string, to, from kir.Kind) {
	switch {
	case to == kir.U8:
		e.ins("and.b16", d, d, "255")
	case to == kir.I8 && from != kir.I8:
		e.ins("cvt.s16.s8", d, d)
	}
}

// bfloatToFloat returns a bf16, the high half of an f32, as f32.
func (e *emitter) bfloatToFloat(x string) string {
	w := e.set("u32", "cvt.u32.u16", x)
	return e.set("f32", "mov.b32", e.set("u32", "shl.b32", w, "16"))
}

// floatToBfloat rounds an f32 to nearest even. It adds half a unit, less one bit if the bits that are left are even,
// and keeps the high half. Integers do this on every target; cvt.rn.bf16.f32 exists from sm_80 on. NaN stays NaN.
func (e *emitter) floatToBfloat(d, x string) {
	bits := e.set("u32", "mov.b32", x)
	odd := e.set("u32", "bfe.u32", bits, "16", "1")
	sum := e.set("u32", "add.u32", bits, e.set("u32", "add.u32", odd, "32767"))
	quiet := e.set("u32", "or.b32", bits, "0x400000")
	nan := e.set("pred", "setp.nan.f32", x, x)
	high := e.set("u32", "shr.u32", e.set("u32", "selp.b32", quiet, sum, nan), "16")
	e.ins("cvt.u16.u32", d, high)
}

// intToOdd returns an integer as f32, rounded toward 0 with the last bit set if that is not exact. Rounding it once
// more to fewer digits gives what rounding the integer would.
func (e *emitter) intToOdd(x, typ string) string {
	f := e.set("f32", "cvt.rz.f32."+typ, x)
	inexact := e.set("pred", "setp.ne."+typ, e.set(typ, "cvt.rzi."+typ+".f32", f), x)
	sticky := e.set("u32", "selp.u32", "1", "0", inexact)
	return e.set("f32", "mov.b32", e.set("u32", "or.b32", e.set("u32", "mov.b32", f), sticky))
}

// bitcast prints a bitcast. Lanes that are longer than the result's are split, and shorter ones are joined; the first
// lane has the low bits.
func (e *emitter) bitcast(i *kir.Instr) {
	from, to := i.Args[0].Type, i.Result().Type
	x, d := e.lanes(i.Args[0]), e.define(i.Result())
	switch n := from.Lanes / to.Lanes; {
	case from.Lanes == to.Lanes:
		for l := range d {
			e.ins("mov."+kinds[from.Kind].bits, d[l], x[l])
			e.narrow(d[l], to.Kind, from.Kind)
		}
	case n > 0:
		for l := range d {
			e.join(d[l], to.Kind, x[l*n:(l+1)*n], from.Kind)
		}
	default:
		n = to.Lanes / from.Lanes
		for l := range x {
			e.split(d[l*n:(l+1)*n], to.Kind, x[l], from.Kind)
		}
	}
}

// pack returns registers as the operand of a mov that packs or unpacks (9.7.8.4).
func pack(registers []string) string { return "{" + strings.Join(registers, ", ") + "}" }

// join prints the lanes x, together as long as d.
func (e *emitter) join(d string, to kir.Kind, x []string, from kir.Kind) {
	if from.Bytes() > 1 {
		e.ins("mov."+kinds[to].bits, d, pack(x))
		return
	}
	word := ""
	for n, b := range x {
		b = e.set("u32", "and.b32", e.set("u32", "cvt.u32.u16", b), "255")
		if n > 0 {
			b = e.set("u32", "or.b32", word, e.set("u32", "shl.b32", b, fmt.Sprint(8*n)))
		}
		word = b
	}
	if to.Bytes() == 2 {
		word = e.set("u16", "cvt.u16.u32", word)
	}
	e.ins("mov."+kinds[to].bits, d, word)
}

// split prints x as the lanes d, together as long.
func (e *emitter) split(d []string, to kir.Kind, x string, from kir.Kind) {
	if to.Bytes() > 1 {
		e.ins("mov."+kinds[from].bits, pack(d), x)
		return
	}
	word := ""
	if from.Bytes() == 2 {
		word = e.set("u32", "cvt.u32.u16", e.set("u16", "mov.b16", x))
	} else {
		word = e.set("u32", "mov.b32", x)
	}
	for n, lane := range d {
		typ := map[kir.Kind]string{kir.I8: "s32", kir.U8: "u32"}[to]
		b := e.set(typ, "bfe."+typ, word, fmt.Sprint(8*n), "8")
		e.ins("cvt."+kinds[to].reg+"."+typ, lane, b)
	}
}
