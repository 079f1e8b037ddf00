package runtime

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
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
	standIns map[string]string
	original map[rune]string   // of a stand-in
	symbols  string            // that control tokens have, the first of each
	hideAll  *strings.Replacer // hides them
	clean    *strings.Replacer // removes stand-ins
}

// newGuards returns the guards of a vocabulary.
func newGuards(v *token.Vocab) *guards {
	g := &guards{vocab: v, standIns: map[string]string{}, original: map[rune]string{}}
	var hide, clean []string
	for _, name := range v.Controls() {
		from, to, symbol := keyOf(name)
		key := name[from:to]
		if g.standIns[key] != "" {
			continue
		}
		standIn := string(utf8.RuneError)
		if r, ok := noncharacter(len(g.original)); ok {
			standIn = string(r)
			g.original[r] = key
			clean = append(clean, standIn, "")
		}
		g.standIns[key] = standIn
		if symbol {
			g.symbols += key
			hide = append(hide, key, standIn)
		}
	}
	g.hideAll, g.clean = strings.NewReplacer(hide...), strings.NewReplacer(clean...)
	return g
}

// keyOf returns the part of a control token's text that is hidden: the first symbol, such as < or [, or the first
// character if there is none. Characters of words are no symbols, as templates compare roles, types and names.
func keyOf(name string) (from, to int, symbol bool) {
	for i, r := range name {
		if r != utf8.RuneError && (unicode.IsSymbol(r) || unicode.IsPunct(r) && !strings.ContainsRune("_-.", r)) {
			return i, i + utf8.RuneLen(r), true
		}
	}
	_, n := utf8.DecodeRuneInString(name)
	return 0, n, false
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
	var keys []token.Span
	for _, s := range g.vocab.ControlsIn(text) {
		from, to, _ := keyOf(text[s.From:s.To])
		keys = append(keys, token.Span{From: s.From + from, To: s.From + to})
	}
	slices.SortFunc(keys, func(a, b token.Span) int { return cmp.Compare(a.From, b.From) })
	var b strings.Builder
	from := 0
	for _, k := range keys {
		if k.From < from {
			continue // of another name, too
		}
		b.WriteString(text[from:k.From])
		b.WriteString(g.standIns[text[k.From:k.To]])
		from = k.To
	}
	b.WriteString(text[from:])
	return b.String()
}

// show returns a text with hidden characters in place of their stand-ins, and where they are.
func (g *guards) show(text string) (shown string, given []token.Span) {
	var b strings.Builder
	from := 0
	for i, r := range text {
		if key, ok := g.original[r]; ok {
			b.WriteString(text[from:i])
			given = append(given, token.Span{From: b.Len(), To: b.Len() + len(key)})
			b.WriteString(key)
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
