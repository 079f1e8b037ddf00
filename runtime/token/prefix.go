package token

import (
	"slices"
	"sort"
	"strings"
)

// prefixes finds the tokens that a text begins with. It is a list of the ids of tokens in the order of their texts, as
// u32. Tokens with a common beginning are neighbours in the list.
type prefixes string

// newPrefixes sorts the tokens that keep wants, except for empty ones.
func newPrefixes(texts []string, keep func(id int32) bool) prefixes {
	var ids []int32
	for id, s := range texts {
		if s != "" && keep(int32(id)) {
			ids = append(ids, int32(id))
		}
	}
	slices.SortFunc(ids, func(a, b int32) int { return strings.Compare(texts[a], texts[b]) })
	return prefixes(appendInts(nil, ids...))
}

// walk is a search for the tokens that a text begins with: those between lo and hi begin with the n bytes so far.
type walk struct {
	v         *Vocab
	p         prefixes
	lo, hi, n int
}

// walk begins a search.
func (p prefixes) walk(v *Vocab) walk { return walk{v, p, 0, len(p) / 4, 0} }

// text returns the text of the i-th token in order.
func (w *walk) text(i int) string { return w.v.Text(w.id(i)) }

func (w *walk) id(i int) int32 { return int32(u32(string(w.p), 4*i)) }

// step adds a byte. It reports whether any token begins with the bytes so far.
func (w *walk) step(b byte) bool {
	if w.lo < w.hi && len(w.text(w.lo)) == w.n {
		w.lo++ // it ends here
	}
	base := w.lo
	w.lo = base + sort.Search(w.hi-base, func(i int) bool { return w.text(base + i)[w.n] >= b })
	first := w.lo
	w.hi = first + sort.Search(w.hi-first, func(i int) bool { return w.text(first + i)[w.n] > b })
	w.n++
	return w.lo < w.hi
}

// token returns the token that is exactly the bytes so far, or None.
func (w *walk) token() int32 {
	if w.lo < w.hi && len(w.text(w.lo)) == w.n {
		return w.id(w.lo)
	}
	return None
}

// longest returns the longest token that a text begins with, and its length, or None.
func (e *encoder) longest(text string) (id int32, n int) {
	id = None
	w := e.v.prefixes.walk(e.v)
	for i := 0; i < len(text) && w.step(text[i]); i++ {
		if t := w.token(); t != None && e.takes(t) {
			id, n = t, i+1
		}
	}
	return id, n
}

// sorted reports whether the texts of the list are in order and not empty, and its ids exist.
func (p prefixes) sorted(v *Vocab) bool {
	before := ""
	for i := 0; i < len(p); i += 4 {
		id := int32(u32(string(p), i))
		if !v.Valid(id) || v.Text(id) <= before {
			return false
		}
		before = v.Text(id)
	}
	return true
}
