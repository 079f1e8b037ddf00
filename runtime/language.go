package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// driver is an entry of a language model with its tensors.
type driver struct {
	fn                         int
	symbol                     int     // of the number of tokens; -1 where that is 1
	tokens, pos, slot, lengths *Tensor // nil where the function has no such input
	logits                     *Tensor
}

func newDriver(p *Program, e *Entry) *driver {
	f := &p.Funcs[e.Func]
	input := func(i int) *Tensor {
		if i < 0 {
			return nil
		}
		return &f.Inputs[i]
	}
	tokens := &f.Inputs[e.Tokens]
	symbol := -1
	if d := tokens.Dims[0]; d.Scale != 0 {
		symbol = d.Sym
	}
	return &driver{e.Func, symbol, tokens, input(e.Pos), input(e.Slot), input(e.Lengths), &f.Outputs[e.Logits]}
}

// checkLanguage panics when the tables of a language model contradict each other.
func (p *Program) checkLanguage() {
	lm := p.LM
	if lm.Vocab < 1 || lm.Context < 1 || lm.Batch < 1 {
		p.broken("LM has vocabulary %d, context %d, batch %d", lm.Vocab, lm.Context, lm.Batch)
	}
	if batch := p.checkEntry(&lm.Prefill); batch != lm.Batch {
		p.broken("LM has batch %d, its prefill takes %d tokens", lm.Batch, batch)
	}
	p.checkEntry(&lm.Decode)
	p.checkHidden(lm)
	if lm.Joint != nil {
		p.checkJoint(lm.Joint)
	}
	if lm.Top != nil {
		p.checkTop(lm.Top)
	}
	if r := lm.Ring; r != nil && (r.Window < 1 || r.Rows < r.Window || r.Rows >= lm.Context) {
		p.broken("LM keeps %d of %d positions for windows of %d", r.Rows, lm.Context, r.Window)
	}
	for i := range p.States {
		if st := &p.States[i]; st.Heads != 0 {
			p.checkPositionsOf(st)
		}
	}
}

// checkPositionsOf panics when a state is not made of equal heads of whole groups of positions.
func (p *Program) checkPositionsOf(st *StateInfo) {
	if st.Heads < 1 || st.Rows != 0 && (p.LM.Ring == nil || st.Rows != p.LM.Ring.Rows) ||
		st.Bytes != st.groupBytes(p.LM)*int64(p.LM.sequences()*st.Heads*st.groups(st.room(p.LM))) {
		p.broken("LM has a state of %d bytes, in %d heads, groups of %d and a ring of %d", st.Bytes, st.Heads, st.group(), st.Rows)
	}
}

// checkJoint panics when the entry for several sequences has a shape that joint steps cannot drive.
func (p *Program) checkJoint(e *Entry) {
	if most := p.checkEntry(e); most != p.LM.sequences() || e.Pos < 0 || e.Slot < 0 {
		p.broken("LM has %d sequences, its joint entry takes %d tokens", p.LM.sequences(), most)
	}
	f := &p.Funcs[e.Func]
	if rows := f.Outputs[e.Logits].Dims; len(rows) != 2 || rows[0] != f.Inputs[e.Tokens].Dims[0] {
		p.broken("%s: there is no row of logits for each token", f.Name)
	}
}

// context returns the most positions of a sequence; 0 for a module that is no language model.
func (p *Program) context() int {
	if p.LM == nil {
		return 0
	}
	return p.LM.Context
}

// sequences returns the number of sequences that the state has room for.
func (lm *LanguageModel) sequences() int { return max(lm.Sequences, 1) }

// checkEntry panics when an entry has a shape that chunks cannot drive. It returns the most tokens of one step.
func (p *Program) checkEntry(e *Entry) (batch int) {
	if uint(e.Func) >= uint(len(p.Funcs)) {
		p.broken("LM refers to function %d of %d", e.Func, len(p.Funcs))
	}
	f := &p.Funcs[e.Func]
	taken := make([]bool, len(f.Inputs))
	for _, i := range []int{e.Tokens, e.Pos, e.Slot, e.Lengths} {
		if i == -1 && i != e.Tokens {
			continue
		}
		if uint(i) >= uint(len(f.Inputs)) || taken[i] {
			p.broken("%s: input %d of %d has a role, or two", f.Name, i, len(f.Inputs))
		}
		taken[i] = true
	}
	if p.LM.Top == nil || e != &p.LM.Top.Entry {
		p.checkRows(f, e)
	}
	p.checkInputs(f, e)
	return f.Inputs[e.Tokens].Dims[0].max(p)
}

// checkInputs panics unless the inputs have the shapes, and allow the values, that place writes.
func (p *Program) checkInputs(f *Func, e *Entry) {
	n := f.Inputs[e.Tokens].Dims
	if len(n) != 1 || n[0] != (Dim{Const: 1}) && (n[0].Scale != 1 || n[0].Const != 0 || p.Symbols[n[0].Sym].Min > 1) {
		p.broken("%s: no step can take any number of tokens", f.Name)
	}
	must := func(i int, d Dim, most int) {
		if i < 0 {
			return
		}
		t := &f.Inputs[i]
		few := func(rows Dim) bool { return rows.min(p) <= most }
		if t.Type != dtype.I32 || len(t.Dims) != 1 || t.Dims[0] != d || slices.ContainsFunc(t.Below, few) {
			p.broken("%s: %s cannot hold up to %d", f.Name, t.Name, most)
		}
	}
	must(e.Tokens, n[0], p.LM.Vocab-1)
	must(e.Pos, n[0], p.LM.Context-1)
	must(e.Slot, n[0], p.LM.sequences()-1)
	must(e.Lengths, Dim{Const: p.LM.sequences()}, p.LM.Context)
}

// checkRows panics unless the logits are rows of the vocabulary's length.
func (p *Program) checkRows(f *Func, e *Entry) {
	if uint(e.Logits) >= uint(len(f.Outputs)) {
		p.broken("%s: LM refers to output %d of %d", f.Name, e.Logits, len(f.Outputs))
	}
	t := &f.Outputs[e.Logits]
	if t.Type != dtype.F32 || len(t.Dims) == 0 || t.Dims[len(t.Dims)-1] != (Dim{Const: p.LM.Vocab}) {
		p.broken("%s: %s is no row of %d logits", f.Name, t.Name, p.LM.Vocab)
	}
}

// Prefill appends tokens to the sequence and returns the logits after the last one: one per id of the vocabulary,
// valid until the session's next step. It runs in chunks of the program's batch. After an error the session is as it
// was before the call, unless steps have overwritten positions of a sliding window that it needs: then later calls
// return an error until Reset or Prompt. A prompt that does not fit is refused with a *ContextError before any step
// runs.
func (s *Session) Prefill(ctx context.Context, tokens []int32) ([]float32, error) {
	if err := s.lock(len(tokens), after); err != nil {
		return nil, err
	}
	defer s.busy.Store(false)
	if err := s.checkTokens(tokens); err != nil {
		return nil, err
	}
	logits, err := s.append(ctx, tokens)
	return logits, s.supersede(err)
}

// supersede forgets the token that Generate yielded last and did not run, as others are in its place now. It returns
// err, which means that they are not.
func (s *Session) supersede(err error) error {
	if err == nil {
		s.pending = s.pending[:0]
	}
	return err
}

// Decode appends one token and returns the logits after it, as Prefill does. It allocates nothing.
func (s *Session) Decode(ctx context.Context, token int32) ([]float32, error) {
	if err := s.lock(1, after); err != nil {
		return nil, err
	}
	defer s.busy.Store(false)
	one := [1]int32{token}
	if err := s.checkTokens(one[:]); err != nil {
		return nil, err
	}
	var logits []float32
	var err error
	if s.seat != nil {
		logits, err = s.seat.decode(ctx, s, token)
	} else {
		logits, err = s.chunks(ctx, s.model.decode, one[:], 1)
	}
	return logits, s.supersede(err)
}

// where is the place where a call puts tokens.
type where bool

const (
	after   where = false // after the sequence
	instead where = true  // in place of it
)

// lock reserves the session for a call that puts n tokens somewhere.
func (s *Session) lock(n int, w where) error {
	lm := s.model.program.LM
	if lm == nil {
		return inputError("%s is no language model: use Call", s.model.program.Name)
	}
	if err := s.reserve(); err != nil {
		return err
	}
	err := s.room(n, w)
	if err != nil {
		s.busy.Store(false)
	}
	return err
}

// room returns an error if n tokens cannot be put somewhere.
func (s *Session) room(n int, w where) error {
	lm, used := s.model.program.LM, s.length
	if w == instead {
		used = 0
	}
	switch {
	case n == 0:
		return errNoTokens()
	case !s.past.has(used):
		return s.past.lost(used)
	case n > lm.Context-used:
		return &ContextError{Used: used, Wanted: n, Limit: lm.Context}
	}
	return nil
}

func errNoTokens() error {
	return inputError("no tokens: at least one is needed to predict the next")
}

// checkTokens refuses ids outside of the embedding.
func (s *Session) checkTokens(tokens []int32) error {
	for i, id := range tokens {
		if id < 0 || int(id) >= s.model.program.LM.Vocab {
			return inputError("token %d is %d: ids are 0 to %d", i, id, s.model.program.LM.Vocab-1)
		}
	}
	return nil
}

// chunks runs tokens at the end of the sequence, at most batch in one step, and returns the logits after the last
// one. With devices, several steps may be in flight at once.
func (s *Session) chunks(ctx context.Context, d *driver, tokens []int32, batch int) ([]float32, error) {
	if err := s.runChunks(ctx, d, tokens, batch); err != nil {
		return nil, err
	}
	logits, vocab := s.Floats(d.logits), s.model.program.LM.Vocab
	return logits[len(logits)-vocab:], nil
}

// runChunks is chunks without a result.
func (s *Session) runChunks(ctx context.Context, d *driver, tokens []int32, batch int) error {
	begin, was := time.Now(), s.length
	err := s.finish(s.submitChunks(ctx, d, tokens, batch, alone))
	s.model.stepped(ctx, begin, StepMetrics{Func: s.model.program.Funcs[d.fn].Name, Tokens: len(tokens), Sessions: 1, Err: err})
	if err != nil {
		s.length = was
		s.past.fail(was, len(tokens))
		return err
	}
	s.past.put(was, tokens)
	return nil
}

// submitChunks submits the steps of chunks, the first of which begins in the given order.
func (s *Session) submitChunks(ctx context.Context, d *driver, tokens []int32, batch int, order stepOrder) error {
	s.widen(len(tokens))
	for ; len(tokens) > 0; order = overlapping {
		n := min(len(tokens), batch)
		s.begin(order)
		s.place(d, tokens[:n])
		if err := s.submit(ctx, d.fn); err != nil {
			return err
		}
		s.length += n
		tokens = tokens[n:]
	}
	return nil
}

// widen requests huge pages for the state once n more positions fill a quarter of the context. Attention reads all
// filled positions in each step, so it gains from fewer TLB misses in long sequences. Requested earlier, huge pages
// would cost short sequences some MiB of memory per tensor of the state.
func (s *Session) widen(n int) {
	if !s.wide && s.length+n > s.model.program.LM.Context/4 {
		s.wide = true
		adviseHuge(s.state.bytes)
	}
}

// place writes the sizes and the inputs of a chunk.
func (s *Session) place(d *driver, tokens []int32) {
	n := len(tokens)
	if d.symbol >= 0 {
		s.args.Dims[d.symbol] = n
	}
	copy(s.Ints(d.tokens), tokens)
	if d.pos != nil {
		for i := range s.Ints(d.pos)[:n] {
			s.Ints(d.pos)[i] = int32(s.length + i)
		}
	}
	if d.slot != nil {
		for i := range s.Ints(d.slot)[:n] {
			s.Ints(d.slot)[i] = int32(s.slot)
		}
	}
	if d.lengths != nil {
		s.Ints(d.lengths)[s.slot] = int32(s.length + n)
	}
	s.reach(&s.model.program.Funcs[d.fn])
}
