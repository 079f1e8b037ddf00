package tokenizer

import "github.com/ggmlc/ggmlc/runtime/token"

// The default ids of PLaMo-2, which llama.cpp also assumes if the file has none.
const (
	plamoUNK = 0
	plamoBOS = 1
	plamoEOS = 2
)

// readPLaMo reads a vocabulary of PLaMo-2, with a score for each token and a token for each byte. llama.cpp adds
// nothing to texts, whatever the file says.
func (r *reader) readPLaMo() (*token.Table, error) {
	return r.table(token.PLaMo, defaults{bos: plamoBOS, eos: plamoEOS, unk: plamoUNK}, func(t *token.Table) {
		r.checkScores(t)
		r.checkAllBytes(t)
	})
}
