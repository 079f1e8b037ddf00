package tokenizer

import (
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// readBPE reads a byte-level BPE vocabulary with merges.
func (r *reader) readBPE() (*token.Table, error) { return r.bpe(r.pre()) }

// readGemma4 reads a BPE vocabulary of text. Its model has only one pre-tokenizer, whatever the file calls it.
func (r *reader) readGemma4() (*token.Table, error) {
	return r.bpe(pre{token.SplitLines, raw | escape | newlines | mustAddBOS, ""})
}

// readWhitespace reads a vocabulary of words between white space, as jina-embeddings-v2-base-zh has one.
func (r *reader) readWhitespace() (*token.Table, error) {
	p := r.pre()
	if r.text(keyPre) != "whitespace" {
		r.fail(keyPre, "is %s, but a tokenizer whitespace is only supported with whitespace: convert the model again", gguf.Quote(r.text(keyPre)))
	}
	return r.bpe(p)
}

// readHybridDNA reads a BPE vocabulary with tokens for sequences of bases.
func (r *reader) readHybridDNA() (*token.Table, error) {
	t, err := r.readBPE()
	if err == nil {
		t.DNA = true
	}
	return t, err
}

// bpe reads the vocabulary of a pre-tokenizer.
func (r *reader) bpe(p pre) (*token.Table, error) {
	return r.table(token.BPE, defaults{bos: token.None, eos: token.None, unk: token.None, pairSEP: p.flags&addSEP != 0}, func(t *token.Table) {
		t.Split, t.Merges = p.split, r.merges()
		t.IgnoreMerges, t.Raw = p.flags&ignoreMerges != 0, p.flags&raw != 0
		t.Escape, t.DropBlanks = p.flags&escape != 0, p.flags&dropBlanks != 0
		t.Newlines = p.flags&newlines != 0
		t.AddBOS = p.flags&addBOS != 0 && t.BOS != token.None
		r.bool(&t.AddBOS, keyAddBOS)
		t.AddBOS = t.AddBOS || p.flags&mustAddBOS != 0 && t.BOS != token.None
		r.bool(&t.AddEOS, keyAddEOS)
		if t.DropBlanks {
			r.bool(&t.Lower, keyLower)
		}
	})
}

// finish checks a vocabulary and its tokens.
func (r *reader) finish(t *token.Table) (*token.Table, error) {
	r.checkCount(len(t.Tokens))
	if r.join() == nil { // the checks below need types of the right length
		r.checkAdded(t)
		r.checkTexts(t)
		r.special(t)
	}
	if err := r.join(); err != nil {
		return nil, err
	}
	// The remaining faults that Check finds, such as equal texts, are faults of the tokens.
	if err := t.Check(); err != nil {
		return nil, r.src.KeyError(keyTokens, "%w: convert the model again", err)
	}
	return t, nil
}

// merges reads the merges. Kimi K2's vocabularies have none.
func (r *reader) merges() []string {
	if !r.src.Has(keyMerges) && r.text(keyPre) == "kimi-k2" {
		return nil
	}
	merges, err := r.src.Strings(keyMerges)
	if err != nil {
		r.add(err)
		return nil
	}
	for i, m := range merges {
		if !token.ValidMerge(m) || !utf8.ValidString(m) {
			r.fail(keyMerges, "merge %d, %s, is not two texts with a space between them: convert the model again", i, gguf.Quote(m))
		}
	}
	return merges
}

// checkTexts checks the texts of tokens one by one.
func (r *reader) checkTexts(t *token.Table) {
	for id, s := range t.Tokens {
		switch {
		case len(s) > token.MaxTokenBytes:
			r.fail(keyTokens, "token %d is %d bytes long, more than the %d that are supported: the file may be damaged", id, len(s), token.MaxTokenBytes)
		case t.Algorithm != token.RWKV && !utf8.ValidString(s):
			r.fail(keyTokens, "token %d, %s, is not UTF-8: convert the model again", id, gguf.Quote(s))
		}
		if _, ok := token.ParseByte(s); t.Types[id] == token.Byte && !ok {
			r.fail(keyTokens, "token %d is a byte token, but its text %.20q is not of the form <0x0A>: convert the model again", id, s)
		}
	}
}
