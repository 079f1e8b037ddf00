// Package token turns text into token ids and back at run time.
//
// The compiler writes a vocabulary as one table (Table.Encode), which is part of the emitted program. Load uses the
// table in place: it checks its bounds and copies nothing, so that 32,000 tokens are ready in a fraction of a
// millisecond. table.go describes the layout.
//
// The algorithms are those of llama.cpp (llama-vocab.cpp). A Split is how BPE first cuts a text into
// words. Special tokens are found before (special.go).
//
// SPM is that of SentencePiece's BPE models. Spaces become U+2581 and the text is cut into characters. Then, again and
// again, the two neighbours are joined that together are the token with the highest score. For example, if the tokens
// ab (score -1) and bc (-2) exist, abc becomes ab c. A piece that is no token in the end is spelled with byte tokens,
// or with the unknown token if the vocabulary has none.
//
// BPE joins neighbours in the same way, but only pairs that a merge names, in the order of the merges, and not across
// words. Every byte is a character of a token's text, so that every text can be spelled.
//
// WPM cuts each word into the longest tokens from its beginning. UGM and PLaMo find the tokens with the highest sum of
// scores. RWKV takes the longest token at each position.
package token
