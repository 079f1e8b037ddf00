package runtime

import (
	"strings"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/jinja"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// guards hide characters of untrusted texts from a chat template, so that no control token is made of such texts. Each
// of the characters is replaced by a noncharacter of Unicode, its stand-in. Show puts the characters back after the
// template, and returns where they are: no control token has one of them.
//
// A stand-in counts as one character, as what it replaces, and is never cut in two. A template sees it when it compares,
// replaces or escapes characters.
type guards struct {
	vocab    *token.Vocab
	standIns map[rune]rune
	original map[rune]rune // of a stand-in
	symbols  string        // that control tokens have
}

// newGuards returns the guards of a vocabulary.
func newGuards(v *token.Vocab) *guards {
	g := &guards{vocab: v, standIns: map[rune]rune{}, original: map[rune]rune{}}
	names := v.Controls()
	for _, name := range names {
		_, key := keyOf(name)
		g.hide(key)
	}
	for _, name := range names {
		for _, r := range name {
			if isSymbol(r) {
				g.hide(r)
			}
		}
	}
	return g
}

// hide gives a character a stand-in. Without one of its own, as there are 66, it is not put back.
func (g *guards) hide(r rune) {
	if g.standIns[r] != 0 {
		return
	}
	standIn, ok := noncharacter(len(g.original))
	if ok {
		g.original[standIn] = r
	} else {
		standIn = utf8.RuneError
	}
	g.standIns[r] = standIn
	if isSymbol(r) {
		g.symbols += string(r)
	}
}

// keyOf returns the character of a control token's text that is hidden, and where it is: the first symbol, such as < or [,
// or the first character if there is none.
func keyOf(name string) (at int, key rune) {
	for i, r := range name {
		if isSymbol(r) {
			return i, r
		}
	}
	key, _ = utf8.DecodeRuneInString(name)
	return 0, key
}

// isSymbol reports whether a character is none of a word in ASCII, which templates compare: of roles, types and names.
func isSymbol(r rune) bool {
	word := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-. ", r)
	return !word && r != utf8.RuneError
}

// noncharacter returns the i-th noncharacter of Unicode. There are 66, and vocabularies need a few of them.
func noncharacter(i int) (r rune, ok bool) {
	const inBlock = 32 // U+FDD0 to U+FDEF; the others are the last two of each plane
	if i < inBlock {
		return rune(0xFDD0 + i), true
	}
	i -= inBlock
	return rune(i/2<<16 | 0xFFFE | i%2), i < 34
}

// hideNames hides a character of each control token that is written in a text. The rest of the text may still become
// one if the template joins its parts.
func (g *guards) hideNames(text string) string {
	spans := g.vocab.ControlsIn(text)
	if len(spans) == 0 {
		return text
	}
	hidden := make([]bool, len(text))
	for _, s := range spans {
		at, _ := keyOf(text[s.From:s.To])
		hidden[s.From+at] = true
	}
	return mapRunes(text, func(i int, r rune) rune {
		if hidden[i] {
			return g.standIns[r]
		}
		return r
	})
}

// hideSymbols hides all symbols that control tokens have. Bytes that are no UTF-8 might be joined to one: each becomes
// U+FFFD.
func (g *guards) hideSymbols(text string) string {
	return mapRunes(strings.ToValidUTF8(text, string(utf8.RuneError)), func(_ int, r rune) rune {
		if s := g.standIns[r]; s != 0 && isSymbol(r) {
			return s
		}
		return r
	})
}

// clean removes stand-ins from a text.
func (g *guards) clean(text string) string {
	return mapRunes(text, func(_ int, r rune) rune {
		if g.original[r] != 0 {
			return -1
		}
		return r
	})
}

// mapRunes changes the characters of a text, by where they are, or removes them if to returns -1. Bytes that are no UTF-8
// stay, unlike with strings.Map.
func mapRunes(text string, to func(i int, r rune) rune) string {
	var b strings.Builder
	for i, r := range text {
		_, n := utf8.DecodeRuneInString(text[i:])
		switch r2 := to(i, r); {
		case r2 == r:
			b.WriteString(text[i : i+n])
		case r2 >= 0:
			b.WriteRune(r2)
		}
	}
	return b.String()
}

// show returns a text with hidden characters in place of their stand-ins, and where they are.
func (g *guards) show(text string) (shown string, given []token.Span) {
	var b strings.Builder
	from := 0
	for i, r := range text {
		if key, ok := g.original[r]; ok {
			b.WriteString(text[from:i])
			given = append(given, token.Span{From: b.Len(), To: b.Len() + utf8.RuneLen(key)})
			b.WriteRune(key)
			from = i + utf8.RuneLen(r)
		}
	}
	b.WriteString(text[from:])
	return b.String(), given
}

// changeTexts returns a copy of a JSON value in which all texts are changed, including the names of members.
func changeTexts(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = changeTexts(x, change)
		}
		return list
	case *jinja.Dict:
		d := jinja.NewDict()
		for k, x := range v.All() {
			d.Set(changeTexts(k, change), changeTexts(x, change))
		}
		return d
	}
	return value
}
