package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// wideRow is the length of the widened model's rows: a multiple of all formats' blocks.
const wideRow = 256

// widen returns a model that computes the same function with rows of 256 elements:
//
//   - The hidden state x becomes c·R·x, where R has orthonormal columns, drawn at random, and c² is the ratio of the
//     widths. Its mean square is that of x, so that norms divide by the same. Weights of norms become part of the matrices
//     after them, so that norms commute with R.
//   - A head's values v become A·v with orthonormal columns in A, a matrix of its own for each head.
//   - The pairs of queries and keys that are rotated move to the places of a longer head whose frequencies are theirs. The
//     other places are zero. Queries grow by what the scale of the longer head takes away.
//   - What the feed-forward part lacks in size are rows and columns of zeros.
//
// Rotated weights are closer to a normal distribution than trained ones, as are those of wide models.
func (m *llama) widen() *llama {
	r := rand.New(rand.NewPCG(1, 2))
	head := m.width / m.heads
	w := &widener{llama: m, c: math.Sqrt(float64(wideRow) / float64(m.width)), r: columns(r, wideRow, m.width), long: wideRow / m.heads, head: head}
	big := *m
	big.width, big.ff, big.weights = wideRow, (m.ff+wideRow-1)/wideRow*wideRow, make(map[string]matrix)
	put := func(name string, x matrix) { big.weights[name+".weight"] = x }
	put("token_embd", w.fromHidden(w.weight("token_embd"), w.c))
	put("output_norm", ones(wideRow))
	put("output", w.normed(w.weight("output"), "output_norm"))
	for i := range m.layers {
		at := func(name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }
		put(at("attn_norm"), ones(wideRow))
		put(at("ffn_norm"), ones(wideRow))
		scale := math.Sqrt(float64(w.long) / float64(head))
		put(at("attn_q"), w.spread(w.normed(w.weight(at("attn_q")), at("attn_norm")), scale))
		put(at("attn_k"), w.spread(w.normed(w.weight(at("attn_k")), at("attn_norm")), 1))
		values := make([]matrix, m.heads)
		for h := range values {
			values[h] = columns(r, w.long, head)
		}
		put(at("attn_v"), w.toValues(w.normed(w.weight(at("attn_v")), at("attn_norm")), values))
		put(at("attn_output"), w.toHidden(w.fromValues(w.weight(at("attn_output")), values)))
		put(at("ffn_gate"), padded(w.normed(w.weight(at("ffn_gate")), at("ffn_norm")), big.ff, wideRow))
		put(at("ffn_up"), padded(w.normed(w.weight(at("ffn_up")), at("ffn_norm")), big.ff, wideRow))
		put(at("ffn_down"), padded(w.toHidden(w.weight(at("ffn_down"))), wideRow, big.ff))
	}
	return &big
}

// widener holds the maps of the hidden state.
type widener struct {
	*llama
	c          float64
	r          matrix // R
	head, long int    // elements of a head, before and after
}

func (w *widener) weight(name string) matrix { return w.weights[name+".weight"] }

// fromHidden returns s·x·Rᵀ: rows of x are hidden states, or read them.
func (w *widener) fromHidden(x matrix, s float64) matrix {
	y := newMatrix(x.rows, wideRow)
	for i := range y.rows {
		for j := range y.cols {
			sum := 0.0
			for k := range x.cols {
				sum += x.at(i, k) * w.r.at(j, k)
			}
			y.set(i, j, s*sum)
		}
	}
	return y
}

// normed returns a matrix that reads the hidden state after a norm, whose weights become part of it.
func (w *widener) normed(x matrix, norm string) matrix {
	y, weights := newMatrix(x.rows, x.cols), w.weight(norm)
	for i := range y.rows {
		for j := range y.cols {
			y.set(i, j, x.at(i, j)*weights.data[j])
		}
	}
	return w.fromHidden(y, 1/w.c)
}

// toHidden returns a matrix c·R·x, which adds to the hidden state.
func (w *widener) toHidden(x matrix) matrix {
	y := newMatrix(wideRow, x.cols)
	for i := range y.rows {
		for j := range y.cols {
			sum := 0.0
			for k := range x.rows {
				sum += w.r.at(i, k) * x.at(k, j)
			}
			y.set(i, j, w.c*sum)
		}
	}
	return y
}

// spread moves the rows of queries or keys to longer heads. Pair i of n has the frequency of pair i·(m/n) of m.
func (w *widener) spread(x matrix, s float64) matrix {
	y := newMatrix(w.heads*w.long, x.cols)
	for h := range w.heads {
		for e := range w.head {
			to := h*w.long + e/2*2*(w.long/w.head) + e%2
			for j := range x.cols {
				y.set(to, j, s*x.at(h*w.head+e, j))
			}
		}
	}
	return y
}

// toValues returns the rows of each head times the head's matrix.
func (w *widener) toValues(x matrix, a []matrix) matrix {
	y := newMatrix(w.heads*w.long, x.cols)
	for i := range y.rows {
		h := i / w.long
		for j := range x.cols {
			sum := 0.0
			for k := range w.head {
				sum += a[h].at(i%w.long, k) * x.at(h*w.head+k, j)
			}
			y.set(i, j, sum)
		}
	}
	return y
}

// fromValues returns a matrix that reads what toValues makes.
func (w *widener) fromValues(x matrix, a []matrix) matrix {
	y := newMatrix(x.rows, w.heads*w.long)
	for i := range x.rows {
		for j := range y.cols {
			h, sum := j/w.long, 0.0
			for k := range w.head {
				sum += x.at(i, h*w.head+k) * a[h].at(j%w.long, k)
			}
			y.set(i, j, sum)
		}
	}
	return y
}

// padded returns x with rows and columns of zeros.
func padded(x matrix, rows, cols int) matrix {
	y := newMatrix(rows, cols)
	for i := range x.rows {
		copy(y.data[i*cols:], x.data[i*x.cols:][:x.cols])
	}
	return y
}

func ones(n int) matrix {
	x := newMatrix(1, n)
	for i := range x.data {
		x.data[i] = 1
	}
	return x
}

// columns draws orthonormal columns, by Gram and Schmidt.
func columns(r *rand.Rand, rows, cols int) matrix {
	x := newMatrix(rows, cols)
	for c := range cols {
		for i := range rows {
			x.set(i, c, r.NormFloat64())
		}
		for range 2 { // twice, for rounding
			for b := range c {
				x.subtract(c, b, x.dot(c, b))
			}
		}
		length := math.Sqrt(x.dot(c, c))
		for i := range rows {
			x.set(i, c, x.at(i, c)/length)
		}
	}
	return x
}

// dot returns the product of two columns.
func (m matrix) dot(a, b int) (sum float64) {
	for i := range m.rows {
		sum += m.at(i, a) * m.at(i, b)
	}
	return sum
}

// subtract subtracts s times column b from column a.
func (m matrix) subtract(a, b int, s float64) {
	for i := range m.rows {
		m.set(i, a, m.at(i, a)-s*m.at(i, b))
	}
}
