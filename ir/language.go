package ir

// LanguageModel says which entry points of a module generate tokens, and what of them the
// runtime sets and reads. It names nothing that follows from shapes: the vocabulary, the
// context and the batch are computed by the methods. Verify checks it against the functions.
type LanguageModel struct {
	Prefill LanguageEntry // takes several tokens of a prompt
	Decode  LanguageEntry // takes one token

	// Tokenizer is the name of the source whose vocabulary the program carries; empty for none.
	Tokenizer string
}

// LanguageEntry is an entry point of a language model. Tokens, Pos, Slot and Lengths are
// indexes of its parameters, and -1 where it has none; Logits is the index of a result.
type LanguageEntry struct {
	Func string // name of the entry point

	Tokens  int // i32[n]: the ids
	Pos     int // i32[n]: the position of each token in its sequence
	Slot    int // i32[n]: the sequence of each token
	Lengths int // i32[1]: the positions of the sequence after the step

	Logits int // f32[…, vocabulary]: the last row follows the last token
}

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

// logitsRole is the role of a result in the text form.
const logitsRole = "logits"

// inputs returns the indexes of parameters, in the order of inputRoles.
func (e *LanguageEntry) inputs() [len(inputRoles)]*int {
	return [...]*int{&e.Tokens, &e.Pos, &e.Slot, &e.Lengths}
}

// entries returns the entries under their names in the text form.
func (lm *LanguageModel) entries() [2]struct {
	name  string
	entry *LanguageEntry
} {
	return [...]struct {
		name  string
		entry *LanguageEntry
	}{{"prefill", &lm.Prefill}, {"decode", &lm.Decode}}
}

// clone returns a copy; nil for nil.
func (lm *LanguageModel) clone() *LanguageModel {
	if lm == nil {
		return nil
	}
	c := *lm
	return &c
}

// Vocab returns the number of ids of the language model of a verified module: the extent of
// a row of the logits.
func (m *Module) Vocab() int64 {
	e := &m.LM.Prefill
	n, _ := m.Func(e.Func).Results[e.Logits].Type.Inner().IsConst()
	return n
}

// Batch returns how many tokens one step of the language model of a verified module takes
// at most: the upper bound of the tokens of prefill.
func (m *Module) Batch() int64 {
	e := &m.LM.Prefill
	return m.Func(e.Func).Params[e.Tokens].Type.Shape[0].Upper()
}

// Context returns how many positions a sequence of the language model of a verified module
// has: as many as the states that its entries write.
func (m *Module) Context() int64 { return statePositions(m, m.Func(m.LM.Prefill.Func), 0) }

// statePositions returns the positions of the first state that f, its bodies and what it calls
// write; 0 where they write none.
func statePositions(m *Module, f *Func, depth int) int64 {
	if f == nil || depth > maxCallDepth {
		return 0
	}
	for _, n := range f.Nodes {
		var found int64
		switch {
		case n.Op == OpStateWrite:
			found, _ = extent(n.Arg(0), 2)
		case n.Op == OpCall:
			found = statePositions(m, m.Func(attrOf[CallAttr](n).Func), depth+1)
		case n.Body != nil:
			found = statePositions(m, n.Body, depth)
		}
		if found > 0 {
			return found
		}
	}
	return 0
}

// extent returns the constant extent of an axis; false where there is none.
func extent(v *Value, axis int) (int64, bool) {
	if v == nil || axis >= len(v.Type.Shape) {
		return 0, false
	}
	return v.Type.Shape[axis].IsConst()
}
