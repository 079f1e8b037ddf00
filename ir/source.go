package ir

// Source is a file with the data of weights, constants or the tokenizer. Dumps have its path relative
// to themselves; `--source NAME=PATH` replaces it.
type Source struct {
	Name   string // in weight expressions: m["blk.0.attn_q.weight"]
	Path   string
	Size   int64
	SHA256 string // of the whole file, in hex; empty in a text that was written by hand, until the file is read
}

// Expr is how the bytes of a weight are made from sources: a tensor of a source, or an operation on
// other expressions.
type Expr struct {
	Op     ExprOp
	Source string // ExprTensor: name of the source
	Tensor string // ExprTensor: name of the tensor in it
	Args   []*Expr
	To     string // ExprQuantize, ExprExpand: name of the dtype; ExprPack: name of the layout
	Data   []byte // ExprLiteral: at most 4 KiB
	File   string // ExprFile: name of a file beside the dump, named by its SHA-256

	First, Count int64 // ExprRows, ExprColumns
}

// ExprOp is the kind of an Expr.
type ExprOp uint8

const (
	ExprTensor   ExprOp = iota // m["name"]: the tensor's bytes in the source
	ExprConcat                 // concat(a, b, …): along the outermost dimension
	ExprQuantize               // quantize(a, q8_0): converted to another dtype
	ExprPack                   // pack(a, r16): in the layout of a tile
	ExprLiteral                // literal "hex"
	ExprFile                   // file "name"
	ExprExpand                 // expand(a, iq2x): in the format that its own is expanded to, with the same values
	ExprRows                   // rows(a, 8, 4): rows 8 to 11, of all matrices of a
	ExprColumns                // columns(a, 32, 64): of each row, elements 32 to 95, in whole blocks
)

// Tensor returns the expression for a tensor of a source.
func Tensor(source, tensor string) *Expr {
	return &Expr{Op: ExprTensor, Source: source, Tensor: tensor}
}

// Pack returns the expression for e in a layout.
func Pack(e *Expr, layout string) *Expr {
	return &Expr{Op: ExprPack, Args: []*Expr{e}, To: layout}
}

// Quantize returns the expression for e converted to a dtype.
func Quantize(e *Expr, dtype string) *Expr {
	return &Expr{Op: ExprQuantize, Args: []*Expr{e}, To: dtype}
}

// Expand returns the expression for e in the format that its dtype is expanded to.
func Expand(e *Expr, dtype string) *Expr {
	return &Expr{Op: ExprExpand, Args: []*Expr{e}, To: dtype}
}

// Rows returns the expression for count rows of e, from first on. The rows of a tensor of more than two dimensions are
// those of all its matrices.
func Rows(e *Expr, first, count int64) *Expr {
	return &Expr{Op: ExprRows, Args: []*Expr{e}, First: first, Count: count}
}

// Columns returns the expression for count elements of each row of e, from first on.
func Columns(e *Expr, first, count int64) *Expr {
	return &Expr{Op: ExprColumns, Args: []*Expr{e}, First: first, Count: count}
}

// Concat returns the expression for es joined along the outermost dimension.
func Concat(es ...*Expr) *Expr { return &Expr{Op: ExprConcat, Args: es} }

// Equal reports whether e and f have the same operations on the same tensors.
func (e *Expr) Equal(f *Expr) bool {
	if e == nil || f == nil {
		return e == f
	}
	if e.Op != f.Op || e.Source != f.Source || e.Tensor != f.Tensor || e.To != f.To ||
		e.First != f.First || e.Count != f.Count ||
		string(e.Data) != string(f.Data) || e.File != f.File || len(e.Args) != len(f.Args) {
		return false
	}
	for i := range e.Args {
		if !e.Args[i].Equal(f.Args[i]) {
			return false
		}
	}
	return true
}
