// Package token turns text into token ids and back at run time.
//
// The compiler writes a vocabulary as one table (Table.Encode), which travels inside the
// emitted program; Load looks at it where it lies, checks its bounds and copies nothing, so
// that 32,000 tokens are ready in a fraction of a millisecond. The layout of the table is
// described at the top of table.go.
//
// The algorithm is that of SentencePiece's BPE models as llama.cpp runs it (llama-vocab.cpp,
// llm_tokenizer_spm): spaces become U+2581, the text is cut into characters, and of all
// neighbours that make up a token together, those with the highest score are joined first.
// What is no token in the end is spelled with byte tokens, or with the unknown token where
// the vocabulary has none.
package token
