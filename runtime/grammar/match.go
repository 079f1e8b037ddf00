package grammar

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Vocabulary is what a Matcher asks of a tokenizer. Package runtime/token has it.
type Vocabulary interface {
	Size() int
	AppendPiece(dst []byte, id int32) []byte // the bytes that a token adds to the text
	IsEOG(id int32) bool                     // whether the token ends the text
	HasText(id int32) bool                   // whether the token has a text, which a control token adds to no text
	Single(text string) (id int32, ok bool)  // the token that a text is, as a whole; the text may be that of a control token
}

// ErrNoToken means that no token of the vocabulary can follow.
var ErrNoToken = errors.New("no token of the vocabulary can follow here under the grammar")

// Vocab is a vocabulary in the order of its texts. It does not change and may be used by several goroutines.
type Vocab struct {
	pieces []piece
	ids    int     // tokens
	words  int     // of a mask
	ends   []int32 // tokens that end the text
	source Vocabulary
}

// piece is a token's text.
type piece struct {
	text   string
	id     int32
	common int // bytes that it has in common with the piece before it
}

// NewVocab sorts a vocabulary. Tokens that add nothing to a text, such as control tokens, follow a grammar only where it names
// tokens.
func NewVocab(v Vocabulary) *Vocab {
	s := &Vocab{ids: v.Size(), words: (v.Size() + 63) / 64, source: v}
	var buf []byte
	for id := range int32(v.Size()) {
		if v.IsEOG(id) {
			s.ends = append(s.ends, id)
			continue
		}
		if buf = v.AppendPiece(buf[:0], id); len(buf) > 0 {
			s.pieces = append(s.pieces, piece{text: string(buf), id: id})
		}
	}
	slices.SortFunc(s.pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.id, b.id)) })
	for i := 1; i < len(s.pieces); i++ {
		s.pieces[i].common = commonPrefix(s.pieces[i-1].text, s.pieces[i].text)
	}
	return s
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Matcher follows one text. Only one goroutine may use it at a time.
type Matcher struct {
	v     *Vocab
	texts map[int32]string
	m     *machine
	at    stateID
	named []int32   // the tokens of the grammar's elements
	trail []stateID // of Mask: the states after each byte of the last piece
}

// Match returns a Matcher for an empty text.
func (g *Grammar) Match(v *Vocab) (*Matcher, error) {
	m, start, err := newMachine(g)
	if err != nil {
		return nil, err
	}
	t := &Matcher{v: v, m: m, at: start, texts: make(map[int32]string, len(v.pieces))}
	if t.named, err = g.named(v); err != nil {
		return nil, err
	}
	for _, p := range v.pieces {
		t.texts[p.id] = p.text
	}
	return t, nil
}

// Limit sets the logits of tokens that cannot follow to minus infinity. Tokens that end the text can follow if it is
// complete. The error is ErrNoToken if none is left, or ErrTooComplex.
func (t *Matcher) Limit(logits []float32) error {
	mask, err := t.mask()
	if err != nil {
		return err
	}
	left := uint64(0)
	for _, word := range mask {
		left |= word
	}
	if left == 0 {
		return ErrNoToken
	}
	for id := range logits {
		if mask[id/64]>>(id%64)&1 == 0 {
			logits[id] = float32(math.Inf(-1))
		}
	}
	return nil
}

// Accept appends a token to the text. A token that ends the text changes nothing.
func (t *Matcher) Accept(id int32) error {
	text, ok := t.texts[id]
	if !ok && (len(t.named) == 0 || t.v.source.IsEOG(id)) {
		return nil
	}
	next := dead
	if ok {
		next = t.at
	}
	for i := 0; i < len(text) && next != dead; i++ {
		var err error
		if next, err = t.m.step(next, text[i]); err != nil {
			return err
		}
	}
	if len(t.named) > 0 {
		var err error
		if next, err = t.orToken(next, id); err != nil {
			return err
		}
	}
	if next == dead {
		return fmt.Errorf("token %d does not follow the grammar", id)
	}
	t.at = next
	return nil
}

// mask returns the set of tokens that can follow.
func (t *Matcher) mask() ([]uint64, error) {
	if t.m.full() {
		t.at = t.m.renew(t.at)
	}
	if mask := t.m.states[t.at].mask; mask != nil {
		return mask, nil
	}
	mask := make([]uint64, t.v.words)
	if t.m.complete(t.at) {
		for _, id := range t.v.ends {
			mask[id/64] |= 1 << (id % 64)
		}
	}
	t.trail = append(t.trail[:0], t.at)
	for i := range t.v.pieces {
		p := &t.v.pieces[i]
		ok, err := t.try(p)
		if err != nil {
			return nil, err
		}
		if ok {
			mask[p.id/64] |= 1 << (p.id % 64)
		}
	}
	t.allowNamed(mask)
	t.m.states[t.at].mask = mask
	t.m.masks++
	return mask, nil
}

// try reports whether a piece can follow. t.trail has the states after the bytes of the piece before it, up to the one
// that led to the dead state.
func (t *Matcher) try(p *piece) (bool, error) {
	t.trail = t.trail[:min(len(t.trail), p.common+1)]
	for t.trail[len(t.trail)-1] != dead && len(t.trail) <= len(p.text) {
		next, err := t.m.step(t.trail[len(t.trail)-1], p.text[len(t.trail)-1])
		if err != nil {
			return false, err
		}
		t.trail = append(t.trail, next)
	}
	return t.trail[len(t.trail)-1] != dead, nil
}
