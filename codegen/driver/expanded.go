package driver

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Expansion states how weights of one format are stored in a program, which has no kernels for that format. Their
// values are the same unless Rounded: a target that has no kernels for the expanded format either gets q8_0.
type Expansion struct {
	From, To dtype.DType
	Tensors  int
	Rounded  bool

	Source, Program int64 // bytes in the file and in the program
}

// Expansions returns what formats of the sources the program's weights are expanded to (ir.ExprExpand), in the order in
// which they are met.
func (md *Model) Expansions() ([]Expansion, error) {
	var list []Expansion
	for _, w := range md.Module.Weights {
		if err := md.expansions(&list, w.Type, w.Expr); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// expansions adds those of an expression of a weight of the given type.
func (md *Model) expansions(list *[]Expansion, w ir.Type, e *ir.Expr) error {
	if e == nil {
		return nil
	}
	if e.Op == ir.ExprExpand && e.Args[0].Op == ir.ExprTensor {
		return md.expansion(list, w, e.Args[0])
	}
	for _, a := range e.Args {
		if err := md.expansions(list, w, a); err != nil {
			return err
		}
	}
	return nil
}

// expansion adds that of a tensor.
func (md *Model) expansion(list *[]Expansion, w ir.Type, tensor *ir.Expr) error {
	t, err := md.Tensor(tensor.Source, tensor.Tensor)
	if err != nil {
		return err
	}
	n, k := t.Shape()
	from := t.DType()
	if !from.Expansion().Valid() {
		return nil // reported when the weight is made
	}
	at := entryOf(list, from, w.DType)
	at.Tensors++
	at.Source += n * int64(from.RowBytes(int(k)))
	at.Program += dtype.PackedBytes(w.DType, w.Layout, n, k)
	return nil
}

// entryOf returns the entry of a format that is stored as another, which it appends if there is none.
func entryOf(list *[]Expansion, from, to dtype.DType) *Expansion {
	for i := range *list {
		if (*list)[i].From == from && (*list)[i].To == to {
			return &(*list)[i]
		}
	}
	*list = append(*list, Expansion{From: from, To: to, Rounded: to != from.Expansion()})
	return &(*list)[len(*list)-1]
}
