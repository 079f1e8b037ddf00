package jsonschema

// settled returns e with other loops before repetitions that have many readings. In the pattern [^a]{1000}, which any
// characters may precede, each of the last thousand characters might be the first of the repetition. One reading is
// enough: that it begins after a character that it does not match, or with the text. For a set S within a set T,
//
//	T* S{k,n}  is  (S* N)* S{k} S*
//
// where N is what T has and S has not: both are the texts of characters of T that end with k of S.
//
// Where S has characters that T has not, the readings stay. ambiguous finds those that are too many.
func settled(e expression) expression {
	switch e := e.(type) {
	case series:
		list := series{}
		for _, part := range e {
			part = settled(part)
			if n := len(list); n > 0 {
				if both := settledPair(list[n-1], part); both != nil {
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
			all[i] = settled(part)
		}
		return all
	case repeated:
		return repeated{settled(e.of), e.min, e.max}
	}
	return e
}

// settledPair returns what settled puts in place of a loop and a repetition; nil if it keeps them.
func settledPair(loop, part expression) series {
	t, ok := loop.(repeated)
	s, ok2 := part.(repeated)
	if !ok || !ok2 || t.min != 0 || t.max >= 0 || s.min < 2 {
		return nil
	}
	all, ok := t.of.(set)
	own, ok2 := s.of.(set)
	if !ok || !ok2 || len(own.and(all.others())) > 0 {
		return nil
	}
	first, more := repeated{own, s.min, s.min}, repeated{own, 0, -1}
	others := all.and(own.others())
	if len(others) == 0 {
		return series{first, more}
	}
	return series{repeated{series{more, others}, 0, -1}, first, more}
}

// maxReadings is how many readings of a text package grammar follows.
const maxReadings = 1 << 12

// ambiguous returns the number of repetitions that follow a loop with a set of characters in common, if that is the end
// of a text with too many readings; otherwise 0.
func ambiguous(e expression) int {
	switch e := e.(type) {
	case series:
		for i, part := range e {
			if n := ambiguous(part); n > 0 {
				return n
			}
			if i == 0 {
				continue
			}
			t, ok := e[i-1].(repeated)
			s, ok2 := part.(repeated)
			if !ok || !ok2 || t.max >= 0 {
				continue
			}
			all, ok := t.of.(set)
			own, ok2 := s.of.(set)
			if ok && ok2 && len(own.and(all)) > 0 && s.min*own.readings() > maxReadings {
				return s.min
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

// matches reports whether a text is one of an expression without anchors.
func matches(e expression, text string) bool {
	chars := []rune(text)
	from := make([]bool, len(chars)+1)
	from[0] = true
	return ends(e, chars, from)[len(chars)]
}

// ends returns where texts of e end that begin at one of some places, which are numbers of characters before them.
func ends(e expression, chars []rune, from []bool) []bool {
	to := make([]bool, len(from))
	switch e := e.(type) {
	case set:
		for i, c := range chars {
			to[i+1] = from[i] && len(e.and(set{{c, c}})) > 0
		}
	case series:
		to = from
		for _, part := range e {
			to = ends(part, chars, to)
		}
	case either:
		for _, part := range e {
			join(to, ends(part, chars, from))
		}
	case repeated:
		for n := 0; e.max < 0 || n <= e.max; n++ {
			if n >= e.min && !join(to, from) {
				break // all that follow are known
			}
			from = ends(e.of, chars, from)
		}
	}
	return to
}

// join adds places to others, and reports whether there were new ones.
func join(to, from []bool) bool {
	more := false
	for i, ok := range from {
		more = more || ok && !to[i]
		to[i] = to[i] || ok
	}
	return more
}
