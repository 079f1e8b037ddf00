package tokenizer

import "github.com/ggmlc/ggmlc/runtime/token"

// The default ids of BERT, which llama.cpp also assumes if the file has none.
const (
	bertCLS = 101
	bertSEP = 102
	bertUNK = 100
)

// readWPM reads a WordPiece vocabulary. A text has BERT's classification token before it and a separator after it.
func (r *reader) readWPM() (*token.Table, error) {
	tokens, err := r.src.Strings(keyTokens)
	if err != nil {
		r.add(err)
		return nil, r.join()
	}
	n := len(tokens)
	t := &token.Table{
		Algorithm: token.WPM,
		Tokens:    tokens,
		Types:     r.types(n),
		BOS:       r.id(keyBOS, bertCLS, n),
		EOS:       r.id(keyEOS, token.None, n),
		UNK:       r.id(keyUNK, bertUNK, n),
		SEP:       r.id(keySEP, bertSEP, n),
		Lower:     true,
	}
	r.bool(&t.Lower, keyLower)
	t.StripAccents = t.Lower
	r.bool(&t.StripAccents, keyAccents)
	t.AddBOS, t.AddSEP = t.BOS != token.None, t.SEP != token.None
	r.needUNK(t)
	return r.finish(t)
}

// needUNK checks that there is a token for what has none.
func (r *reader) needUNK(t *token.Table) {
	if t.UNK == token.None {
		r.fail(keyUNK, "names no token, but this tokenizer needs one for what has none: convert the model again")
	}
}
