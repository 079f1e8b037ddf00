package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The instructions on matrices of warpgroups, from the text of section 9.7.15 of version 8.7 alone. A product runs as
// late as the waits allow. It reads what the async proxy sees of shared memory: what threads stored before a fence.

// warpgroup is the number of threads of four contiguous warps (9.7.15.1).
const warpgroup = 4 * warp

// hidden is in what the async proxy sees of shared memory before a fence shows it anything: NaN, whatever the type.
const hidden = 0xff

// proxy is what a thread of a program with such products keeps.
type proxy struct {
	busy    []int  // products under way to each register
	dirty   []span // of shared memory, stored since the last fence.proxy.async
	pending copies // products of the warpgroup, in its first thread
}

// span is bytes of shared memory.
type span struct{ at, n int }

// newProxies prepares a workgroup for such products.
func (c *cta) newProxies(n int) {
	c.async = make([]byte, len(c.shared))
	for i := range c.threads {
		c.threads[i].proxy = &proxy{busy: make([]int, n)}
	}
}

// forget is what a workgroup begins with.
func (p *proxy) forget() {
	clear(p.busy)
	p.dirty, p.pending = nil, copies{}
}

// stores records that a thread stores bytes of shared memory.
func (th *thread) stores(at *location, bytes []byte) {
	if at.shared && th.proxy != nil {
		th.storesAt(int(at.address.bits(th)+at.offset), len(bytes))
	}
}

// storesAt is the same for n bytes at an address.
func (th *thread) storesAt(first, n int) {
	if th.proxy != nil {
		th.dirty = append(th.dirty, span{first, n})
	}
}

// showDirty is fence.proxy.async: the async proxy sees what the thread stored.
func showDirty(th *thread) {
	for _, d := range th.dirty {
		copy(th.cta.async[d.at:d.at+d.n], th.cta.shared[d.at:])
	}
	th.dirty = th.dirty[:0]
}

// ofWarpgroup returns what an instruction does that all threads of a warpgroup run together; nil for others.
func (p *Program) ofWarpgroup(s *statement, op string) func(threads []thread) {
	switch {
	case op == "wgmma.fence.sync.aligned":
		return func(threads []thread) {
			for i := range threads {
				threads[i].settle()
			}
		}
	case op == "wgmma.commit_group.sync.aligned":
		return func(threads []thread) {
			c := &threads[0].pending
			c.under, c.open = append(c.under, c.open), nil
		}
	case op == "wgmma.wait_group.sync.aligned":
		left := int(s.operands[0].value)
		return func(threads []thread) {
			for c := &threads[0].pending; len(c.under) > left; c.under = c.under[1:] {
				for _, finish := range c.under[0] {
					finish()
				}
			}
		}
	case strings.HasPrefix(op, "wgmma.mma_async."):
		return p.multiplyAsync(s)
	}
	return nil
}

// settle is wgmma.fence in a thread.
func (th *thread) settle() {
	for i, w := range th.written {
		if w == fresh {
			th.written[i] = settled
		}
	}
}

// wgmma is an instruction wgmma.mma_async.
type wgmma struct {
	line       int
	typ        string // of the factors
	n          int    // columns
	d          []result
	a, b       source
	accumulate source
}

// multiplyAsync returns wgmma.mma_async.m64nNk16 with sums of f32 and both factors in shared memory.
func (p *Program) multiplyAsync(s *statement) func(threads []thread) {
	if s.operands[6].value != 0 || s.operands[7].value != 0 {
		return func([]thread) { panic(runError{fmt.Errorf("line %d: factors along m or n are not run here", s.line)}) }
	}
	words := strings.Split(s.op, ".")
	n, _ := strconv.Atoi(words[4][len("m64n") : len(words[4])-len("k16")])
	w := &wgmma{line: s.line, typ: words[6], n: n, d: p.results(s.operands[0].list, "f32"),
		a: p.source(s.operands[1], "b64"), b: p.source(s.operands[2], "b64"), accumulate: p.source(s.operands[3], "pred")}
	return func(threads []thread) {
		a, b, accumulate := w.a.bits(&threads[0]), w.b.bits(&threads[0]), w.accumulate.bits(&threads[0])
		for i := range threads {
			th := &threads[i]
			if w.a.bits(th) != a || w.b.bits(th) != b || w.accumulate.bits(th) != accumulate {
				w.fail("the threads of a warpgroup have different operands")
			}
			w.begin(th)
		}
		c := &threads[0].pending
		c.open = append(c.open, func() { w.finish(threads, a, b, accumulate != 0) })
	}
}

func (w *wgmma) fail(format string, args ...any) {
	panic(runError{fmt.Errorf("line %d: %s", w.line, fmt.Sprintf(format, args...))})
}

// begin takes the registers of the sums away from a thread.
func (w *wgmma) begin(th *thread) {
	for _, d := range w.d {
		switch {
		case th.written[d.slot] == fresh:
			w.fail("a register of the sums was written after the last wgmma.fence")
		case th.written[d.slot] == never && th.busy[d.slot] == 0:
			w.fail("a register of the sums is read before it is written")
		}
		th.written[d.slot] = never
		th.busy[d.slot]++
	}
}

// finish multiplies, and gives the registers back.
func (w *wgmma) finish(threads []thread, a, b uint64, accumulate bool) {
	x, y := w.matrix(&threads[0], a, 64), w.matrix(&threads[0], b, w.n)
	for i := range threads {
		th := &threads[i]
		for j, d := range w.d {
			if th.written[d.slot] != never {
				w.fail("a register of the sums is written while the product is under way")
			}
			row, col := 16*(i/warp)+i%warp/4+8*(j/2%2), 8*(j/4)+2*(i%4)+j%2
			sum := float32(0)
			if accumulate {
				sum = f32of(th.regs[d.slot])
			}
			for k := 15; k >= 0; k-- { // no order is stated
				sum += float32(x[row][k] * y[col][k])
			}
			th.regs[d.slot] = canonical(sum)
			th.busy[d.slot]--
			if th.busy[d.slot] == 0 {
				th.written[d.slot] = settled
			}
		}
	}
}

// Fields of a matrix descriptor, with the first and the last bit; those between have to be 0.
var descriptorFields = []struct{ from, to int }{{0, 13}, {16, 29}, {32, 45}}

// matrix returns the lines of 16 elements that a matrix descriptor describes (9.7.15.5.1.2): those of swizzling mode
// 0, where the elements are in groups of 8 lines of 16 bytes.
func (w *wgmma) matrix(th *thread, descriptor uint64, lines int) [][16]float32 {
	var fields [3]int
	rest := descriptor
	for i, f := range descriptorFields {
		fields[i] = int(mask(descriptor>>f.from, f.to-f.from+1)) << 4
		rest &^= (1<<(f.to-f.from+1) - 1) << f.from
	}
	if rest != 0 {
		w.fail("the descriptor %#x has a swizzling mode, or bits that have to be 0", descriptor)
	}
	start, leading, stride := fields[0], fields[1], fields[2]
	list := make([][16]float32, lines)
	for l := range list {
		for e := range list[l] {
			at := start + l/8*stride + l%8*16 + e/8*leading + e%8*2
			if at+2 > len(th.cta.async) {
				w.fail("the descriptor %#x describes bytes outside of shared memory", descriptor)
			}
			list[l][e] = part(get(th.cta.async[at:], 16), 0, w.typ)
		}
	}
	return list
}

// hasProxies reports whether a program uses the async proxy.
func (p *Program) hasProxies() bool {
	return slices.ContainsFunc(p.e.statements, func(s statement) bool {
		return strings.HasPrefix(s.op, "wgmma.") || strings.HasPrefix(s.op, "fence.proxy.async")
	})
}
