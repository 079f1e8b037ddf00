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
	first   [256]bool // bytes that some special token begins with
	lengths []int     // of special tokens, without duplicates, longest first
	user    prefixes  // UGM: the user-defined ones
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
		if !v.matchable(id, Options{ParseSpecials: true}) {
			continue
		}
		text := v.Text(id)
		if text == "" {
			continue
		}
		s.first[text[0]] = true
		s.lengths = append(s.lengths, len(text))
	}
	if v.algorithm == UGM {
		s.user = v.userTokens()
	}
	slices.Sort(s.lengths)
	s.lengths = slices.Compact(s.lengths)
	slices.Reverse(s.lengths)
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
		kept = append(kept, m)
	}
	slices.SortFunc(kept, func(a, b match) int { return cmp.Compare(a.pos, b.pos) })
	return kept
}

// all returns all occurrences of special tokens, including overlapping ones.
func (s *special) all(v *Vocab, text string, o Options) []match {
	var found []match
	for pos := range len(text) {
		if !s.first[text[pos]] {
			continue
		}
		for _, n := range s.lengths {
			if n > len(text)-pos {
				continue
			}
			if id := v.Lookup(text[pos : pos+n]); id != None && v.matchable(id, o) {
				found = append(found, match{pos, n, id})
			}
		}
	}
	return found
}
