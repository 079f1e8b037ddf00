package runtime

import (
	"fmt"

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
	g.limited = make([]float32, model.program.LM.Vocab)
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
