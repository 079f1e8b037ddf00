// Package model is the source of the API of generated packages. codegen puts its Files into the file model.go of each
// generated package, under that package's name. The package is compiled, vetted and tested here as if it had been
// generated, with an empty program.
//
// Lines between //api:if FEATURE... and //api:end are for packages with at least one of the features:
//
//	language    it generates tokens
//	encoder     it makes embeddings of texts, and no tokens
//	embeddings  it makes embeddings
//	rank        it gives scores to texts
//	tokenizer   it has a tokenizer
//	chat        it generates texts: language and tokenizer
//	states      its module has states
//
// A package without language and encoder also gets a method of Session for each function of its module.
//
// Types are declared here and not taken from package runtime, so that go doc shows their fields. Their conversions are
// here, too; everything else is in package runtime.
package model

import (
	"embed"

	"github.com/ggmlc/ggmlc/runtime"
)

// Source holds the Files.
//
//go:embed model.go metrics.go context.go generate.go sampling.go grammar.go chat.go language.go embed.go tokenizer.go steps.go states.go
var Source embed.FS

// Files are the names of the files that become part of generated packages, in the order there.
var Files = []string{
	"model.go", "metrics.go", "context.go", "generate.go", "sampling.go", "grammar.go", "chat.go", "language.go", "embed.go", "tokenizer.go",
	"steps.go", "states.go",
}

// program takes the place of the variable that generated packages have in program.go.
var program runtime.Program
