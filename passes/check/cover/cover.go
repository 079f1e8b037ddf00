// Package cover holds values of ranges of cells.
package cover

// Cover holds a value of type T for each cell of a row of cells; the zero value at first.
//
// It is a segment tree: a node represents a range of cells. It holds their value if they all have the same one. For
// eight cells, after Assign(0, 6, a) and Assign(4, 5, b):
//
//	[0,8) mixed
//	├── [0,4) a
//	└── [4,8) mixed
//	    ├── [4,6) mixed
//	    │   ├── [4,5) b
//	    │   └── [5,6) a
//	    └── [6,8) -
//
// Assigning to a range, and reading a range that has one value, take time logarithmic in the number of cells.
type Cover[T comparable] struct {
	cells int
	tree  []node[T] // the children of node i are 2i and 2i+1; the root is node 1
}

// node is a range of cells.
type node[T comparable] struct {
	value T    // of all cells
	mixed bool // the cells have several values, which the children hold
}

// Piece is cells [Lo,Hi) that hold one value.
type Piece[T comparable] struct {
	Value  T
	Lo, Hi int
}

// New returns a cover of that many cells.
func New[T comparable](cells int) *Cover[T] {
	cells = max(cells, 1)
	return &Cover[T]{cells: cells, tree: make([]node[T], 4*cells)}
}

// Assign gives cells [lo,hi) a value.
func (c *Cover[T]) Assign(lo, hi int, value T) { c.assignIn(1, 0, c.cells, lo, hi, value) }

// assignIn gives the value to those of cells [lo,hi) that belong to a node, which represents cells [from,to).
func (c *Cover[T]) assignIn(at, from, to, lo, hi int, value T) {
	n := &c.tree[at]
	switch {
	case hi <= from || to <= lo:
		return
	case lo <= from && to <= hi:
		*n = node[T]{value: value}
		return
	}
	left, right := &c.tree[2*at], &c.tree[2*at+1]
	if !n.mixed {
		*left, *right = *n, *n
	}
	mid := (from + to) / 2
	c.assignIn(2*at, from, mid, lo, hi, value)
	c.assignIn(2*at+1, mid, to, lo, hi, value)
	*n = node[T]{value: left.value, mixed: left.mixed || right.mixed || left.value != right.value}
}

// Pieces returns what cells [lo,hi) hold: the longest pieces with one value, in order; none for an empty range.
func (c *Cover[T]) Pieces(lo, hi int) []Piece[T] {
	if lo >= hi {
		return nil
	}
	return c.piecesIn(nil, 1, 0, c.cells, lo, hi)
}

// piecesIn appends to list the pieces of those of cells [lo,hi) that belong to a node, which represents cells
// [from,to).
func (c *Cover[T]) piecesIn(list []Piece[T], at, from, to, lo, hi int) []Piece[T] {
	n := &c.tree[at]
	switch {
	case hi <= from || to <= lo:
		return list
	case n.mixed:
		mid := (from + to) / 2
		list = c.piecesIn(list, 2*at, from, mid, lo, hi)
		return c.piecesIn(list, 2*at+1, mid, to, lo, hi)
	}
	from, to = max(from, lo), min(to, hi)
	if last := len(list) - 1; last >= 0 && list[last].Value == n.value {
		list[last].Hi = to
		return list
	}
	return append(list, Piece[T]{n.value, from, to})
}
