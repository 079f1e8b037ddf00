package tokenizer

import (
	"slices"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// The default ids of SentencePiece, which llama.cpp also assumes if the file has none.
const (
	defaultUNK = 0
	defaultBOS = 1
	defaultEOS = 2
)

// readSPM reads a SentencePiece vocabulary with scores.
func (r *reader) readSPM() (*token.Table, error) {
	return r.table(token.SPM, defaults{bos: defaultBOS, eos: defaultEOS, unk: defaultUNK}, func(t *token.Table) {
		t.AddSpace = true
		r.bool(&t.AddEOS, keyAddEOS)
		r.bool(&t.AddSpace, keyAddSpace)
		t.AddBOS = t.BOS != token.None
		r.bool(&t.AddBOS, keyAddBOS)
		r.checkScores(t)
		r.checkBytes(t)
	})
}

// checkCount compares the number of tokens with the embedding.
func (r *reader) checkCount(n int) {
	switch {
	case n == 0:
		r.fail(keyTokens, "is empty: the model has no tokens")
	case r.rows != 0 && n != r.rows:
		r.fail(keyTokens, "has %d tokens, but the embedding has %d rows: the file was put together wrongly; convert the model again", n, r.rows)
	}
}

// scores reads the scores. A file without them is unusable, as every merge would be a tie.
func (r *reader) scores(n int) []float32 {
	s, err := r.src.Float32s(keyScores)
	if err != nil {
		r.add(err)
	} else if len(s) != n {
		r.fail(keyScores, "has %d scores for %d tokens: convert the model again", len(s), n)
	}
	return s
}

// types reads the token types. If the key is absent, all tokens are normal.
func (r *reader) types(n int) []token.Type {
	list := make([]token.Type, n)
	if !r.src.Has(keyTypes) {
		for i := range list {
			list[i] = token.Normal
		}
		return list
	}
	values, err := r.src.Int32s(keyTypes)
	if err != nil {
		r.add(err)
		return list
	}
	if len(values) != n {
		r.fail(keyTypes, "has %d types for %d tokens: convert the model again", len(values), n)
		return list
	}
	for i, v := range values {
		if v < int32(token.Undefined) || v > int32(token.Byte) {
			r.fail(keyTypes, "token %d has type %d, where 0 to 6 are known: convert the model again", i, v)
			continue
		}
		list[i] = token.Type(v)
	}
	return list
}

// checkAdded checks that the tokens exist that are added to texts.
func (r *reader) checkAdded(t *token.Table) {
	if t.AddBOS && t.BOS == token.None {
		r.fail(keyAddBOS, "is true, but the vocabulary has no beginning-of-text token: set %s or convert the model again", keyBOS)
	}
	if t.AddEOS && t.EOS == token.None {
		r.fail(keyAddEOS, "is true, but the vocabulary has no end-of-text token: set %s or convert the model again", keyEOS)
	}
}

// checkScores checks scores one by one.
func (r *reader) checkScores(t *token.Table) {
	if r.join() != nil { // a list has the wrong length
		return
	}
	for id, score := range t.Scores {
		if score != score {
			r.fail(keyScores, "the score of token %d is NaN: convert the model again", id)
		}
	}
}

// checkBytes checks that every text can be encoded: a piece without a token is spelled in bytes, or else becomes the
// unknown token.
func (r *reader) checkBytes(t *token.Table) {
	if t.UNK == token.None {
		r.checkAllBytes(t)
	}
}

// checkAllBytes checks that there is a token for each byte.
func (r *reader) checkAllBytes(t *token.Table) {
	if r.join() != nil {
		return
	}
	var has [256]bool
	for id, s := range t.Tokens {
		if b, ok := token.ParseByte(s); ok && t.Types[id] == token.Byte {
			has[b] = true
		}
	}
	if missing := slices.Index(has[:], false); missing >= 0 {
		r.fail(keyTokens, "there is neither a token for the byte 0x%02X nor an unknown token, so not every text could be encoded: convert the model again", missing)
	}
}
