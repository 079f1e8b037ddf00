package tokenizer

import (
	"encoding/binary"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// The default ids of T5, which llama.cpp also assumes if the file has none.
const (
	t5EOS = 1
	t5UNK = 2
)

// readUGM reads a unigram vocabulary of SentencePiece with scores.
func (r *reader) readUGM() (*token.Table, error) {
	return r.table(token.UGM, defaults{bos: token.None, eos: t5EOS, unk: t5UNK}, func(t *token.Table) {
		t.Charsmap = r.charsmap()
		t.AddEOS = t.EOS != token.None
		r.bool(&t.AddEOS, keyAddEOS)
		r.bool(&t.AddBOS, keyAddBOS)
		r.bool(&t.AddSpace, keyAddSpace)
		r.bool(&t.MergeSpaces, keySpaces)
		r.checkScores(t)
		r.needUNK(t)
	})
}

// charsmap reads the map of characters. A vocabulary need not have one.
func (r *reader) charsmap() string {
	if !r.src.Has(keyCharsmap) {
		return ""
	}
	b, err := r.src.Bytes(keyCharsmap)
	if err != nil {
		r.add(err)
		return ""
	}
	const header = 4
	if len(b) < header || uint64(binary.LittleEndian.Uint32(b))+header >= uint64(len(b)) {
		r.fail(keyCharsmap, "has %d bytes, fewer than its trie declares: convert the model again", len(b))
		return ""
	}
	return string(b)
}
