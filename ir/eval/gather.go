package eval

import (
	"fmt"
)

func gather(c *call) (Tensor, error) {
	table, idx := c.args[0].Tensor, c.args[1].Flat()
	flat, y := table.Flat(), New(len(idx), table.Shape[1])
	for i := range idx {
		r, err := index(idx, i, table.Shape[0], "idx")
		if err != nil {
			return Tensor{}, err
		}
		copy(y.row(y.Data, i), table.row(flat, r))
	}
	return y, nil
}

// index returns element i of an operand with indices below n, or an error.
func index(idx []float64, i, n int, name string) (int, error) {
	x := int(idx[i])
	if x < 0 || x >= n {
		return 0, fmt.Errorf("%s[%d] is %d: it must be in [0,%d)", name, i, x, n)
	}
	return x, nil
}

func take(c *call) (Tensor, error) {
	x, idx := c.args[0].Tensor, c.args[1].Tensor
	from, at, y := x.Flat(), idx.Flat(), New(idx.Shape...)
	for r := range y.rows() {
		row, in, out := x.row(from, r), idx.row(at, r), y.row(y.Data, r)
		for i := range out {
			j, err := index(in, i, len(row), "idx")
			if err != nil {
				return Tensor{}, err
			}
			out[i] = row[j]
		}
	}
	return y, nil
}
