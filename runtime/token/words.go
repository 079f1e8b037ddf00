package token

import "strings"

// words is the expression that Llama 3 introduced and that others vary. It tries in this order:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)        with contractions
//	[!-/:-@[-`{-~][A-Za-z]+             with code
//	[^\r\n\p{L}\p{N}]?\p{L}+            a word with the character before it
//	\p{N}{1,digits}
//	 ?[^\s\p{L}\p{N}]+tail*             anything else
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
type words struct {
	contractions bool // as pieces of their own
	suffix       bool // contractions as the end of a word
	code         bool // words may follow ASCII punctuation; anything else is only \p{P} and \p{S}
	marks        bool // \p{M} counts as a letter
	oddMarks     bool // but also as anything else
	cased        bool // a word ends before upper case that follows lower case
	phrases      bool // a word continues after a single space
	han          bool // Chinese characters are words of their own
	cascade      bool // white space in pieces of 512, 256 ... 4, 2, 1
	newline      bool // \s*[\r\n]+ is [\r\n]
	digits       int  // 0 is unlimited; -1: numbers have no piece
	tail         tail
}

// tail is what may follow anything else.
type tail uint8

const (
	newlines tail = 1 << iota // \r and \n
	slashes                   // /
	once                      // one of them at most
)

// scan is the state of a split: the white space found last, so that no run of it is searched twice.
type scan struct {
	words
	t          []char
	blanksEnd  int // the end of a run of white space that has been searched
	newlineEnd int // the end of the last newline in that run, or 0
}

func (w words) split(out []int, t []char, base int) []int {
	s := &scan{words: w, t: t}
	return isolate(func(_ []char, i int) int { return s.match(i) })(out, t, base)
}

// match returns the length of the match at i, or 0.
func (s *scan) match(i int) int {
	if s.contractions {
		if n := contraction(s.t, i, foldCase); n > 0 {
			return n
		}
	}
	for _, f := range []func(*scan, int) int{(*scan).codeWord, (*scan).word, (*scan).number, (*scan).odd} {
		if n := f(s, i); n > 0 {
			return n
		}
	}
	if s.newline && isNewline(s.t[i].r) {
		return 1
	}
	if s.t[i].is(blank) {
		return s.blanks(i)
	}
	return 0
}

func isNewline(r rune) bool { return r == '\r' || r == '\n' }

// codeWord matches [!-/:-@[-`{-~][A-Za-z]+.
func (s *scan) codeWord(i int) int {
	if !s.code || s.t[i].r > '~' || !s.t[i].is(punct|symb) {
		return 0
	}
	end := i + 1
	for end < len(s.t) && isASCIILetter(s.t[end].r) {
		end++
	}
	if end == i+1 {
		return 0
	}
	return end - i
}

func isASCIILetter(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }

// wordClass is the class of the characters of words.
func (s *scan) wordClass() class {
	if s.marks {
		return letter | mark
	}
	return letter
}

// lead returns 1 if the character at i may begin a word without being part of its letters, and 0 otherwise.
func (s *scan) lead(i int) int {
	c := s.t[i]
	if isNewline(c.r) || !s.code && c.is(letter|number) || s.code && c.is(letter|punct|symb) {
		return 0
	}
	return 1
}

// word matches a word with the character before it.
func (s *scan) word(i int) int {
	if s.han && isHan(s.t[i].r) {
		return s.hanWord(i)
	}
	n := s.letters(i)
	if s.suffix && n > 0 && i+n < len(s.t) {
		n += contraction(s.t, i+n, foldCase)
	}
	return n
}

func (s *scan) hanWord(i int) int {
	end := i
	for end < len(s.t) && isHan(s.t[end].r) {
		end++
	}
	return end - i
}

// letters matches a word without a contraction after it.
func (s *scan) letters(i int) int {
	if s.cased {
		return s.casedWord(i)
	}
	first := i + s.lead(i)
	if end := s.wordEnd(first); end > first {
		return end - i
	}
	return s.wordEnd(i) - i // a mark alone, which could also lead
}

// wordEnd returns the end of the letters that begin at i.
func (s *scan) wordEnd(i int) int {
	any := s.wordClass()
	end := i
	for end < len(s.t) && s.t[end].is(any) && !(s.han && isHan(s.t[end].r)) {
		end++
		if s.phrases {
			end = s.phraseEnd(end)
		}
	}
	return end
}

// phraseEnd returns the end of marks after a letter, and of a space that a letter follows.
func (s *scan) phraseEnd(end int) int {
	for end < len(s.t) && s.t[end].is(mark) {
		end++
	}
	if end+1 < len(s.t) && s.t[end].r == ' ' && s.t[end+1].is(letter) {
		end++
	}
	return end
}

// casedWord matches U*L+ or else U+L*, where U is all letters except a to z and L all except A to Z. Both may follow
// another character.
func (s *scan) casedWord(i int) int {
	lead := s.lead(i)
	for _, f := range []func(*scan, int) int{(*scan).lowerEnd, (*scan).upperEnd} {
		for skip := lead; skip >= 0; skip-- {
			if end := f(s, i+skip); end > i+skip {
				return end - i
			}
		}
	}
	return 0
}

// lowerEnd returns the end of U*L+ at i, or i. If no L follows all of U*, the last of them that is also in L is the
// end.
func (s *scan) lowerEnd(i int) int {
	end := s.runEnd(i, 'a', 'z')
	if lower := s.runEnd(end, 'A', 'Z'); lower > end {
		return lower
	}
	for end > i && s.t[end-1].r >= 'A' && s.t[end-1].r <= 'Z' {
		end--
	}
	return end
}

// upperEnd returns the end of U+L* at i, or i.
func (s *scan) upperEnd(i int) int {
	end := s.runEnd(i, 'a', 'z')
	if end == i {
		return i
	}
	return s.runEnd(end, 'A', 'Z')
}

// runEnd returns the end of letters outside lo to hi.
func (s *scan) runEnd(i int, lo, hi rune) int {
	any := s.wordClass()
	for i < len(s.t) && s.t[i].is(any) && (s.t[i].r < lo || s.t[i].r > hi) {
		i++
	}
	return i
}

// number matches \p{N}{1,digits}.
func (s *scan) number(i int) int {
	if s.digits < 0 {
		return 0
	}
	end := i
	for end < len(s.t) && s.t[end].is(number) && (s.digits == 0 || end-i < s.digits) {
		end++
	}
	return end - i
}

// isOdd reports whether a character is anything else.
func (s *scan) isOdd(c char) bool {
	if s.code {
		return c.is(punct | symb)
	}
	if c.is(mark) && s.marks {
		return s.oddMarks
	}
	return !c.is(blank | letter | number)
}

// odd matches characters that are anything else, with a space before and the tail after them.
func (s *scan) odd(i int) int {
	first := i
	if s.t[i].r == ' ' && i+1 < len(s.t) {
		first++
	}
	end := first
	for end < len(s.t) && s.isOdd(s.t[end]) {
		end++
	}
	if end == first {
		return 0
	}
	for end < len(s.t) && s.isTail(s.t[end].r) {
		end++
		if s.tail&once != 0 {
			break
		}
	}
	return end - i
}

func (s *scan) isTail(r rune) bool {
	return s.tail&newlines != 0 && isNewline(r) || s.tail&slashes != 0 && r == '/'
}

// blanks matches white space: up to its last newline, or up to what the next word does not take.
func (s *scan) blanks(i int) int {
	if i >= s.blanksEnd {
		s.search(i)
	}
	if s.newlineEnd > i {
		return s.newlineEnd - i
	}
	n := s.blanksEnd - i
	if s.blanksEnd < len(s.t) && n > 1 {
		n--
	}
	if s.cascade {
		return cascade(n)
	}
	return n
}

// search finds the end of the white space at i and its last newline.
func (s *scan) search(i int) {
	s.newlineEnd = 0
	for ; i < len(s.t) && s.t[i].is(blank); i++ {
		if !s.newline && isNewline(s.t[i].r) {
			s.newlineEnd = i + 1
		}
	}
	s.blanksEnd = i
}

// cascade returns the largest power of two up to n and 512.
func cascade(n int) int {
	size := 512
	for size > n {
		size /= 2
	}
	return size
}

// youtuSets are the alternatives of the first expression of Youtu: Hangul, punctuation, Bopomofo, Chinese and
// Japanese.
var youtuSets = [...]string{
	"\u3131\u318e\uac00\ud7a3",
	"\u2014\u2014\u2018\u2019\u201c\u201d\u2026\u2026\u3001\u303f\ufe30\ufe4f\uff01\uff01\uff0c\uff0c\uff1a\uff1b",
	"\u3105\u312f",
	cjkKana,
}

// matchYoutu matches a run of one of youtuSets.
func matchYoutu(t []char, i int) int {
	for _, set := range youtuSets {
		if n := (runs{set: set}).match(t, i); n > 0 {
			return n
		}
	}
	return 0
}

// matchSentinel matches <sentinel:[0-9]+>.
func matchSentinel(t []char, i int) int {
	end := i + prefix(t, i, "<sentinel:")
	if end == i {
		return 0
	}
	first := end
	for end < len(t) && t[end].r >= '0' && t[end].r <= '9' {
		end++
	}
	if end == first || end == len(t) || t[end].r != '>' {
		return 0
	}
	return end + 1 - i
}

// matchImage matches IMGIMG[A-I]{1,4}Z.
func matchImage(t []char, i int) int {
	end := i + prefix(t, i, "IMGIMG")
	if end == i {
		return 0
	}
	first := end
	for end < len(t) && end-first < 4 && t[end].r >= 'A' && t[end].r <= 'I' {
		end++
	}
	if end == first || end == len(t) || t[end].r != 'Z' {
		return 0
	}
	return end + 1 - i
}

// matchIndent matches a tab, a newline, four spaces or two.
func matchIndent(t []char, i int) int {
	if strings.ContainsRune("\t\n", t[i].r) {
		return 1
	}
	return max(prefix(t, i, "    "), prefix(t, i, "  "))
}

// prefix returns the length of an ASCII text if t begins with it at i, and 0 otherwise.
func prefix(t []char, i int, text string) int {
	if len(t)-i < len(text) {
		return 0
	}
	for k := range len(text) {
		if t[i+k].r != rune(text[k]) {
			return 0
		}
	}
	return len(text)
}
