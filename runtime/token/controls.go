package token

// Controls returns the texts of the tokens that Encode matches with ParseSpecials alone, longest last.
func (v *Vocab) Controls() []string {
	var texts []string
	for i := 0; i < len(v.special.tokens); i += 4 {
		id := int32(u32(string(v.special.tokens), i))
		if !v.matchable(id, Options{}) {
			texts = append(texts, v.Text(id))
		}
	}
	return texts
}

// ControlsIn returns where such texts are in another, including those that overlap, in the order of their beginnings.
func (v *Vocab) ControlsIn(text string) []Span {
	var spans []Span
	for _, m := range v.special.all(v, text, Options{ParseSpecials: true}) {
		if !v.matchable(m.id, Options{}) {
			spans = append(spans, Span{m.pos, m.pos + m.n})
		}
	}
	return spans
}
