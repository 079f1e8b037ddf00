package token

import "strings"

// Between tags, HybridDNA's vocabularies have a token for each six bases; all other text is byte-level BPE
// (llama-vocab.cpp, llm_tokenizer_hybriddna_session).
const (
	dnaOpen, dnaClose = "<dna>", "</dna>"
	dnaUnknown        = "<oov>"  // six characters that are not all bases
	dnaBases          = 6        // of a token
	dnaMark           = "\ue000" // ends the texts of such tokens, as BPE may have a token of the same letters
)

// dna is the tokens that sequences of bases take besides those of bases.
type dna struct{ begin, end, unknown int32 }

// newDNA returns those of a vocabulary, and whether it has all.
func newDNA(v *Vocab) (d dna, ok bool) {
	d = dna{v.Lookup(dnaOpen), v.Lookup(dnaClose), v.Lookup(dnaUnknown)}
	return d, d.begin != None && d.end != None && d.unknown != None
}

// dna encodes a fragment of which parts may be sequences of bases.
func (e *encoder) dna(text string) {
	d := e.v.dna
	if !e.takes(d.begin) || !e.takes(d.end) || !e.takes(d.unknown) {
		e.bpe(text)
		return
	}
	for text != "" {
		before, rest, open := strings.Cut(text, dnaOpen)
		if before != "" {
			e.bpe(before)
		}
		if !open {
			return
		}
		bases, rest, closed := strings.Cut(rest, dnaClose)
		e.out = append(e.out, d.begin)
		e.bases(bases)
		if !closed {
			return
		}
		e.out = append(e.out, d.end)
		text = rest
	}
}

// bases encodes a sequence. The last token has an A in place of each base that is missing.
func (e *encoder) bases(text string) {
	for text != "" {
		n := min(dnaBases, len(text))
		b := make([]byte, 0, dnaBases+len(dnaMark))
		for _, c := range []byte(text[:n]) {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			b = append(b, c)
		}
		for len(b) < dnaBases {
			b = append(b, 'A')
		}
		id := e.v.Lookup(string(append(b, dnaMark...)))
		if id == None || !e.takes(id) {
			id = e.v.dna.unknown
		}
		e.out = append(e.out, id)
		text = text[n:]
	}
}
