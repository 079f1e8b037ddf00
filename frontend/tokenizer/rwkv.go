package tokenizer

import (
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// readRWKV reads a vocabulary of RWKV World, whose tokens are any bytes. In files they are escaped.
func (r *reader) readRWKV() (*token.Table, error) {
	return r.table(token.RWKV, defaults{bos: token.None, eos: token.None, unk: token.None}, func(t *token.Table) {
		tokens := make([]string, len(t.Tokens)) // the caller's texts stay as they are
		var has [256]bool
		for id, s := range t.Tokens {
			text, ok := unescape(s)
			if !ok {
				r.fail(keyTokens, "token %d, %s, has \\x without two hexadecimal digits in lower case: convert the model again", id, gguf.Quote(s))
			}
			if len(text) == 1 {
				has[text[0]] = true
			}
			tokens[id] = text
		}
		t.Tokens = tokens
		for b, ok := range has {
			if !ok && t.UNK == token.None {
				r.fail(keyTokens, "there is neither a token for the byte 0x%02X nor an unknown token, so not every text could be encoded: convert the model again", b)
				return
			}
		}
	})
}

// unescape replaces \t, \n, \r, \xNN, and a backslash before any other character (llama-vocab.cpp,
// llama_unescape_rwkv_token).
func unescape(s string) (text string, ok bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if i++; i == len(s) {
			return string(b), true // llama.cpp leaves it out
		}
		switch c := s[i]; c {
		case 't':
			b = append(b, '\t')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 'x':
			const digits = "0123456789abcdef"
			if i+2 >= len(s) {
				return "", false
			}
			high, low := strings.IndexByte(digits, s[i+1]), strings.IndexByte(digits, s[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			b = append(b, byte(high<<4|low))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return string(b), true
}
