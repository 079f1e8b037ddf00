package ptx

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// warp is the number of threads of a subgroup: WARP_SZ, 32 on all architectures (4.6).
const warp = 32

// Emit returns the kernel as a PTX module with one entry, whose name is the kernel's with _kernel at its end: kernels
// may be named like instructions. The text is a function of the arguments.
func Emit(k *kir.Kernel, t Target) (string, error) {
	if err := admit(k, t); err != nil {
		return "", err
	}
	e := &emitter{target: t, k: k, regs: make([][]string, k.NumValues()), counts: make(map[string]int)}
	e.arguments()
	e.block(k.Body)
	e.ins("ret")
	return e.header() + e.code.String() + "}\n", nil
}

// admit refuses kernels that are invalid or that PTX does not express.
func admit(k *kir.Kernel, t Target) error {
	if t >= numTargets {
		return fmt.Errorf("ptx: %v is no target", t)
	}
	if err := kir.Verify(k); err != nil {
		return err
	}
	if c := k.Name[0]; c >= '0' && c <= '9' {
		return fmt.Errorf("ptx: %s is no name for an entry: it begins with a digit (4.4)", k.Name)
	}
	var err error
	k.Body.Walk(func(i *kir.Instr) {
		needs := i.Op.Caps(kir.Type{})
		if needs&^t.caps() != 0 {
			err = fmt.Errorf("ptx: %s: %v does not have %v", k.Name, t, i.Op)
		}
		if k.Threads%warp != 0 && (needs == kir.CapTile || needsWarp[i.Op]) {
			err = fmt.Errorf("ptx: %s: %v needs whole subgroups: %d threads are no multiple of %d", k.Name, i.Op, k.Threads, warp)
		}
	})
	return err
}

// needsWarp are the operations besides those on tiles that all threads of a warp make together.
var needsWarp = map[kir.Op]bool{kir.OpReduceAdd: true, kir.OpReduceMax: true, kir.OpShuffleXor: true}

// emitter holds the text of the body while it is printed, and which registers have the lanes of each value.
type emitter struct {
	target Target
	k      *kir.Kernel
	code   strings.Builder
	regs   [][]string     // by Value.ID, a register for each lane
	counts map[string]int // registers by type
	labels int
}

// regTypes are the types of registers in the order of their declarations, with the prefixes of their names.
var regTypes = []struct{ typ, prefix string }{
	{"pred", "%p"}, {"s16", "%hs"}, {"u16", "%hu"}, {"b16", "%hb"}, {"f16", "%hf"}, {"b32", "%w"},
	{"s32", "%s"}, {"u32", "%u"}, {"f32", "%f"}, {"u64", "%d"},
}

// header returns the text before the body's instructions.
func (e *emitter) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".version %s\n.target %v\n.address_size 64\n\n", targets[e.target].version, e.target)
	// A launch with another number of threads fails (11.4.3).
	fmt.Fprintf(&b, ".visible .entry %s_kernel(\n\t.param .u64 %s\n)\n.reqntid %d, 1, 1\n{\n", e.k.Name, e.param(), e.k.Threads)
	for _, r := range regTypes {
		if n := e.counts[r.typ]; n > 0 {
			fmt.Fprintf(&b, "\t.reg .%s %s<%d>;\n", r.typ, r.prefix, n)
		}
	}
	for _, s := range e.k.Shared {
		fmt.Fprintf(&b, "\t.shared .align 16 .b8 %s[%d];\n", sharedName(s), s.Bytes())
	}
	return b.String()
}

// param and sharedName return names with a $, which names of kir do not have.
func (e *emitter) param() string      { return e.k.Name + "$args" }
func sharedName(s *kir.Shared) string { return "shared$" + s.Name }

// label returns a new label, place defines it here, branch and branchIf print jumps to it.
func (e *emitter) label() string {
	e.labels++
	return fmt.Sprintf("$L%d", e.labels)
}
func (e *emitter) place(label string)    { e.code.WriteString(label + ":\n") }
func (e *emitter) branch(to string)      { e.ins("bra", to) }
func (e *emitter) branchIf(p, to string) { e.code.WriteString("\t@" + p + " bra " + to + ";\n") }

// ins prints an instruction.
func (e *emitter) ins(op string, operands ...string) {
	e.code.WriteString("\t" + op)
	if len(operands) > 0 {
		e.code.WriteString(" " + strings.Join(operands, ", "))
	}
	e.code.WriteString(";\n")
}

// temp returns a new register of a type.
func (e *emitter) temp(typ string) string {
	for _, r := range regTypes {
		if r.typ == typ {
			e.counts[typ]++
			return fmt.Sprint(r.prefix, e.counts[typ]-1)
		}
	}
	panic("ptx: no registers of type " + typ)
}

// set prints an instruction whose result is a new register of a type, and returns the register.
func (e *emitter) set(typ, op string, operands ...string) string {
	d := e.temp(typ)
	e.ins(op, append([]string{d}, operands...)...)
	return d
}

// kinds has the types of registers, of moves, and of loads and stores for each kind, and the type with as many bits.
var kinds = map[kir.Kind]struct{ reg, mov, mem, bits string }{
	kir.Bool: {"pred", "pred", "", "pred"},
	kir.I8:   {"s16", "s16", "s8", "b16"},
	kir.U8:   {"u16", "u16", "u8", "b16"},
	kir.U16:  {"u16", "u16", "u16", "b16"},
	kir.BF16: {"b16", "b16", "b16", "b16"},
	kir.F16:  {"f16", "b16", "b16", "b16"},
	kir.I32:  {"s32", "s32", "s32", "b32"},
	kir.U32:  {"u32", "u32", "u32", "b32"},
	kir.F32:  {"f32", "f32", "f32", "b32"},
	kir.U64:  {"u64", "u64", "u64", "b64"},
}

// form is how a thread has a value: n registers of a type, and the type of moves.
type form struct {
	n        int
	reg, mov string
}

func formOf(t kir.Type) form {
	switch t.Tile {
	case kir.TileA, kir.TileB:
		return form{4, "b32", "b32"}
	case kir.TileSum:
		return form{8, "f32", "f32"}
	case kir.TileSlab:
		return form{t.Cols / 2, "f32", "f32"}
	}
	return form{t.Lanes, kinds[t.Kind].reg, kinds[t.Kind].mov}
}

// lanes returns the registers of a value, lane the one of a scalar.
func (e *emitter) lanes(v *kir.Value) []string { return e.regs[v.ID] }
func (e *emitter) lane(v *kir.Value) string    { return e.regs[v.ID][0] }

// define gives a value new registers.
func (e *emitter) define(v *kir.Value) []string {
	f := formOf(v.Type)
	list := make([]string, f.n)
	for i := range list {
		list[i] = e.temp(f.reg)
	}
	e.regs[v.ID] = list
	return list
}

// alias gives a value registers that another one has. No value is visible when its registers are written again: those
// of a loop's parameters are written when the body ends.
func (e *emitter) alias(v *kir.Value, registers []string) { e.regs[v.ID] = registers }

// argBytes is the distance of arguments.
const argBytes = 8

// arguments loads the arguments. Nothing writes them while the kernel runs, so the non-coherent cache may serve them
// (9.7.8.9).
func (e *emitter) arguments() {
	if len(e.k.Args) == 0 {
		return
	}
	block := e.set("u64", "ld.param.u64", "["+e.param()+"]")
	for i, a := range e.k.Args {
		e.ins("ld.global.nc."+kinds[a.Type.Kind].mem, e.define(a)[0], at(block, argBytes*i))
	}
}

// block prints the instructions of a block.
func (e *emitter) block(b *kir.Block) {
	for _, i := range b.Instrs {
		switch i.Op {
		case kir.OpFor:
			e.loop(i)
		case kir.OpIf:
			e.conditional(i)
		default:
			e.instr(i)
		}
	}
}

// loop prints a for. The index and the carried values have registers that are written before the first iteration and at
// the end of each; the results have the same ones.
func (e *emitter) loop(i *kir.Instr) {
	params := i.Body.Params
	for n, p := range params {
		from := i.Args[0]
		if n > 0 {
			from = i.Args[2+n]
		}
		if p.Type.Tile == kir.TileSlab { // products under way have these registers
			e.alias(p, e.lanes(from))
			continue
		}
		e.move(e.define(p), e.lanes(from), p.Type)
	}
	index, to, step := e.lane(params[0]), e.lane(i.Args[1]), e.lane(i.Args[2])
	body, end := e.label(), e.label()
	e.branchIf(e.set("pred", "setp.ge.s32", index, to), end)
	e.place(body)
	e.block(i.Body)
	e.carry(params[1:], i.Body.Yield)
	e.ins("add.s32", index, index, step)
	e.branchIf(e.set("pred", "setp.lt.s32", index, to), body)
	e.place(end)
	for n, r := range i.Results {
		e.alias(r, e.lanes(params[1+n]))
	}
}

// carry moves the next carried values to the parameters' registers, as if all at once. A register that is both read and
// written is copied to a temporary one first.
func (e *emitter) carry(params, next []*kir.Value) {
	written := make(map[string]bool)
	for _, p := range params {
		for _, r := range e.lanes(p) {
			written[r] = true
		}
	}
	sources := make([][]string, len(params))
	for n, p := range params {
		sources[n] = append([]string(nil), e.lanes(next[n])...)
		for l, r := range sources[n] {
			if written[r] && r != e.lanes(p)[l] {
				sources[n][l] = e.set(formOf(p.Type).reg, "mov."+formOf(p.Type).mov, r)
			}
		}
	}
	for n, p := range params {
		e.move(e.lanes(p), sources[n], p.Type)
	}
}

// move copies the registers of a value.
func (e *emitter) move(to, from []string, t kir.Type) {
	for l := range to {
		if to[l] != from[l] {
			e.ins("mov."+formOf(t).mov, to[l], from[l])
		}
	}
}

// conditional prints an if.
func (e *emitter) conditional(i *kir.Instr) {
	for _, r := range i.Results {
		e.define(r)
	}
	otherwise := e.label()
	e.branchIf("!"+e.lane(i.Args[0]), otherwise)
	e.arm(i, i.Body)
	if i.Else == nil {
		e.place(otherwise)
		return
	}
	end := e.label()
	e.branch(end)
	e.place(otherwise)
	e.arm(i, i.Else)
	e.place(end)
}

// arm prints a block of an if, and moves what it yields to the results.
func (e *emitter) arm(i *kir.Instr, b *kir.Block) {
	e.block(b)
	for n, r := range i.Results {
		e.move(e.lanes(r), e.lanes(b.Yield[n]), r.Type)
	}
}
