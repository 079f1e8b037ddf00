package ir

import "slices"

// LanguageModel names the entry points of a module that generate tokens, and the parameters and results
// that the runtime sets and reads. Vocabulary, context and batch follow from shapes: methods compute
// them. Verify checks it against the functions.
type LanguageModel struct {
	Prefill LanguageEntry // takes several tokens of a prompt
	Decode  LanguageEntry // takes one token
	Joint   LanguageEntry // takes one token of each of several sequences; without Func: none
	Top     TopEntry      // takes one token and returns the most probable next ones; without Func: none

	// Hidden is the result of Prefill that holds the state of each token after the final norm: f32[n, width].
	// Pooling is how these become one embedding. Without embeddings both are zero.
	Hidden  int
	Pooling Pooling

	// Tokenizer is the name of the source whose vocabulary the program contains; empty for none.
	Tokenizer string
}

// LanguageEntry is an entry point of a language model. Tokens, Pos, Slot and Lengths are indexes of its
// parameters, -1 if it has none; Logits is the index of a result.
type LanguageEntry struct {
	Func string // name of the entry point

	Tokens  int // i32[n]: the ids
	Pos     int // i32[n]: the position of each token in its sequence
	Slot    int // i32[n]: the sequence of each token
	Lengths int // i32[sequences]: the positions of each sequence after the step

	Logits int // f32[…, vocabulary]: the last row follows the last token; of Joint, row i follows token i
}

// TopEntry is an entry point that returns the most probable next tokens in place of all logits, so that a device need
// not copy those to the host. The vocabulary is in p equal parts of consecutive tokens, of each of which it returns the k
// most probable ones, so that as many workgroups look for them. Its Logits are f32[p,k], the largest of each part first.
// IDs and Largest are indexes of results, too. With k=1, Logits and Largest may be one result.
type TopEntry struct {
	LanguageEntry
	IDs     int // i32[p,k]: the tokens of these logits, counted from the first of the part; of equal logits the lower first
	Largest int // f32[p,1]: the largest logit of each part; NaN if any of them is
}

// NewTopEntry returns an entry without roles for the function of that name.
func NewTopEntry(name string) TopEntry { return TopEntry{NewLanguageEntry(name), -1, -1} }

// NewLanguageEntry returns an entry without roles for the function of that name.
func NewLanguageEntry(name string) LanguageEntry {
	return LanguageEntry{Func: name, Tokens: -1, Pos: -1, Slot: -1, Lengths: -1, Logits: -1}
}

// inputRoles are the roles of parameters, in the order of the text form.
var inputRoles = [...]string{"tokens", "pos", "slot", "lengths"}

const (
	roleTokens = iota
	rolePos
	roleSlot
	roleLengths
)

// Roles of results in the text form. Only a TopEntry has the last two.
const (
	logitsRole  = "logits"
	idsRole     = "ids"
	largestRole = "largest"
)

// inputs returns the indexes of parameters, in the order of inputRoles.
func (e *LanguageEntry) inputs() [len(inputRoles)]*int {
	return [...]*int{&e.Tokens, &e.Pos, &e.Slot, &e.Lengths}
}

// namedEntry is an entry with its name in the text form.
type namedEntry struct {
	name  string
	entry *LanguageEntry
}

// entries returns the entries that lm has.
func (lm *LanguageModel) entries() []namedEntry {
	list := []namedEntry{{"prefill", &lm.Prefill}, {"decode", &lm.Decode}}
	if lm.HasJoint() {
		list = append(list, namedEntry{"joint", &lm.Joint})
	}
	if lm.HasTop() {
		list = append(list, namedEntry{"top", &lm.Top.LanguageEntry})
	}
	return list
}

// HasTop reports whether there is an entry that returns the most probable tokens only.
func (lm *LanguageModel) HasTop() bool { return lm.Top.Func != "" }

// HasJoint reports whether several sequences can take a step together.
func (lm *LanguageModel) HasJoint() bool { return lm.Joint.Func != "" }

// clone returns a copy; nil for nil.
func (lm *LanguageModel) clone() *LanguageModel {
	if lm == nil {
		return nil
	}
	c := *lm
	return &c
}

// Vocab returns the number of token ids: the extent of a row of logits. The module must be a verified
// language model.
func (m *Module) Vocab() int64 {
	e := &m.LM.Prefill
	n, _ := m.Func(e.Func).Results[e.Logits].Type.Inner().IsConst()
	return n
}

// Batch returns the largest number of tokens that a step takes: the upper bound of the tokens of
// prefill. The module must be a verified language model.
func (m *Module) Batch() int64 {
	e := &m.LM.Prefill
	return m.Func(e.Func).Params[e.Tokens].Type.Shape[0].Upper()
}

// Context returns the number of positions of a sequence: those of the states that its entries write, or of the
// sequences of which rings keep the last positions. The module must be a verified language model.
func (m *Module) Context() int64 { return stateExtent(m, m.Func(m.LM.Prefill.Func), 2, 0) }

// Ring returns the rows of the states that keep only the last positions of a sequence, and the largest window in which
// they are read; 0 if there are none. The module must be a verified language model.
func (m *Module) Ring() (rows, window int64) {
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			switch {
			case RingOf(n) == 0:
			case n.Op == OpStateWrite:
				rows, _ = extent(n.Arg(0), 2)
			default:
				window = max(window, ScoringOf(n).Window)
			}
		}
	}
	return rows, window
}

// RingStates returns the states that keep only the last positions of a sequence. The module must be a verified language
// model.
func (m *Module) RingStates() []*State {
	rows, _ := m.Ring()
	return slices.DeleteFunc(slices.Clone(m.States), func(s *State) bool {
		return rows == 0 || s.Type.Rank() != 4 || !s.Type.Shape[2].Is(rows)
	})
}

// RingSaves returns how many bytes more the states of a verified language model would take with a row for each
// position.
func RingSaves(m *Module) (saved int64) {
	rows, _ := m.Ring()
	for _, s := range m.RingStates() {
		saved += s.Type.MaxBytes() / rows * (m.Context() - rows)
	}
	return saved
}

// Sequences returns the number of sequences that there is room for: that of the states that its entries
// write. The module must be a verified language model.
func (m *Module) Sequences() int64 { return stateExtent(m, m.Func(m.LM.Prefill.Func), 0, 0) }

// stateExtent returns the extent of an axis of the first state that f, its bodies and its callees write;
// 0 if they write none.
func stateExtent(m *Module, f *Func, axis, depth int) int64 {
	if f == nil || depth > maxCallDepth {
		return 0
	}
	for _, n := range f.Nodes {
		var found int64
		switch {
		case n.Op == OpStateWrite && axis == 2 && RingOf(n) > 0:
			found = RingOf(n)
		case n.Op == OpStateWrite:
			found, _ = extent(n.Arg(0), axis)
		case n.Op == OpCall:
			found = stateExtent(m, m.Func(attrOf[CallAttr](n).Func), axis, depth+1)
		case n.Body != nil:
			found = stateExtent(m, n.Body, axis, depth)
		}
		if found > 0 {
			return found
		}
	}
	return 0
}

// extent returns the extent of an axis; ok is false if it is not constant.
func extent(v *Value, axis int) (int64, bool) {
	if v == nil || axis >= len(v.Type.Shape) {
		return 0, false
	}
	return v.Type.Shape[axis].IsConst()
}
