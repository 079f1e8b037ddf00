package runtime

import (
	"context"
	"slices"
)

// past is the tokens whose keys and values a state has, from position 0 on. It may have more than the sequence: what
// was forgotten stays in the state until other tokens are run at its positions.
//
// States that keep only the last positions have those from low on. A sequence can continue at a position if those of
// the window before it are there.
type past struct {
	ids  []int32
	ring *Ring // nil: states keep all positions
	low  int   // 0 without a ring
}

// newPast has room for a full context, so that put allocates nothing.
func newPast(lm *LanguageModel) *past {
	return &past{ids: make([]int32, 0, lm.Context), ring: lm.Ring}
}

// has reports whether a sequence can continue at position n.
func (p *past) has(n int) bool {
	return p == nil || n == 0 || p.low == 0 || n-(p.ring.Window-1) >= p.low
}

// lost describes that has is false.
func (p *past) lost(n int) error {
	return inputError("position %d: sliding windows read %d positions before it, and the state has only those from %d on: begin again with Reset or Prompt, or compile with --whole-cache",
		n, p.ring.Window-1, p.low)
}

// wrote notes that a step has written the positions up to n: a ring has lost the earlier positions in the same rows.
func (p *past) wrote(n int) {
	if p.ring != nil {
		p.low = max(p.low, n-p.ring.Rows)
	}
}

// fail notes that a step which failed may have written n positions from position at on.
func (p *past) fail(at, n int) {
	if p != nil {
		p.cut(at)
		p.wrote(at + n)
	}
}

// put notes that tokens have been run after the first n positions. If those are not known, neither are these. Later
// positions stay if the tokens are the same as before.
func (p *past) put(n int, tokens []int32) {
	if p == nil {
		return
	}
	if n < p.low { // a new beginning, over the rows of what was there
		p.ids, p.low = p.ids[:min(n, len(p.ids))], 0
	}
	p.wrote(n + len(tokens))
	if n > len(p.ids) || len(p.ids) >= n+len(tokens) && slices.Equal(p.ids[n:n+len(tokens)], tokens) {
		return
	}
	p.ids = append(p.ids[:n], tokens...)
}

// copy makes p what another past is up to position n.
func (p *past) copy(from *past, n int) {
	p.ids, p.low = append(p.ids[:0], from.ids[:n]...), from.low
}

// cut notes that the positions from n on are lost.
func (p *past) cut(n int) {
	if p != nil {
		p.ids = p.ids[:min(n, len(p.ids))]
	}
}

// first returns the tokens of the first n positions, as far as they are known.
func (p *past) first(n int) []int32 {
	if p == nil {
		return nil
	}
	return p.ids[:min(n, len(p.ids))]
}

// lowest returns the first position that is there.
func (p *past) lowest() int {
	if p == nil {
		return 0
	}
	return p.low
}

// common returns how many of the first positions have the given tokens; 0 if a sequence cannot continue after them.
func (p *past) common(tokens []int32) int {
	n := min(len(p.ids), len(tokens))
	for i, id := range p.ids[:n] {
		if id != tokens[i] {
			n = i
			break
		}
	}
	if !p.has(n) {
		return 0
	}
	return n
}

// Prompt makes tokens the whole sequence and returns the logits after the last one, as Prefill does. Tokens at the
// beginning that were run before are not run again: those of this session, and those of other sessions of the same
// Sessions, also of closed ones, as long as their positions have not been used for other tokens. After an error the
// sequence is what was kept.
func (s *Session) Prompt(ctx context.Context, tokens []int32) ([]float32, error) {
	logits, _, err := s.prompt(ctx, tokens)
	return logits, err
}

// prompt is Prompt. It also returns how many tokens were not run again.
func (s *Session) prompt(ctx context.Context, tokens []int32) (logits []float32, kept int, err error) {
	if err := s.lock(len(tokens), instead); err != nil {
		return nil, 0, err
	}
	defer s.busy.Store(false)
	if err := s.checkTokens(tokens); err != nil {
		return nil, 0, err
	}
	if kept, err = s.keep(ctx, tokens[:len(tokens)-1]); err != nil { // the last one is run for its logits
		return nil, 0, err
	}
	s.length, s.pending = kept, s.pending[:0]
	logits, err = s.append(ctx, tokens[kept:])
	return logits, kept, err
}

// keep returns how many of the first tokens the state has, after a look at other sessions.
func (s *Session) keep(ctx context.Context, tokens []int32) (int, error) {
	if s.seat == nil {
		return s.past.common(tokens), nil
	}
	if err := s.seat.check(s); err != nil {
		return 0, err
	}
	n, err := s.seat.all.share(ctx, s, tokens)
	if err != nil {
		s.length, s.pending = s.past.common(tokens), s.pending[:0]
	}
	return n, err
}

// append runs tokens at the end of the sequence. The caller has reserved the session.
func (s *Session) append(ctx context.Context, tokens []int32) ([]float32, error) {
	if s.seat != nil {
		return s.seat.prefill(ctx, s, tokens)
	}
	return s.chunks(ctx, s.model.prefill, tokens, s.model.program.LM.Batch)
}

// share gives s as many of the first tokens as any seat has, and returns their number. If the seat is free, s moves
// there; otherwise the positions are copied. No step runs meanwhile.
func (g *Sessions) share(ctx context.Context, s *Session, tokens []int32) (int, error) {
	if err := g.turn.enter(ctx, s.seat.ticket); err != nil {
		return 0, err
	}
	defer g.turn.leave()
	g.joint.leave(s.seat)
	g.mu.Lock()
	defer g.mu.Unlock()
	best, own := s.seat, s.past.common(tokens)
	m, most := g.memory.model, own
	for _, c := range g.seats {
		if n := c.past.common(tokens); n > most {
			best, most = c, n
		}
	}
	switch {
	case best == s.seat:
	case best.owner == nil:
		g.left++
		s.seat.owner, s.seat.used = nil, g.left
		best.take(s)
	case m.program.statesBySequence() != nil || len(m.program.States) == 0:
		return own, nil
	default:
		if err := g.memory.copyRows(s.slot, g.memory, best.slot, own, most); err != nil {
			s.past.cut(own)
			return 0, err
		}
		s.past.copy(best.past, most)
	}
	return most, nil
}
