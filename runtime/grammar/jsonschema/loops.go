package jsonschema

// settled returns e with other loops before repetitions that have many readings. In the pattern [^a]{1000}, which any
// characters may precede, each of the last thousand characters might be the first of the repetition. One reading is
// enough: that it begins after a character that it does not match, or with the text. For a set S within a set T,
//
//	T* S{k,n}  is  (S* N)* S{k} S*
//
// where N is what T has and S has not: both are the texts of characters of T that end with k of S. For k = 0 it is T*.
//
// Where S has characters that T has not, the readings stay, and ambiguous finds them. Where there are at most `most` readings,
// the loops stay, as others are larger.
func settled(e expression, most int) expression {
	switch e := e.(type) {
	case series:
		list := series{}
		for _, part := range e {
			part = settled(part, most)
			if n := len(list); n > 0 {
				if both := settledPair(list[n-1], part, most); both != nil {
					list = append(list[:n-1], both...)
					continue
				}
			}
			list = append(list, part)
		}
		return single(list)
	case either:
		all := make(either, len(e))
		for i, part := range e {
			all[i] = settled(part, most)
		}
		return all
	case repeated:
		return repeated{settled(e.of, most), e.min, e.max}
	}
	return e
}

// settledPair returns what settled puts in place of a loop and a repetition; nil if it keeps them.
func settledPair(loop, part expression, most int) series {
	if readings(loop, part) <= most {
		return nil
	}
	t, s := loop.(repeated), part.(repeated)
	all, own := t.of.(set), s.of.(set)
	if len(own.and(all.others())) > 0 {
		return nil
	}
	var list series
	if t.min > 0 {
		list = append(list, repeated{all, t.min, t.min})
	}
	if s.min == 0 {
		return append(list, repeated{all, 0, -1})
	}
	first, more := repeated{own, s.min, s.min}, repeated{own, 0, -1}
	if others := all.and(own.others()); len(others) > 0 {
		list = append(list, repeated{series{more, others}, 0, -1})
	}
	return append(list, first, more)
}

// maxReadings is how many readings of a text package grammar follows.
const maxReadings = 1 << 12

// readings returns how many readings a text may have because the characters of a loop are also those of the repetition
// that follows it; 0 for other parts.
func readings(loop, part expression) int {
	t, ok := loop.(repeated)
	s, ok2 := part.(repeated)
	if !ok || !ok2 || t.max >= 0 {
		return 0
	}
	all, ok := t.of.(set)
	own, ok2 := s.of.(set)
	if !ok || !ok2 {
		return 0
	}
	return max(s.min, s.max) * own.and(all).readings()
}

// ambiguous returns the number of repetitions that follow a loop with a set of characters in common, if that is the end
// of a text with too many readings; otherwise 0.
func ambiguous(e expression) int {
	switch e := e.(type) {
	case series:
		for i, part := range e {
			if n := ambiguous(part); n > 0 {
				return n
			}
			if i > 0 && readings(e[i-1], part) > maxReadings {
				s := part.(repeated)
				return max(s.min, s.max)
			}
		}
	case either:
		for _, part := range e {
			if n := ambiguous(part); n > 0 {
				return n
			}
		}
	case repeated:
		return ambiguous(e.of)
	}
	return 0
}

// readings returns how many ranges of first bytes characters of a set have in a JSON string.
func (s set) readings() int {
	n := len(s.and(printable))
	if len(s.and(notPrintable)) > 0 {
		n++ // a backslash
	}
	if len(s.and(set{{0x80, lastCharacter}})) > 0 {
		n += 8 // the first bytes of UTF-8 by what may follow them
	}
	return n
}

// matches reports whether a text is one of an expression without anchors, in time proportional to the characters times
// the size of the expression.
func matches(e expression, text string) bool {
	a := make(automaton, 1)
	reached := []int{a.add(e, accept)}
	seen := make([]bool, len(a))
	for _, c := range text {
		clear(seen)
		var next []int
		for _, at := range a.closure(reached, seen) {
			if s := a[at]; s.of != nil && len(s.of.and(set{{c, c}})) > 0 {
				next = append(next, s.x)
			}
		}
		reached = next
	}
	clear(seen)
	a.closure(reached, seen)
	return seen[accept]
}
