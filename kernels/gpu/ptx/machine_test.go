package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
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

// step runs each thread until it waits or returns, and then lets those go on that have what they wait for.
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

// exchange runs shfl.sync.bfly or redux.sync for a warp.
func exchange(warp []*thread) {
	s := warp[0].at()
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
	case "shfl.sync.bfly", "redux.sync.add", "redux.sync.max":
		th.state = atWarp
	case "bra":
		th.pc = th.cta.m.e.labels[s.operands[0].name]
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

// compute returns the result of an arithmetic instruction.
func (th *thread) compute(op, typ string, a []uint64) uint64 {
	switch typ {
	case "f32":
		return th.computeF32(op, a)
	case "f16":
		return computeF16(op, a)
	}
	signed := typ[0] == 's'
	switch op {
	case "add":
		return a[0] + a[1]
	case "sub":
		return a[0] - a[1]
	case "mul.lo":
		return a[0] * a[1]
	case "mad.lo":
		return a[0]*a[1] + a[2]
	case "div":
		if signed {
			return uint64(int64(a[0]) / int64(a[1]))
		}
		return a[0] / a[1]
	case "rem":
		if signed {
			return uint64(int64(a[0]) % int64(a[1]))
		}
		return a[0] % a[1]
	case "neg":
		return -a[0]
	case "min", "max":
		less := a[0] < a[1]
		if signed {
			less = int64(a[0]) < int64(a[1])
		}
		if less == (op == "min") {
			return a[0]
		}
		return a[1]
	case "and":
		return a[0] & a[1]
	case "or":
		return a[0] | a[1]
	case "xor":
		return a[0] ^ a[1]
	case "not":
		return ^a[0]
	}
	panic("not run here: " + op + "." + typ)
}

func (th *thread) computeF32(op string, a []uint64) uint64 {
	x := make([]float32, 3)
	for i, bits := range a {
		x[i] = f32of(bits)
	}
	switch op {
	case "add.rn":
		return canonical(x[0] + x[1])
	case "sub.rn":
		return canonical(x[0] - x[1])
	case "mul.rn":
		return canonical(x[0] * x[1])
	case "div.rn":
		return canonical(x[0] / x[1])
	case "fma.rn":
		return canonical(float32(oddFMA(float64(x[0]), float64(x[1]), float64(x[2]))))
	case "sqrt.rn":
		return canonical(float32(math.Sqrt(float64(x[0]))))
	case "abs":
		return a[0] &^ (1 << 31)
	case "neg":
		return a[0] ^ 1<<31
	case "copysign":
		return a[1]&^(1<<31) | a[0]&(1<<31)
	case "min", "max":
		return minMaxF32(op, x[0], x[1])
	case "ex2.approx":
		return th.approximate(math.Exp2(float64(x[0])))
	}
	panic("not run here: " + op + ".f32")
}

func minMaxF32(op string, x, y float32) uint64 {
	switch {
	case x != x:
		return canonical(y)
	case y != y:
		return canonical(x)
	case op == "min":
		return canonical(float32(math.Min(float64(x), float64(y))))
	}
	return canonical(float32(math.Max(float64(x), float64(y))))
}

// approximate returns a number up to 2 units in the last place beside x, the error that is documented for ex2.approx.
func (th *thread) approximate(x float64) uint64 {
	y := canonical(float32(x))
	if y == 0 || y >= 0x7f7ffff0 || x == 1 {
		return y
	}
	return y + uint64(th.cta.m.random.Intn(5)) - 2
}

func computeF16(op string, a []uint64) uint64 {
	x := make([]float64, 3)
	for i, bits := range a {
		x[i] = f16value(bits)
	}
	switch op {
	case "add.rn":
		return f16bits(x[0] + x[1])
	case "sub.rn":
		return f16bits(x[0] - x[1])
	case "mul.rn":
		return f16bits(x[0] * x[1])
	case "fma.rn":
		return f16bits(oddFMA(x[0], x[1], x[2]))
	case "neg":
		return a[0] ^ 1<<15
	case "min", "max":
		return f16bits(float64(f32of(minMaxF32(op, float32(x[0]), float32(x[1])))))
	}
	panic("not run here: " + op + ".f16")
}

// compareBits returns 1 if the comparison holds (9.3.1).
func compareBits(op, typ string, x, y uint64) uint64 {
	less, equal, unordered := x < y, x == y, false
	switch typ[0] {
	case 's':
		less = int64(x) < int64(y)
	case 'f':
		a, b := f32of(x), f32of(y)
		less, equal, unordered = a < b, a == b, a != a || b != b
	}
	holds := map[string]bool{
		"eq": equal, "ne": !equal && !unordered, "lt": less, "le": less || equal, "ge": !less && !unordered,
		"neu": !equal, "geu": !less, "nan": unordered,
	}
	if holds[op] {
		return 1
	}
	return 0
}

// convertBits returns x of type from as one of type to (9.7.8.18).
func convertBits(op, to, from string, x uint64) uint64 {
	switch {
	case to[0] != 'f' && from[0] != 'f':
		return x
	case to[0] != 'f':
		return wholeBits(to, floatOf(from, x))
	case from[0] != 'f':
		return intToFloat(op, to, from, x)
	}
	y := floatOf(from, x)
	switch op {
	case "cvt.rni":
		y = math.RoundToEven(y)
	case "cvt.rmi":
		y = math.Floor(y)
	}
	if to == "f16" {
		return f16bits(y)
	}
	return canonical(float32(y))
}

func floatOf(typ string, x uint64) float64 {
	if typ == "f16" {
		return f16value(x)
	}
	return float64(f32of(x))
}

// wholeBits converts toward 0; numbers that do not fit become the closest that does, NaN becomes 0.
func wholeBits(to string, x float64) uint64 {
	n := sizes[to]
	low, high := 0.0, math.Ldexp(1, n)
	if to[0] == 's' {
		low, high = -math.Ldexp(1, n-1), math.Ldexp(1, n-1)
	}
	switch x = math.Trunc(x); {
	case x != x:
		return 0
	case x < low:
		x = low
	case x >= high:
		if to[0] == 's' {
			n--
		}
		return mask(^uint64(0), n)
	}
	if x < 0 {
		return uint64(int64(x))
	}
	return uint64(x)
}

func intToFloat(op, to, from string, x uint64) uint64 {
	negative := from[0] == 's' && int64(x) < 0
	if negative {
		x = -x
	}
	var y uint64
	switch {
	case to == "f16":
		y = f16bits(float64(min(x, 1<<20)))
	case op == "cvt.rz":
		if n := 64 - bits.LeadingZeros64(x); n > 24 {
			x = x >> (n - 24) << (n - 24)
		}
		y = canonical(float32(x))
	default:
		y = canonical(float32(x))
	}
	if negative {
		y |= 1 << (sizes[to] - 1)
	}
	return y
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
