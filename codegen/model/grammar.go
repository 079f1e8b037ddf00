package model

import (
	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/grammar/jsonschema"
)

//api:if chat

// Grammar is what generated text may be made to follow. It may be used by several goroutines at once.
type Grammar struct{ g *grammar.Grammar }

// CompileGrammar compiles a grammar in GBNF, llama.cpp's notation.
func CompileGrammar(gbnf string) (*Grammar, error) {
	g, err := grammar.Compile(gbnf)
	if err != nil {
		return nil, err
	}
	return &Grammar{g}, nil
}

// CompileJSONSchema compiles the grammar of the JSON values that a schema describes. The notes name keywords that it
// does not follow.
func CompileJSONSchema(schema string) (g *Grammar, notes []string, err error) {
	text, notes, err := jsonschema.Grammar(schema)
	if err != nil {
		return nil, nil, err
	}
	g, err = CompileGrammar(text)
	return g, notes, err
}

// runtime returns the grammar as package runtime has it.
func (g *Grammar) runtime() *grammar.Grammar {
	if g == nil {
		return nil
	}
	return g.g
}

//api:end
