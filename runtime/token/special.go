package token

import (
	"cmp"
	"slices"
)

// special finds the tokens that are matched as a whole before the text is cut into pieces.
//
// llama.cpp searches the text for one of them after the other, longest first
// (tokenizer_st_partition): time grows with text times tokens. Here the text is read once,
// and of the places found the longest are taken first, which comes to the same.
type special struct {
	first   [256]bool // bytes that some special token begins with
	lengths []int     // of special tokens, each once, longest first
}

// match is a special token in a text.
type match struct {
	pos, n int
	id     int32
}

// newSpecial collects the special tokens.
func newSpecial(v *Vocab) special {
	var s special
	for id := range int32(v.n) {
		if !v.matchable(id, true) {
			continue
		}
		text := v.Text(id)
		if text == "" {
			continue
		}
		s.first[text[0]] = true
		s.lengths = append(s.lengths, len(text))
	}
	slices.Sort(s.lengths)
	s.lengths = slices.Compact(s.lengths)
	slices.Reverse(s.lengths)
	return s
}

// matchable reports whether a token is matched as a whole. Unknown and control tokens are so
// only where special tokens are parsed.
func (v *Vocab) matchable(id int32, parse bool) bool {
	switch v.TypeOf(id) {
	case UserDefined:
		return true
	case Control, Unknown:
		return parse
	}
	return false
}

// find returns the special tokens of a text in its order; no two overlap.
func (s *special) find(v *Vocab, text string, parse bool) []match {
	all := s.all(v, text, parse)
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.id, b.id), cmp.Compare(a.pos, b.pos))
	})
	// Those taken before are at least as long as this one, so they overlap it only if they
	// cover its first or its last byte.
	taken := make([]bool, len(text))
	kept := all[:0]
	for _, m := range all {
		if taken[m.pos] || taken[m.pos+m.n-1] {
			continue
		}
		for i := range m.n {
			taken[m.pos+i] = true
		}
		kept = append(kept, m)
	}
	slices.SortFunc(kept, func(a, b match) int { return cmp.Compare(a.pos, b.pos) })
	return kept
}

// all returns every place where a special token stands.
func (s *special) all(v *Vocab, text string, parse bool) []match {
	var found []match
	for pos := range len(text) {
		if !s.first[text[pos]] {
			continue
		}
		for _, n := range s.lengths {
			if n > len(text)-pos {
				continue
			}
			if id := v.Lookup(text[pos : pos+n]); id != None && v.matchable(id, parse) {
				found = append(found, match{pos, n, id})
			}
		}
	}
	return found
}
