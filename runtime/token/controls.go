package token

import "strings"

// IsControl reports whether a token is for control: one that Encode matches with ParseSpecials alone, or a user-defined
// one that looks like those. Several files have tokens between turns as user-defined ones, which llama.cpp matches in any
// text: all of gpt-oss, as it prints them, and files of Gemma and Phi-3 of early 2024.
func (v *Vocab) IsControl(id int32) bool {
	switch v.TypeOf(id) {
	case Control, Unknown:
		return true
	case UserDefined:
		return looksControl(v.Text(id))
	}
	return false
}

// looksControl reports whether a text has the form of a control token, as llama.cpp's convert_hf_to_gguf.py sees it
// (does_token_look_special) and Gemma 4 writes it, or is one of other families that has no form.
func looksControl(text string) bool {
	switch text {
	case "<start_of_turn>", "[INST]", "[/INST]":
		return true
	}
	for _, bar := range []string{"|", "\uff5c"} {
		if strings.HasPrefix(text, "<"+bar) && strings.HasSuffix(text, ">") || strings.HasPrefix(text, "<") && strings.HasSuffix(text, bar+">") {
			return true
		}
	}
	return false
}

// Controls returns the texts of the tokens for control, longest last.
func (v *Vocab) Controls() []string {
	var texts []string
	for i := 0; i < len(v.special.tokens); i += 4 {
		if id := int32(u32(string(v.special.tokens), i)); v.IsControl(id) {
			texts = append(texts, v.Text(id))
		}
	}
	return texts
}

// ControlsIn returns where such texts are in another, including those that overlap, in the order of their beginnings.
func (v *Vocab) ControlsIn(text string) []Span {
	var spans []Span
	for _, m := range v.special.all(v, text, Options{ParseSpecials: true}) {
		if v.IsControl(m.id) {
			spans = append(spans, Span{m.pos, m.pos + m.n})
		}
	}
	return spans
}

// FindControls returns the tokens for control that Encode finds written out in a text.
func (v *Vocab) FindControls(text string, o Options) []int32 {
	var ids []int32
	for _, m := range v.special.find(v, text, o) {
		if v.IsControl(m.id) {
			ids = append(ids, m.id)
		}
	}
	return ids
}
