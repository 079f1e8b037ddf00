package ptx

import (
	"fmt"
	"strings"
)

// The instructions on matrices, from the text of section 9.7.13.4 alone: element i of a thread's fragment is in the row and
// column that the formulas there state.

// loadMatrices runs ldmatrix.x4. The address of row r of matrix m is that of thread 8*m + r. A thread gets elements 2*(lane%4)
// and the next one of row lane/4 of each matrix, or with .trans of each transposed matrix.
func loadMatrices(warp []*thread, s *statement) {
	var matrices [4][8][8]uint64
	for n, th := range warp {
		row := th.place(s.operands[1], "shared", 16, 1)
		for c := range 8 {
			matrices[n/8][n%8][c] = get(row[2*c:], 16)
		}
	}
	trans := strings.Contains(s.op, ".trans.")
	for lane, th := range warp {
		for m := range 4 {
			var x uint64
			for n := range 2 {
				row, col := lane/4, 2*(lane%4)+n
				if trans {
					row, col = col, row
				}
				x |= matrices[m][row][col] << (16 * n)
			}
			th.write(s.operands[0].list[m], x, "b32")
		}
	}
}

// multiply runs mma.m16n8k16 with sums of f32. It adds the products backward, since no order is stated.
func multiply(warp []*thread, s *statement) {
	var a [16][16]float32
	var b [16][8]float32
	typ := strings.Split(s.op, ".")[7]
	for lane, th := range warp {
		group, member := lane>>2, lane%4
		for i := range 8 {
			row, col := group, member*2+i&1
			if i/2%2 == 1 {
				row += 8
			}
			if i >= 4 {
				col += 8
			}
			a[row][col] = th.part(s.operands[1], i, typ)
		}
		for i := range 4 {
			row := member*2 + i&1
			if i >= 2 {
				row += 8
			}
			b[row][group] = th.part(s.operands[2], i, typ)
		}
	}
	for lane, th := range warp {
		for i := range 4 {
			row, col := lane>>2, lane%4*2+i&1
			if i >= 2 {
				row += 8
			}
			sum := f32of(th.read(s.operands[3].list[i], "f32"))
			for k := 15; k >= 0; k-- {
				sum += float32(a[row][k] * b[k][col])
			}
			th.next = append(th.next, canonical(sum))
		}
	}
	for _, th := range warp { // the results may be among the operands
		for i, x := range th.next {
			th.write(s.operands[0].list[i], x, "f32")
		}
		th.next = nil
	}
}

// part returns element i of a fragment of 16-bit numbers, two of which are in a register.
func (th *thread) part(o operand, i int, typ string) float32 {
	bits := th.read(o.list[i/2], "b32") >> (16 * (i % 2)) & 0xffff
	switch typ {
	case "f16":
		return float32(f16value(bits))
	case "bf16":
		return f32of(bits << 16)
	}
	panic(fmt.Sprintf("fragments of %s", typ))
}
