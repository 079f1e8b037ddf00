package ptx

import (
	"strings"
)

// The instructions on matrices, from the text of section 9.7.13.4 alone: element i of a thread's fragment is in the row
// and column that the formulas there state.

// loadMatrices returns ldmatrix.x4. The address of row r of matrix m is that of thread 8*m + r. A thread gets elements
// 2*(lane%4) and the next one of row lane/4 of each matrix, or with .trans of each transposed matrix.
func (p *Program) loadMatrices(s *statement) func(threads []thread) {
	out, at := p.results(s.operands[0].list, "b32"), p.sharedPlace(s, s.operands[1], 16)
	trans := strings.Contains(s.op, ".trans.")
	return func(threads []thread) {
		var matrices [4][8][8]uint64
		for n := range threads {
			row := at.in(&threads[n])
			for c := range 8 {
				matrices[n/8][n%8][c] = get(row[2*c:], 16)
			}
		}
		for lane := range threads {
			for m := range out {
				var x uint64
				for n := range 2 {
					row, col := lane/4, 2*(lane%4)+n
					if trans {
						row, col = col, row
					}
					x |= matrices[m][row][col] << (16 * n)
				}
				out[m].set(&threads[lane], x)
			}
		}
	}
}

// multiply returns mma.m16n8k16 with sums of f32. It adds the products backward, since no order is stated.
func (p *Program) multiply(s *statement) func(threads []thread) {
	typ := strings.Split(s.op, ".")[7]
	out := p.results(s.operands[0].list, "f32")
	a, b, c := p.listed(s.operands[1], "b32"), p.listed(s.operands[2], "b32"), p.listed(s.operands[3], "f32")
	return func(threads []thread) {
		var factors products
		factors.gather(threads, a, b, typ)
		for lane := range threads {
			th := &threads[lane]
			for i := range out {
				row, col := lane>>2, lane%4*2+i&1
				if i >= 2 {
					row += 8
				}
				th.next[i] = factors.sum(f32of(c[i].bits(th)), row, col)
			}
		}
		for lane := range threads { // the results may be among the operands
			for i, x := range threads[lane].next {
				out[i].set(&threads[lane], x)
			}
		}
	}
}

// products are the factors of an mma.
type products struct {
	a [16][16]float32
	b [16][8]float32
}

// gather collects the fragments of all threads.
func (m *products) gather(threads []thread, a, b []source, typ string) {
	for lane := range threads {
		group, member := lane>>2, lane%4
		for i := range 8 {
			row, col := group, member*2+i&1
			if i/2%2 == 1 {
				row += 8
			}
			if i >= 4 {
				col += 8
			}
			m.a[row][col] = part(a[i/2].bits(&threads[lane]), i, typ)
		}
		for i := range 4 {
			row := member*2 + i&1
			if i >= 2 {
				row += 8
			}
			m.b[row][group] = part(b[i/2].bits(&threads[lane]), i, typ)
		}
	}
}

// sum returns the bits of sum plus the products of a row and a column.
func (m *products) sum(sum float32, row, col int) uint64 {
	for k := 15; k >= 0; k-- {
		sum += float32(m.a[row][k] * m.b[k][col])
	}
	return canonical(sum)
}

// part returns element i of a fragment of 16-bit numbers, two of which are in a register.
func part(bits uint64, i int, typ string) float32 {
	bits = bits >> (16 * (i % 2)) & 0xffff
	if typ == "bf16" {
		return f32of(bits << 16)
	}
	return float32(f16value(bits))
}

// listed returns what reads the registers of a list.
func (p *Program) listed(o operand, typ string) []source {
	var in []source
	for _, part := range o.list {
		in = append(in, p.source(part, typ))
	}
	return in
}

// copies are the asynchronous copies of a thread: those since the last commit, and the committed groups, the oldest
// first.
type copies struct {
	open  []func()
	under [][]func()
}

// async returns the instructions of cp.async. A copy is made as late as the waits allow.
func (p *Program) async(s *statement, op string) func(th *thread) {
	switch op {
	case "cp.async.commit_group":
		return func(th *thread) {
			th.under = append(th.under, th.open)
			th.open = nil
		}
	case "cp.async.wait_group":
		left := int(s.operands[0].value)
		return func(th *thread) {
			for len(th.under) > left {
				for _, arrive := range th.under[0] {
					arrive()
				}
				th.under = th.under[1:]
			}
		}
	}
	n := int(s.operands[2].value)
	to, from := p.sharedPlace(s, s.operands[0], n), p.globalPlace(s, s.operands[1], n)
	return func(th *thread) {
		dst, src, place := to.in(th), from.in(th), int(to.address.bits(th)+to.offset)
		th.open = append(th.open, func() {
			copy(dst, src)
			th.storesAt(place, n)
		})
	}
}
