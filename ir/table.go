package ir

// ValueTable has an element for each value of the functions of a module, such as an entry point and the bodies in it.
// The ids of function and value find it. All elements are zero at first; the zero table is ready.
type ValueTable[T any] struct{ rows [][]T }

// At returns the element of v. It is valid until an element of a value that was added later is asked for.
func (t *ValueTable[T]) At(v *Value) *T { return elementAt(&t.rows, v.Func, v.ID, v.Func.nextValue) }

// NodeTable is a ValueTable for nodes.
type NodeTable[T any] struct{ rows [][]T }

// At returns the element of n. It is valid until an element of a node that was added later is asked for.
func (t *NodeTable[T]) At(n *Node) *T { return elementAt(&t.rows, n.Func, n.ID, n.Func.nextNode) }

// elementAt returns element id of the row of f, which gets at least size elements.
func elementAt[T any](rows *[][]T, f *Func, id, size int) *T {
	if f.ID >= len(*rows) {
		*rows = append(*rows, make([][]T, f.ID+1-len(*rows))...)
	}
	row := &(*rows)[f.ID]
	if id >= len(*row) {
		*row = append(*row, make([]T, size-len(*row))...)
	}
	return &(*row)[id]
}
