package tokenizer

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// Files name few of their special tokens by keys. llama.cpp recognizes others by their texts (llama-vocab.cpp, the end
// of llama_vocab::impl::load).

// endTexts are tokens that end a text, a turn or a message.
var endTexts = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
	"<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>",
	"<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
}

// fills are the tokens of models that fill in code. A text counts if the file does not have the key, nor an old one.
var fills = []struct {
	key   string
	old   string // takes precedence; none: ""
	ends  endsGeneration
	texts []string
}{
	{"tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id", false, []string{"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"}},
	{"tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id", false, []string{"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"}},
	{"tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id", false, []string{"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"}},
	{"tokenizer.ggml.fim_pad_token_id", "", true, []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
	{"tokenizer.ggml.fim_rep_token_id", "", true, []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
	{"tokenizer.ggml.fim_sep_token_id", "", true, []string{"<|file_sep|>"}},
}

// endsGeneration tells whether a model that makes such a token is done.
type endsGeneration bool

// special sets the types of special tokens and the tokens that end a generation.
func (r *reader) special(t *token.Table) {
	index := indexSpecial(t.Tokens)
	n := len(t.Tokens)
	t.EOG = []int32{t.EOS, r.id(keyEOT, token.None, n), r.id(keyEOM, token.None, n)}
	for _, text := range endTexts {
		t.EOG = append(t.EOG, control(t, index, text))
	}
	r.fill(t, index)
	adapt(t, index)
	slices.Sort(t.EOG)
	t.EOG = slices.Compact(t.EOG)
	t.EOG = slices.DeleteFunc(t.EOG, func(id int32) bool { return id == token.None })
	r.strip(t, index)
	t.Suppressed = r.suppressed(n)
}

// suppressed returns the tokens that the file takes from generation. Ids beyond the vocabulary have no effect, as in
// llama.cpp.
func (r *reader) suppressed(n int) []int32 {
	if !r.src.Has(keySuppressed) {
		return nil
	}
	ids, err := r.src.Int32s(keySuppressed)
	if err != nil {
		r.add(err)
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id < 0 || int(id) >= n })
}

// harmonyTexts are tokens of gpt-oss that are always matched and printed.
var harmonyTexts = []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"}

// maskTexts are tokens that may take the white space before them.
var maskTexts = []string{"<mask>", "[MASK]"}

// indexSpecial returns the ids of the texts that this file knows. An index of all tokens would take more memory than
// the tokens.
func indexSpecial(tokens []string) map[string]int32 {
	known := make(map[string]bool)
	for _, texts := range append(fillTexts(), endTexts, harmonyTexts, maskTexts) {
		for _, s := range texts {
			known[s] = true
		}
	}
	index := make(map[string]int32)
	for id, s := range tokens {
		if known[s] {
			index[s] = int32(id)
		}
	}
	return index
}

// fillTexts returns the texts of fills.
func fillTexts() [][]string {
	var texts [][]string
	for _, f := range fills {
		texts = append(texts, f.texts)
	}
	return texts
}

// control makes the token of a text a control token and returns it, or None.
func control(t *token.Table, index map[string]int32, text string) int32 {
	id, ok := index[text]
	if !ok {
		return token.None
	}
	t.Types[id] = token.Control
	return id
}

// fill finds the tokens for filling in.
func (r *reader) fill(t *token.Table, index map[string]int32) {
	for _, f := range fills {
		id := r.id(f.key, token.None, len(t.Tokens))
		if f.old != "" {
			id = r.id(f.old, id, len(t.Tokens))
		}
		for i := 0; id == token.None && i < len(f.texts); i++ {
			id = control(t, index, f.texts[i])
		}
		if f.ends {
			t.EOG = append(t.EOG, id)
		}
	}
}

// adapt changes what is different in the vocabularies of gpt-oss, Solar Open and Gemma 4.
func adapt(t *token.Table, index map[string]int32) {
	for _, text := range harmonyTexts {
		if id, ok := index[text]; ok {
			t.Types[id] = token.UserDefined
		}
	}
	if hasAny(index, "<|call|>", "<|calls|>") && hasAny(index, "<|return|>", "<|flush|>") {
		demote(t, index, "<|end|>", token.UserDefined)
	}
	if hasAny(index, "<|tool_response>") {
		demote(t, index, "</s>", token.Normal)
	}
}

// hasAny reports whether one of the texts is a token.
func hasAny(index map[string]int32, texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { _, ok := index[s]; return ok })
}

// demote makes a token one that does not end a generation, of another type.
func demote(t *token.Table, index map[string]int32, text string, typ token.Type) {
	id, ok := index[text]
	if !ok {
		return
	}
	t.Types[id] = typ
	t.EOG = slices.DeleteFunc(t.EOG, func(end int32) bool { return end == id })
}

// strip finds the tokens to which the white space around them belongs. No key tells them, only the names of models.
func (r *reader) strip(t *token.Table, index map[string]int32) {
	name := strings.ToLower(r.text(keyName))
	switch pre, arch := r.text(keyPre), r.text(keyArch); {
	case containsAny(pre, "jina-v2-de", "jina-v2-es", "jina-v2-code"), containsAny(arch, "nomic-bert-moe", "jina-bert-v3"):
		if id, ok := index["<mask>"]; ok {
			t.StripLeft = append(t.StripLeft, id)
		}
	case containsAny(name, "phi-3", "phi3"):
		t.StripRight = stripPhi3(t)
	case containsAny(name, "modern-bert"):
		if id, ok := index["[MASK]"]; ok {
			t.StripLeft = append(t.StripLeft, id)
		}
	}
}

// stripPhi3 returns the special tokens of Phi-3 that take the white space after them.
func stripPhi3(t *token.Table) []int32 {
	var ids []int32
	for id, s := range t.Tokens {
		special := t.Types[id] == token.Control || t.Types[id] == token.UserDefined || t.Types[id] == token.Unknown || s == "</s>"
		if special && s != "<unk>" && s != "<s>" && s != "<|endoftext|>" {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// containsAny reports whether a text has one of the parts.
func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// text returns the value of a key, or "" if it is absent or no text.
func (r *reader) text(key string) string {
	if !r.src.Has(key) {
		return ""
	}
	s, err := r.src.String(key)
	if err != nil {
		return ""
	}
	return s
}
