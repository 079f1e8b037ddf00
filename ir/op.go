package ir

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Op is an operation. opTable describes all of them. The meaning of an op is defined in the file of its
// family (op_matmul.go and so on).
type Op uint8

const (
	OpInvalid Op = iota

	// Sources of values.
	OpWeight   // weight "name"
	OpState    // state "name": version 0 of a state in this call
	OpConstant // constant with literal data

	// Views.
	OpReshape
	OpPermute
	OpSlice

	// Elementwise, one operand.
	OpNeg
	OpAbs
	OpExp
	OpLog
	OpSqrt
	OpSquare
	OpReLU
	OpSiLU
	OpGELU
	OpTanh
	OpSigmoid
	OpScale
	OpClamp

	// Elementwise, two operands, the second broadcast against the first.
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMax
	OpMin
	OpSwiGLU

	OpChain // several elementwise ops

	// Matrix products.
	OpMatMul
	OpMatMulSwiGLU

	// Norms and reductions.
	OpRMSNorm
	OpRMSNormQuantize
	OpLayerNorm
	OpSoftmax
	OpReduceSum
	OpReduceMean
	OpReduceMax

	// Rows.
	OpGather

	// Mixtures of experts.
	OpTopK
	OpTake
	OpExpertsMatMul
	OpExpertsSum
	OpCopyExperts // of the named experts, into another space

	// Position and attention.
	OpRopeTable
	OpRope
	OpAttention
	OpAttentionSegments
	OpAttentionCombine

	// State.
	OpStateWrite

	// Moving and converting bytes.
	OpCopy     // into another space, or into dense order
	OpCast     // to another float dtype
	OpQuantize // to an activation format
	OpPack     // into the layout of a tile
	OpConcat   // along an axis

	// Collectives of a group of devices.
	OpAllReduce
	OpAllGather
	OpReduceScatter
	OpTakePart

	// Looking in.
	OpObserve // hands its operand out

	// Functions.
	OpCall
	OpRepeat

	// Nodes of unknown origin, such as those of scheduler traces.
	OpForeign

	NumOps
)

// Traits are properties of an op that passes use.
type Traits uint32

const (
	Pure        Traits = 1 << iota // same operands, same result; no effect
	View                           // the result names bytes of operand 0
	Alias                          // the result is the next version of operand AliasArg's bytes
	Elementwise                    // each result element depends on the operands' same elements
	Commutative                    // operands 0 and 1 may be swapped
	Reduces                        // sums over an axis, so that the order of additions matters
	ReadsState
	WritesState
	Leaf    // weight, state, constant: no work
	HasBody // holds a function
)

// OpInfo describes an op, except for how backends run it.
type OpInfo struct {
	Name   string
	Doc    string // formula, shapes, units, source of the definition
	Args   []Arg
	Attr   any // zero value of the attribute struct (not a pointer), or nil
	Traits Traits

	// InPlace lists the operands whose bytes the first result may take over if no later node reads them
	// and their type is that of the result.
	InPlace []int

	// AliasArg is the operand of which the result is the next version; see Alias.
	AliasArg int

	// Infer returns the type of the result from operands and attributes. An op with another number of
	// results has InferAll instead.
	Infer    func(*Node) (Type, error)
	InferAll func(*Node) ([]Type, error)

	// Cost returns the work of one execution, symbolic in the sizes.
	Cost func(*Node) Cost

	// Axes returns the axes of result 0 along which workers may divide the node's work, best first,
	// with the parts of the operands that a worker reads. If it is nil or returns none, one worker
	// computes the node.
	Axes func(*Node) []Axis

	// Ways returns the ways in which the devices of a group can compute the node together (see the
	// function Ways). If it is nil, they are those of Axes. An op that devices do not divide has the
	// reason in Undivided instead.
	Ways      func(*Node) []Way
	Undivided string

	// Cases yields calls for conformance tests, benchmarks and fuzzing.
	Cases func(yield func(Case) bool)

	// Tol is the largest difference that a backend may have from ir/eval.
	Tol Tolerance
}

// Arg describes an operand.
type Arg struct {
	Name     string
	Kinds    Kinds // dtypes that are allowed
	Optional bool  // may be absent; only trailing operands, or nil in Node.Args
	Variadic bool  // the last operand may occur any number of times
}

// Kinds is a set of dtype kinds.
type Kinds uint8

const (
	Float   Kinds = 1 << iota // f32, f16, bf16, f64
	Int                       // i32, i64, i8, u8, bool
	Quant                     // block formats of weights
	ActFmt                    // formats of quantized activations
	AnyKind = Float | Int | Quant | ActFmt
)

// Has reports whether d is of one of the kinds.
func (k Kinds) Has(d dtype.DType) bool { return k&KindOf(d) != 0 }

// KindOf returns the kind of d.
func KindOf(d dtype.DType) Kinds {
	switch {
	case d.IsActivation():
		return ActFmt
	case d.IsQuantized():
		return Quant
	case d == dtype.F32, d == dtype.F16, d == dtype.BF16, d == dtype.F64:
		return Float
	}
	return Int
}

// Axis is one way to divide a node's work.
type Axis struct {
	Axis    int   // of result 0
	Granule int64 // in elements of the axis; ranges begin at multiples of it

	// Reads are the parts of the operands, in order, that computing the range [lo,hi) reads.
	Reads []Read
}

// Read is the part of an operand that is read for a range of the result's axis.
type Read struct {
	Kind ReadKind
	Axis int // ReadRange: the operand's axis

	// ReadRange: the range [lo*Num/Den, hi*Num/Den) of the operand's axis is read.
	Num, Den int64
}

// ReadKind is the kind of a Read.
type ReadKind uint8

const (
	ReadAll   ReadKind = iota // any part may be read
	ReadParts                 // any part may be read, but all ranges together read about the whole operand once
	ReadRange                 // only the matching range of one axis
	ReadNone                  // nothing is read (absent operand, or only its shape)
)

// Cost is the work of one execution of a node.
type Cost struct {
	FLOPs         Dim // multiply and add count as two
	Read, Written Dim // bytes
}

// Case is a sample call of an op: operand types, attributes, and how to fill operands.
type Case struct {
	Name  string
	Args  []CaseArg
	Attr  any // pointer to the attribute struct, or nil
	Sizes map[string]int64
}

// CaseArg is one operand of a Case.
type CaseArg struct {
	Type   Type
	Weight bool
	State  bool
	View   bool    // wrap in a view before use
	Fill   Fill    // what values it holds
	Lo, Hi float64 // bounds of the values, for integers half open
}

// Fill is the distribution of an operand's values in a Case.
type Fill uint8

const (
	FillNormal    Fill = iota // normally distributed
	FillUniform               // between Lo and Hi; integers in [Lo,Hi)
	FillPositions             // 0, 1, 2, …
	FillZero
)

// Tolerance bounds the difference between a backend's result and ir/eval.
type Tolerance struct {
	NMSE   float64 // sum of squared differences over sum of squares
	MaxAbs float64 // largest absolute difference, relative to the largest absolute value; 0 is no bound
	Why    string
}

// Info returns the op's entry in the table; that of OpInvalid if op is not an op.
func (op Op) Info() *OpInfo {
	if op >= NumOps {
		op = OpInvalid
	}
	return &opTable[op]
}

// String returns the op's name in the text form.
func (op Op) String() string { return op.Info().Name }

// OpByName returns the op of that name.
func OpByName(name string) (Op, bool) {
	op, ok := opByName[name]
	return op, ok
}

// Ops calls yield for every op in the order of the table.
func Ops(yield func(Op) bool) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		if !yield(op) {
			return
		}
	}
}

// opTable is filled in init, as its functions refer to it, which Go does not allow in an initializer.
var (
	opTable  [NumOps]OpInfo
	opByName = make(map[string]Op, NumOps)
)

func init() {
	opTable = [NumOps]OpInfo{
		OpInvalid:         {Name: "invalid", Infer: inferInvalid, Cost: noWork},
		OpWeight:          weightInfo,
		OpState:           stateInfo,
		OpConstant:        constantInfo,
		OpReshape:         reshapeInfo,
		OpPermute:         permuteInfo,
		OpSlice:           sliceInfo,
		OpNeg:             negInfo,
		OpAbs:             absInfo,
		OpExp:             expInfo,
		OpLog:             logInfo,
		OpSqrt:            sqrtInfo,
		OpSquare:          squareInfo,
		OpReLU:            reluInfo,
		OpSiLU:            siluInfo,
		OpGELU:            geluInfo,
		OpTanh:            tanhInfo,
		OpSigmoid:         sigmoidInfo,
		OpScale:           scaleInfo,
		OpClamp:           clampInfo,
		OpAdd:             addInfo,
		OpSub:             subInfo,
		OpMul:             mulInfo,
		OpDiv:             divInfo,
		OpMax:             maxInfo,
		OpMin:             minInfo,
		OpSwiGLU:          swigluInfo,
		OpChain:           chainInfo,
		OpMatMul:          matMulInfo,
		OpMatMulSwiGLU:    matMulSwiGLUInfo,
		OpRMSNorm:         rmsNormInfo,
		OpRMSNormQuantize: rmsNormQuantizeInfo,
		OpLayerNorm:       layerNormInfo,
		OpSoftmax:         softmaxInfo,
		OpReduceSum:       reduceSumInfo,
		OpReduceMean:      reduceMeanInfo,
		OpReduceMax:       reduceMaxInfo,
		OpGather:          gatherInfo,
		OpTopK:            topKInfo,
		OpTake:            takeInfo,
		OpExpertsMatMul:   expertsMatMulInfo,
		OpExpertsSum:      expertsSumInfo,
		OpCopyExperts:     copyExpertsInfo,
		OpRopeTable:       ropeTableInfo,
		OpRope:            ropeInfo,
		OpAttention:       attentionInfo,
		OpStateWrite:      stateWriteInfo,
		OpCopy:            copyInfo,
		OpCast:            castInfo,
		OpQuantize:        quantizeInfo,
		OpPack:            packInfo,
		OpConcat:          concatInfo,
		OpAllReduce:       allReduceInfo,
		OpAllGather:       allGatherInfo,
		OpReduceScatter:   reduceScatterInfo,
		OpTakePart:        takePartInfo,
		OpObserve:         observeInfo,
		OpCall:            callInfo,
		OpRepeat:          repeatInfo,
		OpForeign:         foreignInfo,

		OpAttentionSegments: attentionSegmentsInfo,
		OpAttentionCombine:  attentionCombineInfo,
	}
	for op := range NumOps {
		info := &opTable[op]
		if info.Name == "" || (info.Infer == nil) == (info.InferAll == nil) || info.Cost == nil {
			panic(fmt.Sprintf("ir: internal error: the op table has a hole at %d (%q)", op, info.Name))
		}
		if other, taken := opByName[info.Name]; taken {
			panic(fmt.Sprintf("ir: internal error: ops %d and %d are both named %q", other, op, info.Name))
		}
		opByName[info.Name] = op
	}
	delete(opByName, opTable[OpInvalid].Name)
	compileAttrs()
}

func inferInvalid(*Node) (Type, error) { return Type{}, fmt.Errorf("is not an operation") }
