package ptx

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// memory prints an instruction that accesses memory, and a barrier.
func (e *emitter) memory(i *kir.Instr) {
	switch i.Op {
	case kir.OpOffset:
		e.offset(i)
	case kir.OpLoad:
		e.load("ld.global", e.define(i.Result()), i.Result().Type, e.lane(i.Args[0]))
	case kir.OpLoadUniform:
		// Nothing writes these bytes, so the non-coherent cache may serve them (9.7.8.9).
		e.load("ld.global.nc", e.define(i.Result()), i.Result().Type, e.lane(i.Args[0]))
	case kir.OpStore:
		e.store("st.global", e.lane(i.Args[0]), e.lanes(i.Args[1]), i.Args[1].Type)
	case kir.OpAtomicAdd:
		e.ins("atom.global.add.u32", e.define(i.Result())[0], "["+e.lane(i.Args[0])+"]", e.lane(i.Args[1]))
	case kir.OpSharedLoad:
		e.load("ld.shared", e.define(i.Result()), i.Result().Type, e.element(i))
	case kir.OpSharedStore:
		e.store("st.shared", e.element(i), e.lanes(i.Args[1]), i.Args[1].Type)
	case kir.OpBarrier:
		e.ins("bar.sync", "0")
	case kir.OpCopyAsync:
		// .ca has all three sizes, .cg only 16, which then does not fill the cache of the multiprocessor (9.7.8.22.1).
		level := map[bool]string{true: "cg", false: "ca"}[i.Imm == 16]
		e.ins("cp.async."+level+".shared.global", "["+e.element(i)+"]", "["+e.lane(i.Args[1])+"]", fmt.Sprint(i.Imm))
	case kir.OpCopyCommit:
		e.ins("cp.async.commit_group")
	case kir.OpCopyWait:
		e.ins("cp.async.wait_group", fmt.Sprint(i.Imm))
	default:
		panic(fmt.Sprintf("ptx: %v is not printed", i.Op))
	}
}

// offset prints an index times bytes. The index is not negative, so it is multiplied as a u32.
func (e *emitter) offset(i *kir.Instr) {
	d, index := e.define(i.Result())[0], e.lane(i.Args[0])
	if i.Imm < 1<<32 {
		e.ins("mul.wide.u32", d, index, fmt.Sprint(i.Imm))
		return
	}
	e.ins("mul.lo.u64", d, e.set("u64", "cvt.u64.u32", index), fmt.Sprint(i.Imm))
}

// element returns the address of an element of a shared array.
func (e *emitter) element(i *kir.Instr) string {
	base := e.set("u32", "mov.u32", sharedName(i.Shared))
	return e.set("u32", "mad.lo.u32", e.lane(i.Args[0]), fmt.Sprint(i.Shared.Elem.Bytes()), base)
}

// load prints loads of a value, store the stores of one.
func (e *emitter) load(op string, d []string, t kir.Type, address string) {
	for n, part := range accesses(t) {
		e.ins(op+part.mods, part.operand(d), at(address, 16*n))
	}
}

func (e *emitter) store(op, address string, x []string, t kir.Type) {
	for n, part := range accesses(t) {
		e.ins(op+part.mods, at(address, 16*n), part.operand(x))
	}
}

func at(address string, offset int) string {
	if offset == 0 {
		return "[" + address + "]"
	}
	return fmt.Sprintf("[%s+%d]", address, offset)
}

// access is one instruction of a load or a store, of lanes from to to.
type access struct {
	mods     string // .v4.f32
	from, to int
}

// operand returns the access's lanes of a vector as an operand.
func (a access) operand(lanes []string) string {
	if a.to-a.from == 1 {
		return lanes[a.from]
	}
	return pack(lanes[a.from:a.to])
}

// accesses returns the instructions that access a t. One accesses 16 bytes at most (5.4.2), at an address that is a
// multiple of its size, as an address of a t is (6.4.1).
func accesses(t kir.Type) []access {
	n := min(t.Lanes, 16/t.Kind.Bytes())
	mods := "." + kinds[t.Kind].mem
	if n > 1 {
		mods = fmt.Sprintf(".v%d%s", n, mods)
	}
	var list []access
	for from := 0; from < t.Lanes; from += n {
		list = append(list, access{mods, from, from + n})
	}
	return list
}

// subgroup prints an operation among the threads of a warp, all of which are active.
func (e *emitter) subgroup(i *kir.Instr) {
	d, x := e.define(i.Result())[0], e.lane(i.Args[0])
	if i.Op == kir.OpShuffleXor {
		e.shuffle(d, x, int(i.Imm))
		return
	}
	op, k := map[kir.Op]string{kir.OpReduceAdd: "add", kir.OpReduceMax: "max"}[i.Op], i.Result().Type.Kind
	if k != kir.F32 && e.target.hasRedux() {
		e.ins("redux.sync."+op+"."+numeric[k], d, x, allLanes)
		return
	}
	combine := op + "." + numeric[k]
	if k == kir.F32 && op == "add" {
		combine = "add.rn.f32"
	}
	e.ins("mov."+kinds[k].mov, d, x)
	for mask := warp / 2; mask > 0; mask /= 2 {
		other := e.temp(kinds[k].reg)
		e.shuffle(other, d, mask)
		e.ins(combine, d, d, other)
	}
}

// allLanes is the mask of a warp's threads.
const allLanes = "0xffffffff"

// shuffle prints the exchange with the thread whose lane differs in the mask. The operand 31 makes the warp one segment
// (9.7.8.6).
func (e *emitter) shuffle(d, x string, mask int) {
	e.ins("shfl.sync.bfly.b32", d, x, fmt.Sprint(mask), fmt.Sprint(warp-1), allLanes)
}
