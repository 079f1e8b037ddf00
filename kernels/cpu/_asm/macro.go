package main

import (
	"fmt"
	"go/token"
	"go/types"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generator builds one file. Operands of its instructions are in Go's order: sources
// first, destination last, the reverse of Intel's manual.
type generator struct {
	instructions
	isa    isa
	labels int
	words  map[string]constant
	frame  *operand.Mem     // room of the current function, if it has some
	amxOps map[string]amxOp // operations on tile registers, by their placeholder opcodes: see encodeUnknown
}

// constant is words in read-only memory.
type constant struct {
	at    operand.Mem
	words []uint32
}

// isa is a vector width and what there is with it: AVX2 means 256 bits with FMA, F16C and BMI2, AVX512 512 bits with
// F, BW, DQ and VL.
type isa struct {
	name  string
	lanes int // float32 in a register
}

var (
	avx2    = isa{"AVX2", 8}
	avxVNNI = isa{"AVXVNNI", 8} // AVX2 and VPDPBUSD
	avx512  = isa{"AVX512", 16}
)

// wide reports whether registers have 512 bits.
func (g *generator) wide() bool { return g.isa.lanes == 16 }

// bytes returns the bytes of a register.
func (g *generator) bytes() int { return g.isa.lanes * 4 }

// vec returns a new vector register.
func (g *generator) vec() reg.VecVirtual {
	if g.wide() {
		return g.ZMM()
	}
	return g.YMM()
}

// vecs returns n new vector registers.
func (g *generator) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = g.vec()
	}
	return v
}

// half returns the register of half v's width that is its lower part.
func (g *generator) half(v reg.VecVirtual) reg.Register {
	if g.wide() {
		return v.AsY()
	}
	return v.AsX()
}

// param is a parameter of a function: pointers, integers, then floats.
type param struct {
	name string
	typ  types.Type
}

func pointers(names ...string) []param  { return params(types.Typ[types.UnsafePointer], names) }
func integers(names ...string) []param  { return params(types.Typ[types.Int], names) }
func addresses(names ...string) []param { return params(types.Typ[types.Uintptr], names) }
func singles(names ...string) []param   { return params(types.Typ[types.Float32], names) }
func doubles(names ...string) []param   { return params(types.Typ[types.Float64], names) }
func words(names ...string) []param     { return params(types.Typ[types.Uint32], names) }

func params(t types.Type, names []string) []param {
	var p []param
	for _, n := range names {
		p = append(p, param{n, t})
	}
	return p
}

// function starts a function. It is not preemptible: it calls nothing.
func (g *generator) function(name string, doc []string, results []param, in ...[]param) {
	var all []param
	for _, p := range in {
		all = append(all, p...)
	}
	g.Function(name)
	g.frame = nil
	g.Attributes(attr.NOSPLIT)
	g.Doc(doc...)
	sig := types.NewSignatureType(nil, nil, nil, tuple(all), tuple(results), false)
	g.Signature(gotypes.NewSignature(nil, sig))
}

func tuple(p []param) *types.Tuple {
	var vars []*types.Var
	for _, v := range p {
		vars = append(vars, types.NewParam(token.NoPos, nil, v.name, v.typ))
	}
	return types.NewTuple(vars...)
}

// arg loads a pointer or integer parameter.
func (g *generator) arg(name string) reg.GPVirtual {
	r := g.GP64()
	g.MOVQ(g.paramAt(name), r)
	return r
}

// paramAt returns where a parameter is in the frame.
func (g *generator) paramAt(name string) operand.Mem {
	p, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// argVec loads a float32 parameter into all lanes.
func (g *generator) argVec(name string) reg.VecVirtual {
	v := g.vec()
	g.VBROADCASTSS(g.paramAt(name), v)
	return v
}

// label returns a new name for a jump target.
func (g *generator) label(what string) string {
	g.labels++
	return fmt.Sprintf("%s%d", what, g.labels)
}

// ret ends the function, with the upper halves of registers clean for SSE code.
func (g *generator) ret() {
	g.VZEROUPPER()
	g.RET()
}

// word returns a constant of a full register of equal 32-bit words in read-only memory.
func (g *generator) word(name string, bits uint32) operand.Mem {
	return g.table(name, 16, func(int) uint32 { return bits })
}

// float returns a constant of a full register of equal float32.
func (g *generator) float(name string, v float64) operand.Mem {
	return g.word(name, math.Float32bits(float32(v)))
}

// table returns n 32-bit words in read-only memory. Those of one name are the same for all of a file.
func (g *generator) table(name string, n int, value func(i int) uint32) operand.Mem {
	words := make([]uint32, n)
	for i := range words {
		words[i] = value(i)
	}
	if c, ok := g.words[name]; ok {
		if !slices.Equal(c.words, words) {
			panic(fmt.Sprintf("asm: internal error: two constants are named %s", name))
		}
		return c.at
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, w := range words {
		g.AddDatum(4*i, operand.U32(w))
	}
	if g.words == nil {
		g.words = map[string]constant{}
	}
	g.words[name] = constant{m, words}
	return m
}

// mask selects the first n lanes, for n not above a register's.
type mask struct {
	k reg.Register // opmask with AVX-512, vector of sign bits with AVX2
}

// firstLanes makes a mask of the first n lanes; n is kept.
func (g *generator) firstLanes(n reg.GPVirtual) mask { return g.firstLanesFrom(n, 0) }

// firstLanesFrom makes a mask of the lanes first, first+1, … below n, for n at most 16.
func (g *generator) firstLanesFrom(n reg.GPVirtual, first int) mask {
	if g.wide() {
		one, k := g.GP64(), g.K()
		g.MOVQ(operand.U32(1), one)
		g.SHLXQ(n, one, one)
		g.DECQ(one)
		g.KMOVW(one.As32(), k)
		return mask{k}
	}
	ones := g.table("lanes", 32, func(i int) uint32 { return uint32(i/16) - 1 })
	at, v := g.GP64(), g.YMM()
	g.LEAQ(ones.Offset(64+first*4), at)
	back := g.GP64()
	g.MOVQ(n, back)
	g.NEGQ(back)
	g.VMOVUPS(operand.Mem{Base: at, Index: back, Scale: 4}, v)
	return mask{v}
}

// load reads a vector; with a mask lanes outside are not read and become 0.
func (g *generator) load(m operand.Mem, k *mask, v reg.VecVirtual) {
	switch {
	case k == nil:
		g.VMOVUPS(m, v)
	case g.wide():
		g.VMOVUPS_Z(m, k.k, v)
	default:
		g.VMASKMOVPS(m, k.k, v)
	}
}

// store writes a vector; with a mask lanes outside are not written.
func (g *generator) store(v reg.VecVirtual, k *mask, m operand.Mem) {
	switch {
	case k == nil:
		g.VMOVUPS(v, m)
	case g.wide():
		g.VMOVUPS(v, k.k, m)
	default:
		g.VMASKMOVPS(v, k.k, m)
	}
}

// zero clears registers.
func (g *generator) zero(vs ...reg.VecVirtual) {
	for _, v := range vs {
		if g.wide() {
			g.VPXORD(v, v, v)
		} else {
			g.VXORPS(v, v, v)
		}
	}
}

// rows addresses things at equal distances with one register for every three of them: the
// distance as index, scaled by 1 or 2, reaches two more.
type rows struct {
	bases  []reg.GPVirtual
	stride reg.GPVirtual
	each   int // things that a base reaches, if not three
}

// newRows makes addresses of n things from base on, at distances of stride bytes. base is used up.
func (g *generator) newRows(base, stride reg.GPVirtual, n int) rows {
	r := rows{bases: []reg.GPVirtual{base}, stride: stride}
	for i := 3; i < n; i += 3 {
		next, last := g.GP64(), r.bases[len(r.bases)-1]
		g.LEAQ(operand.Mem{Base: last, Index: stride, Scale: 2}, next)
		g.ADDQ(stride, next)
		r.bases = append(r.bases, next)
	}
	return r
}

// at is the memory disp bytes into thing i.
func (r rows) at(i, disp int) operand.Mem {
	each := 3
	if r.each > 0 {
		each = r.each
	}
	m := operand.Mem{Base: r.bases[i/each], Disp: disp}
	if i%each > 0 {
		m.Index, m.Scale = r.stride, uint8(i%each)
	}
	return m
}

// advance moves all by bytes.
func (g *generator) advance(r rows, bytes int) {
	for _, b := range r.bases {
		g.ADDQ(operand.I32(int32(bytes)), b)
	}
}

// exp replaces x by e^x, within 1.5 units in the last place: e^x = 2^n·e^r with n =
// round(x·log2 e) and |r| ≤ ln2/2, e^r by its Taylor series to r^7, whose rest is below
// 2^-27. n·ln2 is subtracted in two parts, of which the first is exact. Overflow gives
// infinity, underflow denormals and 0, NaN stays.
func (g *generator) exp(x reg.VecVirtual) {
	n, p := g.vec(), g.vec()
	// Clamped so that n stays small. NaN in the first operand of these survives.
	g.VMOVUPS(g.float("expMost", 89), p)
	g.VMINPS(x, p, x)
	g.VMOVUPS(g.float("expLeast", -104), p)
	g.VMAXPS(x, p, x)

	g.VMULPS(g.float("log2e", math.Log2E), x, n)
	if g.wide() {
		g.VRNDSCALEPS(operand.U8(0), n, n)
	} else {
		g.VROUNDPS(operand.U8(8), n, n)
	}
	const high = 0.693359375 // 355/512: n·high is exact
	g.VFNMADD231PS(g.float("ln2High", high), n, x)
	g.VFNMADD231PS(g.float("ln2Low", math.Ln2-high), n, x)

	factorial := 5040.0
	g.VMOVUPS(g.float("expC7", 1/factorial), p)
	for i := 7; i > 0; i-- {
		factorial /= float64(i)
		g.VFMADD213PS(g.float(fmt.Sprintf("expC%d", i-1), 1/factorial), x, p)
	}
	g.scaleByPower(p, n)
	if g.wide() {
		g.VMOVAPS(p, x)
	} else {
		g.VMOVAPS(p, x)
	}
}

// scaleByPower multiplies p by 2^n, n whole. AVX2 does it in two steps, as 2^n alone may
// be outside the range of normal numbers; the first is exact.
func (g *generator) scaleByPower(p, n reg.VecVirtual) {
	if g.wide() {
		g.VSCALEFPS(n, p, p)
		return
	}
	first := g.vec()
	g.VCVTPS2DQ(n, n)
	g.VPSRAD(operand.U8(1), n, first)
	g.VPSUBD(first, n, n)
	for _, e := range []reg.VecVirtual{first, n} {
		g.VPSLLD(operand.U8(23), e, e)
		g.VPADDD(g.word("one", 0x3f800000), e, e)
		g.VMULPS(e, p, p)
	}
}

// onePlusExpNeg sets e to 1 + e^-x.
func (g *generator) onePlusExpNeg(x, e reg.VecVirtual) {
	g.VXORPS(g.word("sign", 1<<31), x, e)
	g.exp(e)
	g.VADDPS(g.word("one", 0x3f800000), e, e)
}

// silu replaces x by x/(1+e^-x).
func (g *generator) silu(x reg.VecVirtual) {
	e := g.vec()
	g.onePlusExpNeg(x, e)
	g.VDIVPS(e, x, x)
}

// broadcast returns a word for all lanes as dot takes it.
func (g *generator) broadcast(at operand.Mem) operand.Op {
	if g.wide() {
		return at
	}
	v := g.vec()
	g.VPBROADCASTD(at, v)
	return v
}

// dot adds to each 32-bit lane of acc the products of four unsigned bytes of u with the
// four signed bytes of x: a register, or with AVX-512 memory of which one word serves all lanes. avo
// does not know VPDPBUSD.
func (g *generator) dot(x operand.Op, u, acc reg.VecVirtual) {
	i := &ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []operand.Op{x, u, acc},
		Inputs:   []operand.Op{x, u, acc},
		Outputs:  []operand.Op{acc},
		ISA:      []string{"AVX512VNNI"},
	}
	if !g.wide() {
		i.Opcode, i.ISA = opDotVEX, []string{"AVXVNNI"}
	}
	if _, ok := x.(operand.Mem); ok {
		i.Suffixes = []string{"BCST"}
	}
	g.Instruction(i)
}
