package ptx

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// machine runs PTX text, for the instructions that Check knows. It shares nothing with Emit. Of a workgroup one thread runs at
// a time, until it waits for others; the order is random.
type machine struct {
	e      *entry
	memory []byte // device memory, from deviceBase on
	random *rand.Rand
	args   []uint64
	groups int
	found  []instruction // of each statement
}

// instruction is what find returns.
type instruction struct {
	op    string
	types []string
	lanes int
}

const deviceBase = 0x7f0000001000

// cta is a workgroup.
type cta struct {
	m       *machine
	index   int
	shared  []byte
	bases   map[string]uint64
	threads []*thread
}

// thread is a thread of a workgroup, with the bits of its registers.
type thread struct {
	cta   *cta
	index int
	pc    int
	regs  map[string]uint64
	state threadState
	next  []uint64   // results of an instruction that reads other threads
	open  []func()   // copies since the last commit
	under [][]func() // committed groups of copies, the oldest first
}

type threadState uint8

const (
	running threadState = iota
	atWarp              // at an instruction that threads of a warp run together
	atBarrier
	returned
)

// run runs a module with one entry.
func run(t *testing.T, text string, groups int, args []uint64, memory []byte, seed int64) {
	t.Helper()
	mod, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{e: mod.entries[0], memory: memory, random: rand.New(rand.NewSource(seed)), args: args, groups: groups}
	for _, s := range m.e.statements {
		r, types, lanes, _ := find(s.op)
		if r == nil {
			t.Fatalf("line %d: %s is not known", s.line, s.op)
		}
		m.found = append(m.found, instruction{r.op, types, lanes})
	}
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%v\n%s", r, text)
		}
	}()
	for _, g := range m.random.Perm(groups) {
		m.group(g)
	}
}

func (m *machine) group(index int) {
	c := &cta{m: m, index: index, bases: make(map[string]uint64)}
	for name, v := range m.e.shared {
		for len(c.shared)%v.align != 0 {
			c.shared = append(c.shared, 0xa5)
		}
		c.bases[name] = uint64(len(c.shared))
		for range v.bytes {
			c.shared = append(c.shared, 0xa5)
		}
	}
	for n := range m.e.threads[0] {
		c.threads = append(c.threads, &thread{cta: c, index: n, regs: make(map[string]uint64)})
	}
	for c.step() {
	}
}

// step runs each thread until it waits or returns, and then releases those that all the others have caught up with.
func (c *cta) step() bool {
	for _, n := range c.m.random.Perm(len(c.threads)) {
		for th := c.threads[n]; th.state == running; {
			th.step()
		}
	}
	if c.all(c.threads, returned) {
		return false
	}
	if c.all(c.threads, atBarrier) {
		c.release(c.threads)
		return true
	}
	moved := false
	for w := 0; w < len(c.threads); w += 32 {
		if group := c.threads[w:min(w+32, len(c.threads))]; c.all(group, atWarp) && len(group) == 32 {
			exchange(group)
			c.release(group)
			moved = true
		}
	}
	if !moved {
		panic("threads wait for each other")
	}
	return true
}

func (c *cta) all(threads []*thread, s threadState) bool {
	for _, th := range threads {
		if th.state != s || th.pc != threads[0].pc {
			return false
		}
	}
	return true
}

func (c *cta) release(threads []*thread) {
	for _, th := range threads {
		th.state = running
		th.pc++
	}
}

// exchange runs an instruction that all threads of a warp make together.
func exchange(warp []*thread) {
	s := warp[0].at()
	switch name, _, _ := strings.Cut(s.op, "."); name {
	case "ldmatrix":
		loadMatrices(warp, s)
		return
	case "mma":
		multiply(warp, s)
		return
	}
	in := make([]uint64, len(warp))
	for i, th := range warp {
		in[i] = th.read(s.operands[1], "b32")
	}
	if mask := warp[0].read(s.operands[len(s.operands)-1], "b32"); mask != 0xffffffff {
		panic(fmt.Sprintf("a warp meets with the mask %#x", mask))
	}
	for i, th := range warp {
		var out uint64
		switch s.op {
		case "shfl.sync.bfly.b32":
			if th.read(s.operands[3], "b32") != 31 {
				panic("segments of shfl are not run here")
			}
			out = in[i^int(th.read(s.operands[2], "b32"))]
		case "redux.sync.add.s32", "redux.sync.add.u32":
			for _, x := range in {
				out = uint64(uint32(out + x))
			}
		case "redux.sync.max.s32", "redux.sync.max.u32":
			out = in[0]
			for _, x := range in {
				if s.op[len(s.op)-3] == 's' && int32(x) > int32(out) || s.op[len(s.op)-3] == 'u' && x > out {
					out = x
				}
			}
		}
		th.write(s.operands[0], out, "b32")
	}
}

func (th *thread) at() *statement { return &th.cta.m.e.statements[th.pc] }

// mask returns the low bits of x.
func mask(x uint64, bits int) uint64 {
	if bits == 64 {
		return x
	}
	return x & (1<<bits - 1)
}

// extend returns x, of a type, as 64 bits: sign-extended if the type is signed.
func extend(x uint64, typ string) uint64 {
	n := 64 - sizes[typ]
	if typ[0] == 's' {
		return uint64(int64(x<<n) >> n)
	}
	return x << n >> n
}

// read returns an operand, extended from the type to 64 bits.
func (th *thread) read(o operand, typ string) uint64 {
	if o.form != nameOperand {
		return extend(o.value, typ)
	}
	if base, ok := th.cta.bases[o.name]; ok {
		return base
	}
	switch o.name {
	case "%tid.x":
		return uint64(th.index)
	case "%ctaid.x":
		return uint64(th.cta.index)
	case "%nctaid.x":
		return uint64(th.cta.m.groups)
	}
	x, ok := th.regs[o.name]
	if !ok {
		panic(fmt.Sprintf("line %d: %s is read before it is written", th.at().line, o.name))
	}
	return extend(x, typ)
}

// write writes the bits of a type to a register, which may be wider.
func (th *thread) write(o operand, x uint64, typ string) {
	th.regs[o.name] = mask(extend(x, typ), sizes[th.cta.m.e.registers[o.name]])
}

// step runs the instruction at pc.
func (th *thread) step() {
	s := th.at()
	if s.guard != "" && (th.regs[s.guard] != 0) == s.negated {
		th.pc++
		return
	}
	in := th.cta.m.found[th.pc]
	switch in.op {
	case "ret":
		th.state = returned
	case "bar.sync":
		th.state = atBarrier
	case "shfl.sync.bfly", "redux.sync.add", "redux.sync.max", "mma.sync.aligned.m16n8k16.row.col",
		"ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans.shared":
		th.state = atWarp
	case "bra":
		th.pc = th.cta.m.e.labels[s.operands[0].name]
	case "cp.async.ca.shared.global", "cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group":
		th.copy(s, in.op)
		th.pc++
	default:
		th.data(s, in.op, in.types, in.lanes)
		th.pc++
	}
}

// data runs an instruction that computes, or accesses memory.
func (th *thread) data(s *statement, op string, types []string, lanes int) {
	o := s.operands
	typ := types[0]
	in := func(n int) uint64 { return th.read(o[n], typ) }
	switch op {
	case "ld.param", "ld.global", "ld.shared", "ld.global.nc":
		th.load(s, op, typ, lanes)
	case "st.global", "st.shared":
		parts := lanesOf(o[1], lanes)
		for l, part := range parts {
			put(th.place(o[0], op, lanes*sizes[typ]/8, lanes)[l*sizes[typ]/8:], th.read(part, typ), sizes[typ])
		}
	case "atom.global.add":
		p := th.place(o[1], op, 4, 1)
		th.write(o[0], get(p, 32), "u32")
		put(p, get(p, 32)+in(2), 32)
	case "mov":
		th.move(o, typ)
	case "cvt", "cvt.rn", "cvt.rz", "cvt.rzi", "cvt.rni", "cvt.rmi":
		th.write(o[0], convertBits(op, types[0], types[1], th.read(o[1], types[1])), types[0])
	case "selp":
		n := 2
		if th.read(o[3], "pred") != 0 {
			n = 1
		}
		th.write(o[0], in(n), typ)
	case "shl", "shr":
		count, x := th.read(o[2], "u32"), in(1)
		if op == "shl" {
			th.write(o[0], x<<count, typ)
		} else if typ[0] == 's' {
			th.write(o[0], uint64(int64(x)>>count), typ)
		} else {
			th.write(o[0], x>>count, typ)
		}
	case "bfe":
		x := in(1) >> th.read(o[2], "u32")
		length := int(th.read(o[3], "u32"))
		x = mask(x, length)
		if typ[0] == 's' {
			x = uint64(int64(x<<(64-length)) >> (64 - length))
		}
		th.write(o[0], x, typ)
	case "dp4a":
		sum := in(3)
		for n := range 4 {
			a, b := int8(th.read(o[1], "b32")>>(8*n)), int8(th.read(o[2], "b32")>>(8*n))
			sum += uint64(int64(a) * int64(b))
		}
		th.write(o[0], sum, "s32")
	case "mul.wide":
		th.write(o[0], in(1)*in(2), "u64")
	default:
		if name, ok := strings.CutPrefix(op, "setp."); ok {
			th.write(o[0], compareBits(name, typ, in(1), in(2)), "pred")
			return
		}
		var args []uint64
		for n := range o[1:] {
			args = append(args, in(n+1))
		}
		th.write(o[0], th.compute(op, typ, args), typ)
	}
}

// copy runs the instructions of cp.async. A copy is made as late as the waits allow.
func (th *thread) copy(s *statement, op string) {
	switch op {
	case "cp.async.commit_group":
		th.under = append(th.under, th.open)
		th.open = nil
	case "cp.async.wait_group":
		for len(th.under) > int(s.operands[0].value) {
			for _, arrive := range th.under[0] {
				arrive()
			}
			th.under = th.under[1:]
		}
	default:
		n := int(s.operands[2].value)
		to, from := th.place(s.operands[0], "shared", n, 1), th.place(s.operands[1], "global", n, 1)
		th.open = append(th.open, func() { copy(to, from) })
	}
}

// move runs mov, with its lists.
func (th *thread) move(o []operand, typ string) {
	switch {
	case o[0].form == listOperand:
		x, n := th.read(o[1], typ), sizes[typ]/len(o[0].list)
		for l, part := range o[0].list {
			th.write(part, x>>(l*n), fmt.Sprint("b", n))
		}
	case o[1].form == listOperand:
		x, n := uint64(0), sizes[typ]/len(o[1].list)
		for l, part := range o[1].list {
			x |= th.read(part, fmt.Sprint("b", n)) << (l * n)
		}
		th.write(o[0], x, typ)
	default:
		th.write(o[0], th.read(o[1], typ), typ)
	}
}

func (th *thread) load(s *statement, op, typ string, lanes int) {
	var from []byte
	if op == "ld.param" {
		for n, name := range th.cta.m.e.paramNames {
			if name == s.operands[1].name {
				from = binary.LittleEndian.AppendUint64(nil, th.cta.m.args[n])
			}
		}
	} else {
		from = th.place(s.operands[1], op, lanes*sizes[typ]/8, lanes)
	}
	for l, part := range lanesOf(s.operands[0], lanes) {
		th.write(part, get(from[l*sizes[typ]/8:], sizes[typ]), typ)
	}
}

func lanesOf(o operand, lanes int) []operand {
	if lanes == 1 {
		return []operand{o}
	}
	return o.list
}

// place returns the bytes at an address, which has to be a multiple of their number.
func (th *thread) place(o operand, op string, n, lanes int) []byte {
	address := th.regs[o.name] + o.value
	if address%uint64(n) != 0 {
		panic(fmt.Sprintf("line %d: %d bytes at %#x", th.at().line, n, address))
	}
	space := th.cta.m.memory
	if strings.Contains(op, "shared") {
		space = th.cta.shared
	} else {
		address -= deviceBase
	}
	if address+uint64(n) > uint64(len(space)) {
		panic(fmt.Sprintf("line %d: %d bytes at %#x are outside of memory", th.at().line, n, address))
	}
	return space[address:][:n]
}

func get(p []byte, bits int) (x uint64) {
	for n := bits/8 - 1; n >= 0; n-- {
		x = x<<8 | uint64(p[n])
	}
	return x
}

func put(p []byte, x uint64, bits int) {
	for n := range bits / 8 {
		p[n] = byte(x >> (8 * n))
	}
}
