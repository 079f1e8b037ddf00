package token

import (
	"cmp"
	"slices"
)

// special finds the tokens that are matched as a whole before the text is cut into pieces.
//
// llama.cpp searches the text for one such token after another, longest first (tokenizer_st_partition), which takes
// time proportional to text times tokens. Here the text is scanned once, and of the matches the longest are chosen
// first, with the same result.
type special struct {
	first  [256]bool // bytes that some special token begins with
	tokens prefixes  // all of them
	user   prefixes  // UGM: the user-defined ones
}

// match is a special token in a text. White space before and after it may belong to it.
type match struct {
	pos, n        int
	id            int32
	before, after int
}

// newSpecial collects the special tokens.
func newSpecial(v *Vocab) special {
	var s special
	var texts []string
	var ids []int32
	for id := range int32(v.n) {
		if text := v.Text(id); text != "" && v.matchable(id, Options{ParseSpecials: true}) {
			s.first[text[0]] = true
			texts, ids = append(texts, text), append(ids, id)
		}
	}
	var all []byte
	order := newPrefixes(texts, func(int32) bool { return true })
	for i := 0; i < len(order); i += 4 {
		all = appendInts(all, ids[u32(string(order), i)])
	}
	s.tokens = prefixes(all)
	if v.algorithm == UGM {
		s.user = v.userTokens()
	}
	return s
}

// userTokens returns the user-defined tokens in order.
func (v *Vocab) userTokens() prefixes {
	var ids []byte
	for i := 0; i < len(v.prefixes); i += 4 {
		if id := int32(u32(string(v.prefixes), i)); v.TypeOf(id) == UserDefined {
			ids = appendInts(ids, id)
		}
	}
	return prefixes(ids)
}

// matchable reports whether a token is matched as a whole.
func (v *Vocab) matchable(id int32, o Options) bool {
	switch v.TypeOf(id) {
	case UserDefined:
		return true
	case Control, Unknown:
		return o.ParseSpecials
	}
	return false
}

// find returns the special tokens of a text in the order of the text. No two overlap.
func (s *special) find(v *Vocab, text string, o Options) []match {
	all := s.all(v, text, o)
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.id, b.id), cmp.Compare(a.pos, b.pos))
	})
	// The matches taken before are at least as long as this one. They overlap it only if they cover its first or its
	// last byte.
	taken := make([]bool, len(text))
	kept := all[:0]
	for _, m := range all {
		if taken[m.pos] || taken[m.pos+m.n-1] {
			continue
		}
		for i := range m.n {
			taken[m.pos+i] = true
		}
		m.before, m.after = v.strip(text, m, taken)
		kept = append(kept, m)
	}
	slices.SortFunc(kept, func(a, b match) int { return cmp.Compare(a.pos, b.pos) })
	return kept
}

// strip takes the white space around a match that belongs to its token, and returns how much there is on both sides.
func (v *Vocab) strip(text string, m match, taken []bool) (before, after int) {
	if v.attrs[m.id]&stripLeftBit != 0 {
		for i := m.pos - 1; i >= 0 && isSpace(text[i]) && !taken[i]; i-- {
			taken[i] = true
			before++
		}
	}
	if v.attrs[m.id]&stripRightBit != 0 {
		for i := m.pos + m.n; i < len(text) && isSpace(text[i]) && !taken[i]; i++ {
			taken[i] = true
			after++
		}
	}
	return before, after
}

// isSpace reports whether a byte is white space of ASCII.
func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// all returns all occurrences of special tokens, including overlapping ones.
func (s *special) all(v *Vocab, text string, o Options) []match {
	var found []match
	for pos := range len(text) {
		if !s.first[text[pos]] {
			continue
		}
		w := s.tokens.walk(v)
		for end := pos; end < len(text) && w.step(text[end]); end++ {
			id := w.token()
			if id == None || !v.matchable(id, o) || v.IsControl(id) && meets(o.Given, pos, end+1) {
				continue
			}
			found = append(found, match{pos: pos, n: end + 1 - pos, id: id})
		}
	}
	return found
}
