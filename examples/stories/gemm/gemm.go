// Package gemm multiplies small float32 matrices so that the result depends
// neither on the processor nor on the shape of the tiles: every element of the
// product is summed in the order of the inner dimension, each term rounded
// before it is added, and no fused multiply-add is used.
package gemm

//go:generate go run -C _asm . -out ../tile_amd64.s -stubs ../tile_amd64.go -pkg gemm

const (
	tileRows = 4
	tileCols = 16
)

// Multiplier multiplies matrices; it holds the scratch memory for that.
// Its zero value is ready. It must not be used by two goroutines at once.
type Multiplier struct {
	panel []float32 // 16 columns of b, row after row
}

// Operand is the left matrix: element (i, p) is Data[i*RowStride+p*ColStride].
type Operand struct {
	Data                 []float32
	RowStride, ColStride int
}

// Rows is the row-major operand with ld elements from row to row.
func Rows(data []float32, ld int) Operand { return Operand{data, ld, 1} }

// Transposed is the transpose of the row-major matrix with ld elements from row to row.
func Transposed(data []float32, ld int) Operand { return Operand{data, 1, ld} }

// Add adds the product of a (m by k) and b (k by n, row-major, ldb elements
// from row to row) to c (m by n, row-major, ldc elements from row to row).
func (w *Multiplier) Add(m, n, k int, a Operand, b []float32, ldb int, c []float32, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	checkBounds(m, n, k, a, b, ldb, c, ldc)
	wide, tall := n-n%tileCols, m-m%tileRows
	if !haveTile {
		wide, tall = 0, 0
	}
	for j := 0; j < wide; j += tileCols {
		w.pack(k, b[j:], ldb)
		for i := 0; i < tall; i += tileRows {
			tile(k, &a.Data[i*a.RowStride], a.RowStride, a.ColStride, &w.panel[0], &c[i*ldc+j], ldc)
		}
	}
	addGo(0, tall, wide, n, k, a, b, ldb, c, ldc)
	addGo(tall, m, 0, n, k, a, b, ldb, c, ldc)
}

// checkBounds panics if the last element of an operand is outside its slice: the assembly
// does not check bounds.
func checkBounds(m, n, k int, a Operand, b []float32, ldb int, c []float32, ldc int) {
	_ = a.Data[(m-1)*a.RowStride+(k-1)*a.ColStride]
	_ = b[(k-1)*ldb+n-1]
	_ = c[(m-1)*ldc+n-1]
}

// pack copies 16 columns of b together: they are read once for each tile of rows.
func (w *Multiplier) pack(k int, b []float32, ldb int) {
	if need := k * tileCols; cap(w.panel) < need {
		w.panel = make([]float32, need)
	} else {
		w.panel = w.panel[:need]
	}
	for p := range k {
		copy(w.panel[p*tileCols:(p+1)*tileCols], b[p*ldb:])
	}
}

// addGo is the definition, for rows i0 to i1 and columns j0 to j1.
func addGo(i0, i1, j0, j1, k int, a Operand, b []float32, ldb int, c []float32, ldc int) {
	for i := i0; i < i1; i++ {
		for j := j0; j < j1; j++ {
			var sum float32
			for p := range k {
				// The conversion forbids fusing the product with the sum.
				sum += float32(a.Data[i*a.RowStride+p*a.ColStride] * b[p*ldb+j])
			}
			c[i*ldc+j] += sum
		}
	}
}
