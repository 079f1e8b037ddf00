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
	return r.table(token.WPM, defaults{bos: bertCLS, eos: token.None, unk: bertUNK}, func(t *token.Table) {
		t.SEP, t.Lower = r.id(keySEP, bertSEP, len(t.Tokens)), true
		r.bool(&t.Lower, keyLower)
		t.StripAccents = t.Lower
		r.bool(&t.StripAccents, keyAccents)
		t.AddBOS, t.AddSEP = t.BOS != token.None, t.SEP != token.None
		t.PairSEP = true // unless the file denies it
		r.bool(&t.PairSEP, keyAddSEP)
		t.PairSEP = t.PairSEP && t.AddSEP
		r.bool(&t.PairEOS, keyAddEOS)
		t.PairEOS = t.PairEOS && (t.EOS != token.None || t.AddSEP)
		r.needUNK(t)
	})
}

// needUNK checks that there is a token for what has none.
func (r *reader) needUNK(t *token.Table) {
	if t.UNK == token.None {
		r.fail(keyUNK, "names no token, but this tokenizer needs one for what has none: convert the model again")
	}
}
