package jsonschema

// settled returns e with other loops before repetitions that have many readings. In the pattern [^a]{1000}, which any
// characters may precede, each of the last thousand characters might be the first of the repetition. One reading is
// enough: that it begins after a character that it does not match, or with the text. For a set S within a set T,
//
//	T* S{k,n}  is  (S* N)* S{k} S*
//
// where N is what T has and S has not: both are the texts of characters of T that end with k of S. For k = 0 it is T*.
//
// Where S has characters that T has not, the readings stay, and ambiguous finds them. A repetition with a limit and at
// most so many readings as most stays too, as what replaces it is larger. One without a limit does not stay: as it
// could begin anywhere, a repetition after it could, too.
func settled(e expression, most int) expression {
	switch e := e.(type) {
	case series:
		list := series{}
		for _, part := range e.flat() {
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

// flat returns a series with the parts of the series within it, so that a loop is beside what follows it.
func (e series) flat() series {
	list := make(series, 0, len(e))
	for _, part := range e {
		if within, ok := part.(series); ok {
			list = append(list, within.flat()...)
		} else {
			list = append(list, part)
		}
	}
	return list
}

// settledPair returns what settled puts in place of a loop and a repetition; nil if it keeps them.
func settledPair(loop, part expression, most int) series {
	t, s, all, own := loopBefore(loop, part)
	if all == nil || len(own.and(all.others())) > 0 || s.max >= 0 && s.min > 0 && readings(loop, part) <= most {
		return nil
	}
	if s.min == 0 {
		return series{t}
	}
	var list series
	if t.min > 0 {
		list = append(list, repeated{all, t.min, t.min})
	}
	first, more := repeated{own, s.min, s.min}, repeated{own, 0, -1}
	if others := all.and(own.others()); len(others) > 0 {
		list = append(list, repeated{series{more, others}, 0, -1})
	}
	return append(list, first, more)
}

// loopBefore returns a loop and the repetition after it, with the characters of both; nil for other parts.
func loopBefore(loop, part expression) (t, s repeated, all, own set) {
	t, ok := loop.(repeated)
	s, ok2 := part.(repeated)
	if !ok || !ok2 || t.max >= 0 {
		return t, s, nil, nil
	}
	all, ok = t.of.(set)
	own, ok2 = s.of.(set)
	if !ok || !ok2 {
		return t, s, nil, nil
	}
	return t, s, all, own
}

// maxReadings is how many readings of a text package grammar follows.
const maxReadings = 1 << 12

// readings returns how many readings a text may have because the characters of a loop are also those of the repetition
// that follows it; 0 for other parts.
func readings(loop, part expression) int {
	_, s, all, own := loopBefore(loop, part)
	if all == nil {
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

// matcher compares texts with an expression without anchors.
type matcher struct {
	*walk
	start int
}

func newMatcher(e expression) *matcher {
	a := make(automaton, 1)
	start := a.add(e, accept)
	return &matcher{newWalk(a), start}
}

// matches reports whether a text is one of the expression. It subtracts the steps that it looks at from left, and stops
// below 0. These are at most as many as the characters of the text times those of the expression.
func (m *matcher) matches(text string, left *int) bool {
	if *left < 0 {
		return false
	}
	from := []int{m.start}
	reads, _ := m.reads(nil, from, len(m.seen))
	for _, c := range text {
		if *left -= 1 + len(reads); *left < 0 {
			return false
		}
		from = from[:0]
		for _, at := range reads {
			if s := &m.automaton[at]; s.of.has(c) {
				from = append(from, s.x)
			}
		}
		reads, _ = m.reads(reads[:0], from, len(m.seen))
	}
	*left -= 1 + len(reads)
	return m.reached(accept)
}
