package parts

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
)

// weight returns what a weight after is of one before: what its expression takes of the other's.
func (c *checker) weight(name string) (piece, error) {
	v := original(c.leaves, name)
	if v == nil || v.Def == nil || v.Def.Op != ir.OpWeight {
		return piece{}, fmt.Errorf("there is no such weight before")
	}
	from, to := c.before.Weight(v.Def.Attr.(*ir.WeightAttr).Name), c.after.Weight(name)
	if from.Expr.Equal(to.Expr) {
		return whole(v), nil
	}
	if e := to.Expr; e.Op == ir.ExprColumns && e.Args[0].Equal(from.Expr) {
		return piece{of: v, axis: from.Type.Rank() - 1, runs: runs{{e.First, e.First + e.Count}}}, nil
	}
	rows, err := rowsOf(to.Expr, from.Expr)
	if err != nil {
		return piece{}, err
	}
	return rowPiece(v, to.Type, rows)
}

// rowsOf returns the rows that an expression takes of another one.
func rowsOf(e, of *ir.Expr) (runs, error) {
	switch {
	case e.Op == ir.ExprRows && e.Args[0].Equal(of):
		return runs{{e.First, e.First + e.Count}}, nil
	case e.Op == ir.ExprConcat:
		var all runs
		for _, a := range e.Args {
			r, err := rowsOf(a, of)
			if err != nil {
				return nil, err
			}
			all = all.join(r)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%v are not rows of %v", e, of)
}

// rowPiece returns the piece that consists of rows of a weight, seen as a matrix: the same ranges of an axis for each
// index of the axes before it.
func rowPiece(v *ir.Value, t ir.Type, rows runs) (piece, error) {
	shape, axis := v.Type.Shape, differing(v.Type, t)
	if axis < 0 && slices.Equal(rows, runs{{0, extents(shape[:len(shape)-1])}}) {
		return whole(v), nil
	}
	if axis < 0 || axis == len(shape)-1 {
		return piece{}, fmt.Errorf("%v is no part of %v", t, v.Type)
	}
	size := extents(shape[axis+1 : len(shape)-1])
	n, _ := shape[axis].IsConst()
	if size == 0 || n == 0 {
		return piece{}, fmt.Errorf("%v has no elements", v.Type)
	}
	each := make([]runs, extents(shape[:axis]))
	for _, r := range rows {
		for r.begin < r.end { // a range may continue in the next matrix
			i := r.begin / (n * size)
			end := min(r.end, (i+1)*n*size)
			if i >= int64(len(each)) || r.begin%size != 0 || end%size != 0 {
				return piece{}, fmt.Errorf("rows %v are not whole elements of axis %d of %v", rows, axis, v.Type)
			}
			each[i] = each[i].add((r.begin-i*n*size)/size, (end-i*n*size)/size)
			r.begin = end
		}
	}
	for _, r := range each {
		if !slices.Equal(r, each[0]) {
			return piece{}, fmt.Errorf("rows %v are not the same of each matrix of %v", rows, v.Type)
		}
	}
	return piece{of: v, axis: axis, runs: each[0]}, nil
}

func extents(shape []ir.Dim) int64 {
	n := int64(1)
	for _, d := range shape {
		k, _ := d.IsConst()
		n *= k
	}
	return n
}

// state returns what a state after is of one before: what is written to it. Of one to which nothing is written, the
// devices have parts in their order.
func (c *checker) state(name string) (piece, error) {
	v := original(c.leaves, name)
	if v == nil || v.Def == nil || v.Def.Op != ir.OpState {
		return piece{}, fmt.Errorf("there is no such state before")
	}
	typ := c.after.State(name).Type
	if p, known := c.kept[name]; known {
		p.of = v // of this function
		return p, nil
	}
	if axis := differing(v.Type, typ); c.learning && axis >= 0 {
		n, _ := typ.Shape[axis].IsConst()
		return piece{of: v, axis: axis, runs: runs{{0, n}}}, nil // until it is known
	}
	var all []part
	for _, s := range c.after.States {
		if original(c.leaves, s.Name) == v {
			all = append(all, part{s.Name, s.Type})
		}
	}
	return inOrder(v, part{name, typ}, all)
}

// part is what a device has of a leaf.
type part struct {
	name string // ends in the number of the device
	typ  ir.Type
}

// device returns the number of the device.
func (p part) device() int {
	m := device.FindStringSubmatch(p.name)
	if m == nil {
		return -1
	}
	j, _ := strconv.Atoi(m[1])
	return j
}

// inOrder returns the piece that a device has of a leaf, of which the devices have parts in their order, or each all of
// it.
func inOrder(v *ir.Value, p part, all []part) (piece, error) {
	axis := differing(v.Type, p.typ)
	if axis < 0 {
		return whole(v), nil
	}
	total, begin := int64(0), int64(0)
	for _, q := range all {
		n, _ := q.typ.Shape[axis].IsConst()
		if q.device() < p.device() {
			begin += n
		}
		total += n
	}
	if !v.Type.Shape[axis].Is(total) || p.device() < 0 {
		return piece{}, fmt.Errorf("the parts of %v have %d elements of %v on axis %d", v, total, v.Type.Shape[axis], axis)
	}
	n, _ := p.typ.Shape[axis].IsConst()
	return piece{of: v, axis: axis, runs: runs{{begin, begin + n}}}, nil
}

// differing returns the first axis on which two types of one rank differ; -1 if there is none.
func differing(t, u ir.Type) int {
	for a := range t.Shape {
		if !t.Shape[a].Equal(u.Shape[a]) {
			return a
		}
	}
	return -1
}
