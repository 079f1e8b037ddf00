package runtime

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// MaxSymbols is the most named dimensions that a program may have: the length of
// Args.Dims.
const MaxSymbols = 16

// MaxThreads is the most workers of a model's pool. Plans are proved for every number of threads up to
// Program.MaxThreads, which may be less.
const MaxThreads = 64

// Align is the alignment in bytes of every arena and of the weights.
const Align = 64

// Program contains everything about a compiled module that is data. Emitted code declares one as a variable. The plan
// itself is the code of Funcs[i].Run.
type Program struct {
	Name     string // of the model, for messages; file-name safe
	Compiler string // the version of ggmlc that emitted this, for `version`
	PlanID   string // hash of the plan in hex, at most 64 characters

	Weights WeightsInfo

	// Bytes of the arenas, planned for the upper bounds of all symbols. State, activations, and inputs and outputs
	// exist once per session. ScratchBytes is per worker and a multiple of Align.
	StateBytes, ActivationBytes, IOBytes, ScratchBytes int64

	// CPU names the kernels that the program is limited to; empty means the best that the processor has. A processor
	// that has none of them is refused.
	CPU []string

	// Tiles are the choices that ggmlc build --tune has measured. They affect speed, not results.
	Tiles []tile.Choice

	Cores      []int    // that the workers run on, one on each; nil for any
	MaxThreads int      // the bound of the symbol "threads"; 0 means MaxThreads
	Symbols    []Symbol // in the order of Args.Dims
	Funcs      []Func
	States     []StateInfo // those of sessions

	LM        *LanguageModel // nil if the module generates no tokens
	Encoder   *Encoder       // nil if the module makes no embeddings of texts, or is a language model
	Tokenizer string         // tables of runtime/token in serial form; "" when there is none

	// ChatTemplates is a JSON object with the model's chat templates in Jinja by their names; "" when there are none.
	// The one that is used if none is named is called default.
	ChatTemplates string

	// Grammar is what generated text follows: a table of runtime/grammar in serial form, or a grammar in GBNF where the
	// table would be too large. It is "" for any text.
	Grammar string

	// Devices are the backends besides the CPU; nil if there are none.
	Devices Devices

	// Fallback is the program that Main runs instead if a device cannot be opened; nil if there is none.
	Fallback *Program

	// The output of `plan`, as text and as one JSON document.
	PlanText, PlanJSON string

	// Profile collects the marks of a program built with --profile. It is nil in all others, so that the linker
	// leaves its code out.
	Profile Profile
}

// WeightsInfo describes where the weights are stored and how to recognise them. Exactly one of these holds: Size is
// 0; Embedded has Size bytes; External names a file that WriteWeights made; the weights are appended to the
// executable.
type WeightsInfo struct {
	Size     int64
	SHA256   string // of the Size bytes, in lower-case hex
	Embedded string // go:embed gives no alignment: these bytes are copied once at start
	External string // default file name, looked up next to the executable, then as it is

	Floats []Floats // the weights that are f32, f16 or bf16, for verify
}

// Floats is a weight of numbers: Size bytes of the weights from At on.
type Floats struct {
	Name     string
	Type     dtype.DType
	At, Size int64
}

// Symbol is a named dimension with the bounds that memory was planned for.
type Symbol struct {
	Name     string
	Min, Max int
}

// Func is an entry point of a module.
type Func struct {
	Name            string
	Inputs, Outputs []Tensor

	// Observed are the values that a step hands to Options.Observe, by the number that it gives to Worker.Observe.
	Observed []Observed

	// Run runs one step. Each worker of the step calls it with its own Worker and the same Args. It computes that
	// worker's part and calls w.Barrier equally often on every worker.
	Run func(w *Worker, a *Args)

	// Attends lists the inputs that attention reads together: each position has to be below the length of its
	// sequence.
	Attends []Attend

	// Reaches lists the sizes that follow from the positions of the step.
	Reaches []Reach

	Nodes, Barriers int // executed in one step, for `plan` and `bench`
	MaxParts        int // more workers than this make it no faster; 0 means no limit
}

// Attend names three i32 inputs by their index: the sequence of each token, its position
// there, and the length of each sequence after the step.
type Attend struct{ Slot, Pos, Lengths int }

// Reach declares that the size of a symbol follows from the positions of tokens: it is one more than the largest
// element of an i32 input. Sym is an index of Program.Symbols, Pos an index of Func.Inputs. If several have the same
// Sym, the largest size counts.
type Reach struct{ Sym, Pos int }

// Tensor describes an input or output of a function: its place in the IO arena, its type and its shape. Elements are
// dense in the actual sizes of symbols.
type Tensor struct {
	Name   string
	Type   dtype.DType
	Dims   []Dim // outermost first; none for a scalar
	Offset int64 // bytes from the beginning of the IO arena

	// Below bounds the elements of an i32 input that selects rows: each is at least 0 and less than every one of
	// these extents. It is empty for an input that may hold any value.
	Below []Dim
}

// Observed describes a value that steps hand out: its type, and its shape as of a Tensor.
type Observed struct {
	Names []string // one for each time that a step hands it out: several in a loop over layers
	Type  dtype.DType
	Dims  []Dim // outermost first; none for a scalar
}

// Dim is an extent: Scale*Args.Dims[Sym] + Const. A constant has Scale 0.
type Dim struct {
	Sym, Scale, Const int
}

// LanguageModel describes how sessions drive a module that generates tokens.
type LanguageModel struct {
	Prefill, Decode Entry
	Joint           *Entry    // takes a token of each of several sequences; nil if there is none
	Top             *TopEntry // takes a token and returns the most probable next ones; nil if there is none

	Vocab, Context, Batch int // ids are below Vocab; at most Context positions, Batch tokens a step
	Sequences             int // that the state has room for; 0 means 1

	// Pooling is how the states of tokens become one embedding, as the model was trained. It is "" if prefill does not
	// return the states; Hidden is the output that has them otherwise, f32 [n, width].
	Pooling Pooling
	Hidden  int

	// Ring is there if some states keep only the last positions of a sequence.
	Ring *Ring

	// The least cost of one step, for the shares that `bench` prints. A multiply and an add count as two operations.
	PrefillOpsPerToken, PrefillOpsPerStep float64
	DecodeBytes                           float64 // of weights read per generated token
	Peak                                  string  // "int8", "bf16" or "f32": the arithmetic to compare with
}

// Ring describes the states that keep only the last positions: position p is in row p mod Rows.
type Ring struct {
	Rows   int
	Window int // a token reads at most so many positions there, which end with its own
}

// Entry describes a function of a language model by the indexes of its Inputs and Outputs. The index of an input that
// it does not have is -1.
type Entry struct {
	Func int // index of Program.Funcs

	Tokens  int // i32 [n]: the ids; n is 1 or a symbol
	Pos     int // i32 [n]: position of each token in its sequence
	Slot    int // i32 [n]: sequence of each token
	Lengths int // i32 [sequences]: tokens in each sequence after the step
	Logits  int // output f32 [..., vocab]; of several rows the last one is used, and of Joint row i follows token i
}

// TopEntry describes a function that takes one token and returns, in place of all logits, the k most probable next ones
// of each of p equal parts of the vocabulary. Its output Logits is f32 [p, k].
type TopEntry struct {
	Entry
	IDs     int // output i32 [p, k]: the tokens, counted from the first of the part, the most probable first
	Largest int // output f32 [p, 1]: the largest logit of each part; NaN if any of them is
}

// Args holds the bases to which emitted code adds constant offsets, and the sizes of this step. All workers of a step
// use the same Args.
type Args struct {
	Arena   unsafe.Pointer // activations
	Weights unsafe.Pointer
	State   unsafe.Pointer
	IO      unsafe.Pointer
	Scratch unsafe.Pointer // part p has Program.ScratchBytes at Scratch + p*ScratchBytes
	Dims    [MaxSymbols]int
	Queues  *Queues // the queues of the program's devices, for worker 0 only; nil if there are none

	handOver *handOver // for worker 0 only; nil if the step is not observed
}

// eval returns the extent for the given symbol values.
func (d Dim) eval(dims *[MaxSymbols]int) int {
	if d.Scale == 0 {
		return d.Const
	}
	return d.Scale*dims[d.Sym] + d.Const
}

// max returns the extent at the symbol's bound (the lower one for a negative scale).
func (d Dim) max(p *Program) int {
	if d.Scale == 0 {
		return d.Const
	}
	s := p.Symbols[d.Sym]
	return max(d.Scale*s.Min+d.Const, d.Scale*s.Max+d.Const)
}

// min returns the extent at the symbol's lower bound (the upper one for a negative scale).
func (d Dim) min(p *Program) int {
	if d.Scale == 0 {
		return d.Const
	}
	s := p.Symbols[d.Sym]
	return min(d.Scale*s.Min+d.Const, d.Scale*s.Max+d.Const)
}

// Func returns the index of the function with that name, or -1.
func (p *Program) Func(name string) int {
	for i := range p.Funcs {
		if p.Funcs[i].Name == name {
			return i
		}
	}
	return -1
}

// Input returns the input with that name, or nil.
func (f *Func) Input(name string) *Tensor { return find(f.Inputs, name) }

// Output returns the output with that name, or nil.
func (f *Func) Output(name string) *Tensor { return find(f.Outputs, name) }

func find(ts []Tensor, name string) *Tensor {
	for i := range ts {
		if ts[i].Name == name {
			return &ts[i]
		}
	}
	return nil
}

// maxThreads returns the upper bound of the symbol "threads".
func (p *Program) maxThreads() int {
	if p.MaxThreads <= 0 || p.MaxThreads > MaxThreads {
		return MaxThreads
	}
	return p.MaxThreads
}

// check panics when the emitted tables contradict themselves. As they come from the compiler, that is a bug of the
// compiler, for any input.
func (p *Program) check() {
	if len(p.Symbols) > MaxSymbols {
		p.broken("%d symbols, at most %d", len(p.Symbols), MaxSymbols)
	}
	if p.ScratchBytes%Align != 0 {
		p.broken("ScratchBytes %d is no multiple of %d", p.ScratchBytes, Align)
	}
	for i := range p.Funcs {
		f := &p.Funcs[i]
		p.checkTensors(f, f.Inputs)
		p.checkTensors(f, f.Outputs)
		p.checkObserved(f)
		for _, r := range f.Reaches {
			if uint(r.Sym) >= uint(len(p.Symbols)) || uint(r.Pos) >= uint(len(f.Inputs)) || f.Inputs[r.Pos].Type != dtype.I32 {
				p.broken("%s: the size of symbol %d cannot follow from input %d", f.Name, r.Sym, r.Pos)
			}
		}
	}
	p.checkStateTable()
	if p.LM != nil {
		p.checkLanguage()
	}
	if p.Encoder != nil {
		p.checkEncoder(p.Encoder)
	}
}

func (p *Program) checkTensors(f *Func, ts []Tensor) {
	for i := range ts {
		t := &ts[i]
		p.checkType(f, t.Name, t.Type, slices.Concat(t.Dims, t.Below))
		if end := t.Offset + int64(t.extent(p)); t.Offset < 0 || end > p.IOBytes {
			p.broken("%s: %s ends at byte %d of an arena of %d", f.Name, t.Name, end, p.IOBytes)
		}
	}
}

func (p *Program) checkObserved(f *Func) {
	for i := range f.Observed {
		o := &f.Observed[i]
		if len(o.Names) == 0 {
			p.broken("%s: observed value %d has no name", f.Name, i)
		}
		p.checkType(f, o.Names[0], o.Type, o.Dims)
	}
}

func (p *Program) checkType(f *Func, name string, t dtype.DType, dims []Dim) {
	if !t.Valid() {
		p.broken("%s: %s has no dtype", f.Name, name)
	}
	for _, d := range dims {
		if d.Scale != 0 && uint(d.Sym) >= uint(len(p.Symbols)) {
			p.broken("%s: %s has a dimension over symbol %d", f.Name, name, d.Sym)
		}
	}
}

func (p *Program) broken(format string, args ...any) {
	panic("runtime: internal error: program " + p.Name + ": " + fmt.Sprintf(format, args...))
}

// extent returns the size of t in bytes at the bounds of all symbols.
func (t *Tensor) extent(p *Program) int {
	n := 1
	for _, d := range t.Dims {
		n *= d.max(p)
	}
	return t.Type.Bytes(n)
}
