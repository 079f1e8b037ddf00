package runtime

import "errors"

// tokenizer is what generation needs of runtime/token.
type tokenizer interface {
	encode(text string, bos bool) ([]int32, error)
	isEnd(id int32) bool
	newDecoder() decoder
}

// decoder turns ids into text that never ends inside a UTF-8 sequence.
type decoder interface {
	next(id int32) string
	flush() string
}

func openTokenizer(tables string) (tokenizer, error) {
	if tables == "" {
		return nil, nil
	}
	return nil, errors.New("not linked in")
}
