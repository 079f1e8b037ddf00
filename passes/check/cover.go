package check

// cover holds a value of type T for each cell of a row of cells; the zero value at first.
//
// It is a segment tree: a node stands for a range of cells and holds their value where they all have the same. For
// eight cells, after assign(0, 6, a) and assign(4, 5, b):
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
type cover[T comparable] struct {
	cells int
	tree  []coverNode[T] // the children of node i are 2i and 2i+1; the root is node 1
}

// coverNode is a range of cells.
type coverNode[T comparable] struct {
	value T    // of all cells
	mixed bool // the cells have several values, which the children hold
}

// piece is cells [lo,hi) that hold one value.
type piece[T comparable] struct {
	value  T
	lo, hi int
}

func newCover[T comparable](cells int) *cover[T] {
	cells = max(cells, 1)
	return &cover[T]{cells: cells, tree: make([]coverNode[T], 4*cells)}
}

// assign gives cells [lo,hi) a value.
func (c *cover[T]) assign(lo, hi int, value T) { c.assignIn(1, 0, c.cells, lo, hi, value) }

// assignIn gives the value to those of cells [lo,hi) that belong to a node, which stands for cells [from,to).
func (c *cover[T]) assignIn(node, from, to, lo, hi int, value T) {
	n := &c.tree[node]
	switch {
	case hi <= from || to <= lo:
		return
	case lo <= from && to <= hi:
		*n = coverNode[T]{value: value}
		return
	}
	left, right := &c.tree[2*node], &c.tree[2*node+1]
	if !n.mixed {
		*left, *right = *n, *n
	}
	mid := (from + to) / 2
	c.assignIn(2*node, from, mid, lo, hi, value)
	c.assignIn(2*node+1, mid, to, lo, hi, value)
	*n = coverNode[T]{value: left.value, mixed: left.mixed || right.mixed || left.value != right.value}
}

// pieces returns what cells [lo,hi) hold: the longest pieces with one value, in order; none for an empty range.
func (c *cover[T]) pieces(lo, hi int) []piece[T] {
	if lo >= hi {
		return nil
	}
	return c.piecesIn(nil, 1, 0, c.cells, lo, hi)
}

// piecesIn appends to list the pieces of those of cells [lo,hi) that belong to a node, which stands for cells
// [from,to).
func (c *cover[T]) piecesIn(list []piece[T], node, from, to, lo, hi int) []piece[T] {
	n := &c.tree[node]
	switch {
	case hi <= from || to <= lo:
		return list
	case n.mixed:
		mid := (from + to) / 2
		list = c.piecesIn(list, 2*node, from, mid, lo, hi)
		return c.piecesIn(list, 2*node+1, mid, to, lo, hi)
	}
	from, to = max(from, lo), min(to, hi)
	if last := len(list) - 1; last >= 0 && list[last].value == n.value {
		list[last].hi = to
		return list
	}
	return append(list, piece[T]{n.value, from, to})
}
