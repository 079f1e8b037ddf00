package cpu

// Shapes hold what kernels know of a node besides its operands and the part that is to be computed: the extents and
// constants that are the same in each call. An emitted program declares each of them once, by name.

// MatMulShape is the shape of the weights of a matrix product, [Out, In].
type MatMulShape struct {
	In  int // elements of a row of x and of a row of the weights
	Out int // rows of the weights, which are columns of the result
}

// ExpertsShape is the shape of a product with chosen experts.
type ExpertsShape struct {
	Experts int // matrices of the weights
	Choices int // experts of a token
	Rows    int // rows of x of a token: one for all of its choices, or one for each
	In, Out int // as in MatMulShape, of each expert
}

// SumShape is the shape of a sum over a token's experts.
type SumShape struct {
	Choices int // experts of a token
	Len     int // elements of each summand
}

// RopeShape is the shape of a rotation of heads by positions.
type RopeShape struct {
	Heads   int
	HeadLen int  // elements of a head
	Pairs   int  // pairs of elements that are rotated; the elements after them are copied
	NeoX    bool // pair i is elements i and i+Pairs, not 2i and 2i+1
}

// StateShape is the shape of a state, [sequences, Heads, Context, HeadLen]. Position p is in row p mod Context.
type StateShape struct {
	Heads   int
	Context int // rows of a sequence
	HeadLen int // elements of a head at one position
}

// AttentionShape is the shape of attention over the states of keys [sequences, KVHeads, Context, KeyLen] and of values
// [sequences, KVHeads, Context, ValueLen].
type AttentionShape struct {
	Heads    int // of queries: a multiple of KVHeads
	KVHeads  int
	Context  int // rows of a sequence: all positions, or the last ones
	KeyLen   int // elements of a query and of a key
	ValueLen int // elements of a value and of a result
	Scale    float32
	Cap      float32 // scores become Cap·tanh(score/Cap); 0: as they are
	Window   int     // a token at pos sees positions above pos-Window; 0: all
	Alibi    float32 // exponent of the bias of scores by distance; 0: none

	// AlibiHead is the number of the first head in the bias, of AlibiHeads; of 0, there are Heads.
	AlibiHead, AlibiHeads int

	// Around makes a token see positions on both sides, at most so many from its own, up to pos; 0: none after it. Its own
	// position is the number of consecutive rows of its slot before it then.
	Around int
}

// CombineShape is the shape of a sum over segments of attention.
type CombineShape struct {
	KVHeads  int
	Group    int // heads of queries for each head of keys
	ValueLen int // elements of a result
}

// ScaleShape is the function x·Scale + Bias.
type ScaleShape struct{ Scale, Bias float32 }

// ClampShape is the range that x is brought into.
type ClampShape struct{ Lo, Hi float32 }

// ConcatShape is the lengths of the rows that are joined.
type ConcatShape struct{ A, B int }
