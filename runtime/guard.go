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
// A stand-in counts as one character, as what it replaces, and is never cut in two. A template sees it in comparisons
// and replacements alone.
type guards struct {
	vocab    *token.Vocab
	standIns map[rune]rune
	original map[rune]rune // of a stand-in
	symbols  string        // that control tokens have, the first of each
}

// newGuards returns the guards of a vocabulary.
func newGuards(v *token.Vocab) *guards {
	g := &guards{vocab: v, standIns: map[rune]rune{}, original: map[rune]rune{}}
	for _, name := range v.Controls() {
		_, key := keyOf(name)
		if g.standIns[key] != 0 {
			continue
		}
		standIn, ok := noncharacter(len(g.original))
		if ok {
			g.original[standIn] = key
		} else {
			standIn = utf8.RuneError
		}
		g.standIns[key] = standIn
		if isSymbol(key) {
			g.symbols += string(key)
		}
	}
	return g
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
	var b strings.Builder
	for i, r := range text {
		_, n := utf8.DecodeRuneInString(text[i:])
		if hidden[i] {
			b.WriteRune(g.standIns[r])
		} else {
			b.WriteString(text[i : i+n])
		}
	}
	return b.String()
}

// hideSymbols hides all symbols that control tokens have.
func (g *guards) hideSymbols(text string) string {
	return strings.Map(func(r rune) rune {
		if s := g.standIns[r]; s != 0 && isSymbol(r) {
			return s
		}
		return r
	}, text)
}

// clean removes stand-ins from a text.
func (g *guards) clean(text string) string {
	return strings.Map(func(r rune) rune {
		if g.original[r] != 0 {
			return -1
		}
		return r
	}, text)
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
