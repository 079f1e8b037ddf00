package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wide replaces characters by their upper case, where that has several. It knows those of common texts: Unicode has 90
// more, and emitted programs have little room.
var wide = strings.NewReplacer(strings.Split("ß SS ﬀ FF ﬁ FI ﬂ FL ﬃ FFI ﬄ FFL", " ")...)

func upper(s string) string {
	if len(s) > 1 {
		s = wide.Replace(s)
	}
	return strings.ToUpper(s)
}

func lower(s string) string { return lowerAfter(s, false) }

// lowerAfter is lower for a text after a letter with case, or not: a sigma at the end of a word has a form of its own.
func lowerAfter(s string, cased bool) string {
	if !strings.ContainsAny(s, "Σİ") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == 'İ':
			b.WriteString("i̇")
		case r == 'Σ' && cased && !startsCased(s[i+len("Σ"):]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		if !insideWord(r) {
			cased = isCased(r)
		}
	}
	return b.String()
}

// startsCased reports whether a letter with case follows.
func startsCased(s string) bool {
	for _, r := range s {
		if !insideWord(r) {
			return isCased(r)
		}
	}
	return false
}

// insideWord reports whether words continue after a character that is no letter.
func insideWord(r rune) bool { return strings.ContainsRune("'.:^`·’\u00ad\u200d", r) }

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

// fold makes texts that differ by case alone equal.
func fold(s string) string {
	s = strings.ToLower(strings.ReplaceAll(wide.Replace(s), "İ", "i̇"))
	return strings.ReplaceAll(s, "ς", "σ")
}

// capitalize makes the first character upper case and the others lower case.
func capitalize(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return titled(r) + lowerAfter(s[n:], isCased(r))
}

// titled returns the form of a character at the beginning of a title's word.
func titled(r rune) string {
	s := upper(string(r))
	if _, n := utf8.DecodeRuneInString(s); n < len(s) {
		return s[:n] + strings.ToLower(s[n:])
	}
	return string(unicode.ToTitle(r))
}

// title makes the first character of each word upper case. Words are separated by white space, hyphens and opening
// brackets.
func title(s string) string {
	return words(s, func(r rune) bool { return !isSpace(r) && !strings.ContainsRune("-({[<", r) }, func(first rune, rest string) string {
		return upper(string(first)) + lower(rest)
	})
}

// titleWords is the method title: words are separated by characters without case.
func titleWords(s string) string {
	return words(s, isCased, func(first rune, rest string) string { return titled(first) + lowerAfter(rest, true) })
}

// words changes each word of a text: the first character and the rest of what is inside of words.
func words(s string, inside func(rune) bool, change func(first rune, rest string) string) string {
	var b strings.Builder
	for s != "" {
		first, n := utf8.DecodeRuneInString(s)
		if !inside(first) {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		end := strings.IndexFunc(s, func(r rune) bool { return !inside(r) })
		if end < 0 {
			end = len(s)
		}
		b.WriteString(change(first, s[n:end]))
		s = s[end:]
	}
	return b.String()
}

// swapCase makes upper case lower and lower case upper.
func swapCase(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			b.WriteString(lower(string(r)))
		case unicode.IsLower(r):
			b.WriteString(upper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cased reports whether a text has letters, all of one case.
func cased(s string, inUpper bool) bool {
	if inUpper {
		return s == upper(s) && s != strings.ToLower(s)
	}
	return s == strings.ToLower(s) && s != upper(s)
}

// isDigit and isNumeric know the common characters that are digits or numbers without being decimal digits.
func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉①②③④⑤⑥⑦⑧⑨", r)
}

func isNumeric(r rune) bool {
	return unicode.IsNumber(r) || strings.ContainsRune("一二三四五六七八九十百千万亿億兆", r)
}
