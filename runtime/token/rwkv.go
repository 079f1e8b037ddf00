package token

// rwkv encodes a fragment with RWKV World's tokenizer: the longest token at each position, of all tokens, whose texts
// are any bytes (llama-vocab.cpp, llm_tokenizer_rwkv_session). A byte that begins no token is the unknown token, if
// there is one.
func (e *encoder) rwkv(text string) {
	for pos := 0; pos < len(text); {
		id, n := e.longest(text[pos:])
		if id == None {
			id, n = e.v.unk, 1
		}
		if id != None {
			e.out = append(e.out, id)
		}
		pos += n
	}
}
