package driver

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/grammar/jsonschema"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// GrammarForm is how a program has its grammar.
type GrammarForm struct {
	// TooLarge is why there is no table, so that the program computes states as it reaches them; nil if there is one.
	TooLarge error
	// States and Sets are the sizes of the table: its states and the different sets of tokens that they allow. Bytes is
	// what the program grows by.
	States, Sets, Bytes int
}

// SchemaGrammar returns the grammar in GBNF of the JSON values that a schema describes, and notes about parts of the
// schema that it does not follow.
func SchemaGrammar(schema string) (gbnf string, notes []string, err error) {
	return jsonschema.Grammar(schema)
}

// Follow makes the text that the program generates follow a grammar in GBNF. If its automaton over the model's
// vocabulary is small enough, it becomes a table.
func (md *Model) Follow(gbnf string) (GrammarForm, error) {
	if md.Tokenizer == nil {
		return GrammarForm{}, optionf("a grammar: the model has no tokenizer")
	}
	g, err := grammar.Compile(gbnf)
	if err != nil {
		return GrammarForm{}, err
	}
	v, err := token.Load(string(md.Tokenizer))
	if err != nil {
		return GrammarForm{}, err
	}
	data, err := g.Tabulate(grammar.NewVocab(v))
	var large *grammar.TooLargeError
	if errors.As(err, &large) {
		md.Grammar = []byte(gbnf)
		return GrammarForm{TooLarge: large, Bytes: len(gbnf)}, nil
	}
	if err != nil {
		return GrammarForm{}, err
	}
	table, err := grammar.LoadTable(string(data), v)
	if err != nil {
		return GrammarForm{}, fmt.Errorf("codegen: internal error: %w", err)
	}
	md.Grammar = data
	states, sets := table.States()
	return GrammarForm{States: states, Sets: sets, Bytes: len(data)}, nil
}
