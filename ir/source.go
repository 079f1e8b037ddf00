package ir

// Source is a file that weights, constants or the tokenizer come from. Dumps name it
// relative to themselves; `--source NAME=PATH` puts another path in its place.
type Source struct {
	Name   string // in weight expressions: m["blk.0.attn_q.weight"]
	Path   string
	Size   int64
	SHA256 string // hex; of the whole file for small ones, see frontend
}

// Expr says how the bytes of a weight are made from sources. Exactly one form is set:
// a tensor of a source, or an operation on other expressions.
type Expr struct {
	Op     ExprOp
	Source string // ExprTensor: name of the source
	Tensor string // ExprTensor: name of the tensor in it
	Args   []*Expr
	To     string // ExprQuantize: name of the dtype; ExprPack: name of the layout
	Data   []byte // ExprLiteral: the bytes themselves, at most 4 KiB
	File   string // ExprFile: name of a file beside the dump, named by its SHA-256
}

// ExprOp is the kind of an Expr.
type ExprOp uint8

const (
	ExprTensor   ExprOp = iota // m["name"]: the tensor's bytes as the source has them
	ExprConcat                 // concat(a, b, …): along the outermost dimension
	ExprQuantize               // quantize(a, q8_0): converted to another dtype
	ExprPack                   // pack(a, r16): laid out for a tile
	ExprLiteral                // literal "hex"
	ExprFile                   // file "name"
)

// Tensor returns the expression for a tensor of a source.
func Tensor(source, tensor string) *Expr {
	return &Expr{Op: ExprTensor, Source: source, Tensor: tensor}
}

// Pack returns the expression for e laid out as layout.
func Pack(e *Expr, layout string) *Expr {
	return &Expr{Op: ExprPack, Args: []*Expr{e}, To: layout}
}

// Quantize returns the expression for e converted to a dtype.
func Quantize(e *Expr, dtype string) *Expr {
	return &Expr{Op: ExprQuantize, Args: []*Expr{e}, To: dtype}
}

// Concat returns the expression for es joined along the outermost dimension.
func Concat(es ...*Expr) *Expr { return &Expr{Op: ExprConcat, Args: es} }

// Equal reports whether e and f make the same bytes by the same steps.
func (e *Expr) Equal(f *Expr) bool {
	if e == nil || f == nil {
		return e == f
	}
	if e.Op != f.Op || e.Source != f.Source || e.Tensor != f.Tensor || e.To != f.To ||
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
