package token

import (
	"fmt"
	"strings"
)

// What the text of a query and of a document replace in a template of both.
const (
	queryMark    = "{query}"
	documentMark = "{document}"
)

// Limits of a template of query and document: bytes, and places for both.
const (
	maxPair  = 1 << 16
	maxMarks = 16
)

// ValidPair returns what is wrong with a template of query and document (Table.Pair), or nil.
func ValidPair(text string) error {
	for _, mark := range []string{queryMark, documentMark} {
		if !strings.Contains(text, mark) {
			return fmt.Errorf("has no %s: a template of query and document has a place for each", mark)
		}
	}
	if len(text) > maxPair {
		return fmt.Errorf("has %d bytes: a template of query and document has at most %d", len(text), maxPair)
	}
	if n := strings.Count(text, queryMark) + strings.Count(text, documentMark); n > maxMarks {
		return fmt.Errorf("has %d places: a template of query and document has at most %d", n, maxMarks)
	}
	return nil
}

// Span is a part of a text, from a byte to before another.
type Span struct{ From, To int }

// meets reports whether bytes of a text are among those of a span. The spans are in order.
func meets(spans []Span, from, to int) bool {
	lo, hi := 0, len(spans) // the first that does not end before is in [lo, hi]
	for lo < hi {
		if mid := (lo + hi) / 2; spans[mid].To > from {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo < len(spans) && spans[lo].From < to
}

// EncodePair appends the tokens of a query and a document as models that rank texts read them: each of both ended, or
// with a separator between them, as the vocabulary wants, or in its template. Control tokens that are written out in
// query or document are text.
func (v *Vocab) EncodePair(dst []int32, query, document string) []int32 {
	if v.pair != "" {
		text, given := v.fillPair(query, document)
		return v.Encode(dst, text, Options{ParseSpecials: true, Given: given})
	}
	end := v.eos
	if end == None {
		end = v.sep
	}
	ended := v.flags&(flagAddEOS|flagPairEOS) != 0
	if v.flags&flagAddBOS != 0 {
		dst = append(dst, v.bos)
	}
	dst = v.Encode(dst, query, Options{})
	if ended {
		dst = append(dst, end)
	}
	if v.flags&flagPairSEP != 0 {
		dst = append(dst, v.sep)
	}
	dst = v.Encode(dst, document, Options{})
	if ended {
		dst = append(dst, end)
	}
	return dst
}

// fillPair returns the text of the vocabulary's template with a query and a document in their places, and where these
// are.
func (v *Vocab) fillPair(query, document string) (text string, given []Span) {
	var b strings.Builder
	put := func(s string) {
		given = append(given, Span{b.Len(), b.Len() + len(s)})
		b.WriteString(s)
	}
	for rest := v.pair; rest != ""; {
		switch {
		case strings.HasPrefix(rest, queryMark):
			put(query)
			rest = rest[len(queryMark):]
		case strings.HasPrefix(rest, documentMark):
			put(document)
			rest = rest[len(documentMark):]
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return b.String(), given
}
