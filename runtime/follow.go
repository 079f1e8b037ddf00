package runtime

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/grammar"
)

// follower excludes the tokens that do not follow a grammar.
type follower interface {
	Limit(logits []float32) error
	Accept(id int32) error
}

// follow prepares the generation to follow a grammar, if there is one.
func (g *generation) follow() (err error) {
	model := g.s.model
	switch {
	case g.o.AnyText, g.o.Grammar == nil && model.program.Grammar == "":
		return nil
	case model.vocab == nil:
		return inputError("a grammar: %s has no tokenizer", model.program.Name)
	}
	if g.matcher, err = model.follower(g.o.Grammar); err != nil {
		return err
	}
	return nil
}

// follower returns a follower of a grammar, or of the program's own one for nil.
func (m *Model) follower(want *grammar.Grammar) (follower, error) {
	if want == nil {
		own, err := m.own()
		if err != nil {
			return nil, err
		}
		if own.table != nil {
			return own.table.Match(), nil
		}
		want = own.text
	}
	matcher, err := want.Match(m.pieces())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return matcher, nil
}

// ownGrammar is the grammar that a program was compiled with, in one of two forms.
type ownGrammar struct {
	table *grammar.Table
	text  *grammar.Grammar
}

// loadGrammar returns the grammar that the program was compiled with.
func (m *Model) loadGrammar() (own ownGrammar, err error) {
	if p := m.program; grammar.IsTable(p.Grammar) {
		own.table, err = grammar.LoadTable(p.Grammar, m.vocab)
	} else {
		own.text, err = grammar.Compile(p.Grammar)
	}
	return own, err
}

// followedEnd is the end of a sequence that a grammar has followed without ending.
type followedEnd struct {
	tokens int
	to     int // the length of the sequence with them; they are not its end if it has another length
}

// followed returns the tokens at the end of the sequence that a grammar has followed without ending.
func (s *Session) followed() []int32 {
	if s.grammar.tokens == 0 || len(s.pending) == 0 || s.grammar.to != s.length+1 || s.model.vocab.IsEOG(s.pending[0]) {
		return nil
	}
	return s.end(s.grammar.tokens)
}

// end returns at most n tokens at the end of the sequence, or none if they are not known.
func (s *Session) end(n int) []int32 {
	if len(s.past.first(s.length)) < s.length {
		return nil
	}
	ids := append(slices.Clone(s.past.first(s.length)), s.pending...)
	return ids[max(0, len(ids)-n):]
}

// proceed prepares a generation that continues the one before it: its grammar continues, and a character that was cut is
// completed.
func (g *generation) proceed() error {
	if g.decoder != nil {
		for _, id := range g.s.end(maxCut) {
			g.text = g.decoder.Append(g.text[:0], id)
		}
	}
	if g.matcher == nil {
		return nil
	}
	ids := g.s.followed()
	for _, id := range ids {
		if err := g.matcher.Accept(id); err != nil {
			return inputError("the text that is continued does not follow the grammar: %w", err)
		}
	}
	g.s.grammar.tokens = len(ids)
	return nil
}

// maxCut is the most tokens whose bytes begin a character without completing it, with as many that have no bytes.
const maxCut = 2 * (utf8.UTFMax - 1)

// note counts the tokens that the grammar has followed, after one was generated.
func (g *generation) note() {
	end := &g.s.grammar
	if g.matcher == nil {
		end.tokens = 0
		return
	}
	end.tokens, end.to = end.tokens+1, g.s.length+1
}
