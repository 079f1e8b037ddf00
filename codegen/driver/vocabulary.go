package driver

import (
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/frontend/tokenizer"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Vocabulary reads the vocabulary of a GGUF file, which may have no tensors. It is the one that a program compiled from
// the file has.
func Vocabulary(path string) (*token.Vocab, error) {
	if _, err := readMagic(path); err != nil {
		return nil, err
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table, err := tokenizer.Read(f, 0)
	if err != nil {
		return nil, err
	}
	data, err := table.Encode()
	if err != nil {
		return nil, err
	}
	return token.Load(string(data))
}
