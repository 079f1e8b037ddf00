// Package tokenizer converts the vocabulary of a model file to the tables of runtime/token, which emitted programs
// use. It checks everything that it reads.
package tokenizer

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Source is the part of a model file that this package uses; *gguf.File implements it. If a key is missing or has
// another type, an accessor's error names file, key and both types.
type Source interface {
	Has(key string) bool
	String(key string) (string, error)
	Int(key string) (int64, error)
	Bool(key string) (bool, error)
	Strings(key string) ([]string, error)
	Int32s(key string) ([]int32, error)
	Float32s(key string) ([]float32, error)
	Bytes(key string) ([]byte, error)
	KeyError(key, format string, args ...any) error
}

// The keys of GGUF's vocabulary (docs/gguf.md in ggml-org/ggml, "Tokenizer").
const (
	keyArch       = "general.architecture"
	keyName       = "general.name"
	keyModel      = "tokenizer.ggml.model"
	keyPre        = "tokenizer.ggml.pre"
	keyTokens     = "tokenizer.ggml.tokens"
	keyMerges     = "tokenizer.ggml.merges"
	keyScores     = "tokenizer.ggml.scores"
	keyTypes      = "tokenizer.ggml.token_type"
	keyBOS        = "tokenizer.ggml.bos_token_id"
	keyEOS        = "tokenizer.ggml.eos_token_id"
	keyEOT        = "tokenizer.ggml.eot_token_id"
	keyEOM        = "tokenizer.ggml.eom_token_id"
	keyUNK        = "tokenizer.ggml.unknown_token_id"
	keySEP        = "tokenizer.ggml.seperator_token_id" // as misspelled in the format
	keyAddBOS     = "tokenizer.ggml.add_bos_token"
	keyAddEOS     = "tokenizer.ggml.add_eos_token"
	keyAddSEP     = "tokenizer.ggml.add_sep_token"
	keyAddSpace   = "tokenizer.ggml.add_space_prefix"
	keyLower      = "tokenizer.ggml.normalizer.lowercase"
	keyAccents    = "tokenizer.ggml.normalizer.strip_accents"
	keySpaces     = "tokenizer.ggml.remove_extra_whitespaces"
	keyCharsmap   = "tokenizer.ggml.precompiled_charsmap"
	keySuppressed = "tokenizer.ggml.suppress_tokens"
	keyPair       = "tokenizer.chat_template.rerank"
)

// Present reports whether a file has a vocabulary. A graph need not have one, and some files name theirs none.
func Present(src Source) bool {
	if model, err := src.String(keyModel); err == nil && slices.Contains(noModels, model) {
		return false
	}
	return src.Has(keyModel) || src.Has(keyTokens)
}

// noModels lists the values of tokenizer.ggml.model of files without vocabulary.
var noModels = []string{"none", "no_vocab"}

// models lists the supported tokenizers by the value of tokenizer.ggml.model.
var models = []struct {
	name string
	read func(*reader) (*token.Table, error)
}{
	{"llama", (*reader).readSPM},
	{"gpt2", (*reader).readBPE},
	{"bert", (*reader).readWPM},
	{"t5", (*reader).readUGM},
	{"gemma4", (*reader).readGemma4},
	{"whitespace", (*reader).readWhitespace},
	{"hybriddna", (*reader).readHybridDNA},
	{"rwkv", (*reader).readRWKV},
	{"plamo2", (*reader).readPLaMo},
}

// Read reads and checks the vocabulary. rows is the number of rows of the token embedding, which must be the number
// of tokens; 0 means that the file has no embedding. Read reports all faults that it can find.
func Read(src Source, rows int) (*token.Table, error) {
	model, err := src.String(keyModel)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m.name == model {
			return m.read(&reader{src: src, rows: rows})
		}
	}
	return nil, src.KeyError(keyModel, "tokenizer %s is not supported:%s use a model with one of %s", gguf.Quote(model), spell.Hint(model, supported()), strings.Join(supported(), ", "))
}

// Size returns the number of ids of encoded tables.
func Size(tables string) (int, error) {
	v, err := token.Load(tables)
	if err != nil {
		return 0, err
	}
	return v.Size(), nil
}

// supported lists the names in models.
func supported() []string {
	var names []string
	for _, m := range models {
		names = append(names, m.name)
	}
	return names
}

// reader collects a vocabulary and its faults.
type reader struct {
	src  Source
	rows int
	errs gguf.Faults
}

// defaults are the ids of special tokens, and whether there is a separator between a query and a document, where the file
// states none.
type defaults struct {
	bos, eos, unk int32
	pairSEP       bool
}

// table reads what all vocabularies have, then what more reads for one of an algorithm, and checks the result.
func (r *reader) table(a token.Algorithm, def defaults, more func(t *token.Table)) (*token.Table, error) {
	tokens, err := r.src.Strings(keyTokens)
	if err != nil {
		r.add(err)
		return nil, r.join()
	}
	n := len(tokens)
	t := &token.Table{
		Algorithm: a,
		Tokens:    tokens,
		Scores:    r.scoresOf(a, n),
		Types:     r.types(n),
		BOS:       r.id(keyBOS, def.bos, n),
		EOS:       r.id(keyEOS, def.eos, n),
		UNK:       r.id(keyUNK, def.unk, n),
		PairSEP:   def.pairSEP,
	}
	r.separator(t)
	r.pair(t)
	more(t)
	return r.finish(t)
}

// separator reads whether there is one between a query and a document.
func (r *reader) separator(t *token.Table) {
	if r.bool(&t.PairSEP, keyAddSEP); t.PairSEP {
		t.SEP = r.id(keySEP, token.None, len(t.Tokens))
		t.PairSEP = t.SEP != token.None
	}
}

// pair reads the template of a query and a document that are ranked.
func (r *reader) pair(t *token.Table) {
	if !r.src.Has(keyPair) {
		return
	}
	text, err := r.src.String(keyPair)
	if err == nil {
		err = token.ValidPair(text)
		if err == nil && !utf8.ValidString(text) {
			err = errors.New("is no UTF-8 text")
		}
		if err != nil {
			err = r.src.KeyError(keyPair, "%v: convert the model again", err)
		}
	}
	if err != nil {
		r.add(err)
		return
	}
	t.Pair = text
}

// scoresOf reads the scores of algorithms that have them.
func (r *reader) scoresOf(a token.Algorithm, n int) []float32 {
	if a != token.SPM && a != token.UGM && a != token.PLaMo {
		return nil
	}
	return r.scores(n)
}

// fail records an error about a key.
func (r *reader) fail(key, format string, args ...any) { r.add(r.src.KeyError(key, format, args...)) }

// add records an error unless it is nil.
func (r *reader) add(err error) { r.errs.Add(err) }

// join returns all errors as one, or nil if there are none.
func (r *reader) join() error {
	return r.errs.Err(func(text string) error { return r.src.KeyError(keyTokens, "%s in the vocabulary", text) })
}

// bool sets *to to the value of a key, and leaves it unchanged if the key is absent.
func (r *reader) bool(to *bool, key string) {
	if r.src.Has(key) {
		v, err := r.src.Bool(key)
		r.add(err)
		*to = v
	}
}

// noID is the id that real files store for a missing token: -1 in 32 bits.
const noID = 1<<32 - 1

// id reads the id of a special token, or returns absent if the key is absent. n is the number of tokens.
func (r *reader) id(key string, absent int32, n int) int32 {
	if !r.src.Has(key) {
		if int(absent) >= n {
			return token.None
		}
		return absent
	}
	v, err := r.src.Int(key)
	switch {
	case err != nil:
		r.add(err)
	case v == noID || v == -1:
	case v < 0 || v >= int64(n):
		r.fail(key, "is %d, but there are %d tokens: convert the model again", v, n)
	default:
		return int32(v)
	}
	return token.None
}
