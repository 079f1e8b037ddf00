package token

import "strings"

// Split is a way to cut a text into words before byte-level BPE. Tokens never cross the boundary of a word.
//
// llama.cpp cuts the same words with regular expressions (llama-vocab.cpp, llm_tokenizer_bpe, and unicode.cpp). An
// expression is applied to each piece that the one before it has left. Its matches become pieces, and so does the text
// between them. Here every expression is a function that takes time proportional to the text, because an engine that
// backtracks does not, and that of Go's regexp has no lookahead.
type Split uint32

// The splits, by the model that introduced them.
const (
	SplitDefault Split = iota // for files that name none
	SplitGPT2
	SplitLlama3
	SplitJais2
	SplitDeepSeekLLM
	SplitDeepSeekCoder
	SplitDeepSeek3
	SplitYoutu
	SplitFalcon
	SplitStarCoder
	SplitQwen2
	SplitQwen35
	SplitBloom
	SplitViking
	SplitTekken
	SplitChameleon
	SplitGPT4o
	SplitGraniteEmbed
	SplitTinyAya
	SplitKimi
	SplitSuperBPE
	SplitBailing
	SplitSeedCoder
	SplitAfmoe
	SplitLaguna
	SplitExaoneMoE
	SplitLines
	SplitMiniCPM5
	SplitBlanks
	SplitUfakzeka
	SplitSpark
	numSplits
)

// step is one expression. It appends the ends of the pieces of t, which begins at base in the whole text.
type step func(out []int, t []char, base int) []int

// gpt2 is the expression of GPT-2, which others use too.
var gpt2 = isolate(matchGPT2)

// splits lists the expressions of each split.
var splits = [numSplits][]step{
	SplitDefault: {runs{class: punct, set: "$$++<>^^||~~"}.step(), gpt2, runs{class: number}.step(), runs{set: "09", min: 3, max: 3}.step()},
	SplitGPT2:    {gpt2},
	SplitLlama3:  {words{contractions: true, digits: 3, tail: newlines}.split},
	SplitJais2:   {words{contractions: true, digits: 3, tail: newlines, cascade: true}.split},
	SplitDeepSeekLLM: {isolate(matchNewline), runs{lead: blank, set: deepSeekLetters}.step(), runs{lead: blank, set: deepSeekPunct}.step(),
		trailing, runs{set: cjkDeepSeek}.step(), runs{class: number}.step()},
	SplitDeepSeekCoder: {isolate(matchNewline), runs{lead: blank, class: letter}.step(), runs{lead: blank, class: punct}.step(),
		runs{set: cjkDeepSeek}.step(), runs{class: number, max: 1}.step()},
	SplitDeepSeek3: {runs{class: number, max: 3}.step(), runs{set: cjkKana}.step(), words{code: true, marks: true, tail: newlines, digits: -1}.split},
	SplitYoutu:     {isolate(matchYoutu), words{suffix: true, marks: true, oddMarks: true, digits: 1, tail: newlines | slashes}.split},
	SplitFalcon:    {runs{class: punct, set: "$$++<>^^``||~~"}.step(), gpt2, runs{set: "09", min: 3, max: 3}.step()},
	SplitStarCoder: {runs{class: number, max: 1}.step(), gpt2},
	SplitQwen2:     {words{contractions: true, digits: 1, tail: newlines}.split},
	SplitQwen35:    {words{contractions: true, marks: true, digits: 1, tail: newlines}.split},
	SplitLaguna:    {lines, words{contractions: true, digits: 1, tail: newlines}.split},
	SplitBloom:     {isolate(matchBloom)},
	SplitViking:    {isolate(matchBloom), runs{class: number, max: 1}.step()},
	SplitTekken:    {words{cased: true, digits: 1, tail: newlines | slashes}.split},
	SplitChameleon: {isolate(matchSentinel), isolate(matchImage), isolate(matchIndent), runs{class: number, max: 1}.step(),
		runs{class: punct, set: "!/:@[`{~", max: 1}.step(), gpt2},
	SplitGPT4o:        {words{suffix: true, cased: true, digits: 3, tail: newlines | slashes}.split},
	SplitGraniteEmbed: {words{suffix: true, cased: true, marks: true, oddMarks: true, digits: 3, tail: newlines | slashes}.split},
	SplitTinyAya:      {thousandsFromLeft, words{suffix: true, marks: true, oddMarks: true, digits: 3, tail: newlines | slashes}.split},
	SplitKimi:         {words{suffix: true, han: true, digits: 3, tail: newlines}.split},
	SplitSuperBPE:     {runs{class: number}.step(), thousands},
	SplitBailing:      {words{contractions: true, digits: 1, tail: newlines}.split},
	SplitSeedCoder:    {words{contractions: true, digits: 1}.split},
	SplitAfmoe:        {thousandsFromLeft, runs{set: cjkAfmoe}.step(), words{code: true, marks: true, tail: newlines, digits: -1}.split},
	SplitExaoneMoE:    {words{contractions: true, phrases: true, digits: 1, tail: newlines | slashes | once}.split},
	SplitLines:        {lines},
	SplitMiniCPM5:     {runs{class: number, max: 3}.step(), words{contractions: true, tail: newlines}.split},
	SplitUfakzeka:     {words{digits: 1, tail: newlines}.split},
	SplitSpark:        {runs{class: number, max: 1}.step(), runs{set: cjkKana}.step(), words{code: true, marks: true, newline: true, digits: -1}.split},
	SplitBlanks:       {isolate(matchNonBlank)},
}

// apply returns the ends of the words of t, as numbers of characters. It uses both slices.
func apply(steps []step, t []char, ends, spare []int) (words, free []int) {
	ends = append(ends[:0], len(t))
	for _, f := range steps {
		spare = spare[:0]
		start := 0
		for _, end := range ends {
			spare = f(spare, t[start:end], start)
			start = end
		}
		ends, spare = spare, ends
	}
	return ends, spare
}

// isolate makes a step of a function that returns the length of the match at t[i], or 0 if there is none.
func isolate(match func(t []char, i int) int) step {
	return func(out []int, t []char, base int) []int {
		gap := 0
		for i := 0; i < len(t); {
			n := match(t, i)
			if n == 0 {
				i++
				continue
			}
			if gap < i {
				out = append(out, base+i)
			}
			i += n
			gap = i
			out = append(out, base+i)
		}
		if gap < len(t) {
			out = append(out, base+len(t))
		}
		return out
	}
}

// runs matches one character or none of lead, followed by min to max characters of a class or of a set of ranges.
// min 0 is 1; max 0 is unlimited.
type runs struct {
	lead, class class
	set         string
	min, max    int
}

func (r runs) step() step { return isolate(r.match) }

func (r runs) has(c char) bool { return c.is(r.class) || inRanges(r.set, c.wide()) }

func (r runs) match(t []char, i int) int {
	at := i
	if t[i].is(r.lead) && i+1 < len(t) && r.has(t[i+1]) {
		at++
	}
	end := at
	for end < len(t) && r.has(t[end]) && (r.max == 0 || end-at < r.max) {
		end++
	}
	if end-at < max(r.min, 1) {
		return 0
	}
	return end - i
}

// matchGPT2 matches 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+.
func matchGPT2(t []char, i int) int {
	if n := contraction(t, i, exactCase); n > 0 {
		return n
	}
	at := i
	if t[i].r == ' ' && i+1 < len(t) && !t[i+1].is(blank) {
		at++
	}
	if t[at].is(blank) {
		return matchBlanks(t, i)
	}
	kind := t[at].c & (letter | number)
	end := at
	for end < len(t) && !t[end].is(blank) && t[end].c&(letter|number) == kind {
		end++
	}
	return end - i
}

// matchBlanks matches \s+(?!\S)|\s+: all white space, or all but the last if a word follows.
func matchBlanks(t []char, i int) int {
	end := i
	for end < len(t) && t[end].is(blank) {
		end++
	}
	if end < len(t) && end-i > 1 {
		end--
	}
	return end - i
}

func exactCase(r rune) rune { return r }

// foldCase returns a letter of ASCII in lower case.
func foldCase(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// contraction returns the length of 's, 't, 'm, 'd, 're, 've or 'll at t[i], or 0.
func contraction(t []char, i int, fold func(rune) rune) int {
	if i+1 >= len(t) || t[i].r != '\'' {
		return 0
	}
	a := fold(t[i+1].r)
	if strings.ContainsRune("stmd", a) {
		return 2
	}
	if i+2 >= len(t) {
		return 0
	}
	b := fold(t[i+2].r)
	if (a == 'r' || a == 'v') && b == 'e' || a == 'l' && b == 'l' {
		return 3
	}
	return 0
}

// matchNewline matches [\r\n].
func matchNewline(t []char, i int) int {
	if isNewline(t[i].r) {
		return 1
	}
	return 0
}

// matchNonBlank matches \S+.
func matchNonBlank(t []char, i int) int {
	end := i
	for end < len(t) && !t[end].is(blank) {
		end++
	}
	return end - i
}

// matchBloom matches an optional space and characters that are neither white space nor one of (|.,!?…。，、।۔،).
func matchBloom(t []char, i int) int {
	at := i + prefix(t, i, " ")
	end := at
	for end < len(t) && !t[end].is(blank) && !strings.ContainsRune("(|.,!?…。，、।۔،)", t[end].r) {
		end++
	}
	if end == at {
		return 0
	}
	return end - i
}

// lines matches [^\n]+|\n+.
func lines(out []int, t []char, base int) []int {
	for i := range t {
		if i+1 == len(t) || (t[i].r == '\n') != (t[i+1].r == '\n') {
			out = append(out, base+i+1)
		}
	}
	return out
}

// trailing matches \s+$.
func trailing(out []int, t []char, base int) []int {
	end := len(t)
	for end > 0 && t[end-1].is(blank) {
		end--
	}
	if end > 0 {
		out = append(out, base+end)
	}
	if end < len(t) {
		out = append(out, base+len(t))
	}
	return out
}

// thousands cuts before every group of three digits, counted from the end of a number.
func thousands(out []int, t []char, base int) []int {
	digits := 0 // from i to the end of its number
	first := len(out)
	out = append(out, base+len(t))
	for i := len(t) - 1; i > 0; i-- {
		if t[i].r < '0' || t[i].r > '9' {
			digits = 0
			continue
		}
		if digits++; digits%3 == 0 {
			out = append(out, base+i)
		}
	}
	reverse(out[first:])
	return out
}

func reverse(s []int) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

// thousandsFromLeft cuts after every group of three digits, of which the first group may be shorter. Text before a
// number belongs to its first group, as in llama.cpp (unicode_regex_split_custom_afmoe).
func thousandsFromLeft(out []int, t []char, base int) []int {
	last := 0
	for i := 0; i < len(t); {
		if !t[i].is(number) {
			i++
			continue
		}
		end := i
		for end < len(t) && t[end].is(number) {
			end++
		}
		first := (end - i) % 3
		if first == 0 {
			first = 3
		}
		for i += first; i <= end; i += 3 {
			out = append(out, base+i)
		}
		i, last = end, end
	}
	if last < len(t) {
		out = append(out, base+len(t))
	}
	return out
}
