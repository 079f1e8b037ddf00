package token

import (
	"slices"
	"strings"
)

// Options of Encode.
type Options struct {
	// Specials adds the tokens that the vocabulary wants before and after a text.
	Specials bool
	// ParseSpecials also matches control tokens that are written out in the text, such as "</s>". It is for
	// templates. Text from users must not be able to do that.
	ParseSpecials bool

	// Given are parts of the text, in its order, that ParseSpecials leaves text: no control token has bytes of them.
	// Neither has a user-defined one that looks like one (see IsControl).
	Given []Span
}

// Encode appends the tokens of a text to dst. Time and memory grow as n log n with the length of any text.
func (v *Vocab) Encode(dst []int32, text string, o Options) []int32 {
	if o.Specials && v.flags&flagAddBOS != 0 {
		dst = append(dst, v.bos)
	}
	e := encoder{v: v, out: dst, guarded: len(o.Given) > 0}
	pos := 0
	for _, m := range v.special.find(v, text, o) {
		if start := m.pos - m.before; pos < start {
			e.fragment(text[pos:start])
		}
		e.out = append(e.out, m.id)
		pos = m.pos + m.n + m.after
	}
	if pos < len(text) {
		e.fragment(text[pos:])
	}
	if o.Specials && v.flags&flagAddEOS != 0 {
		e.out = append(e.out, v.eos)
	}
	if o.Specials && v.flags&flagAddSEP != 0 {
		e.out = append(e.out, v.sep)
	}
	return e.out
}

// encoder is the work space of one Encode.
type encoder struct {
	v       *Vocab
	out     []int32
	guarded bool // no text becomes a control token, whatever the algorithm
	text    string
	symbols []symbol
	queue   queue

	chars       []char
	ends, spare []int
}

// fragment encodes text without special tokens.
func (e *encoder) fragment(text string) {
	switch e.v.algorithm {
	case BPE:
		if e.v.flags&flagDNA != 0 {
			e.dna(text)
			return
		}
		e.bpe(text)
	case WPM:
		e.wpm(text)
	case UGM:
		e.ugm(text)
	case RWKV:
		e.rwkv(text)
	case PLaMo:
		e.plamo(text)
	default:
		e.spm(text)
	}
}

// takes reports whether text may become a token that the algorithm finds in it. RWKV's and PLaMo-2's find control tokens.
func (e *encoder) takes(id int32) bool { return !e.guarded || !e.v.IsControl(id) }

// textToken is that of the vocabulary, of tokens that text may become.
func (e *encoder) textToken(text string) int32 {
	if id := e.v.textToken(text); id != None && e.takes(id) {
		return id
	}
	return None
}

// symbol is a piece of the text. Pieces form a list in the order of the text. A piece that was joined to its left
// neighbour has no bytes.
type symbol struct {
	pos, n     int
	prev, next int   // -1 at the ends
	id         int32 // BPE: the token or another text of a merge, or None
}

// join makes one symbol of a pair and queues it with its new neighbours.
func (e *encoder) join(p pair) {
	left := &e.symbols[p.left]
	if left.n == 0 || left.next < 0 || left.n+e.symbols[left.next].n != int(p.size) {
		return
	}
	right := &e.symbols[left.next]
	left.n += right.n
	left.id = p.id
	right.n = 0
	left.next = right.next
	if left.next >= 0 {
		e.symbols[left.next].prev = p.left
	}
	if left.prev >= 0 {
		e.push(left.prev)
	}
	e.push(p.left)
}

// push queues the symbol at left and the one after it if they can be joined.
func (e *encoder) push(left int) {
	s := e.symbols[left]
	if s.next < 0 {
		return
	}
	n := s.n + e.symbols[s.next].n
	if n > MaxTokenBytes {
		return
	}
	key, id := e.candidate(s, n)
	if id != None {
		e.queue.push(pair{key, int32(n), left, id})
	}
}

// candidate returns the token of a symbol and the one after it, n bytes together, and when they are joined: smaller
// keys first. It returns None if they cannot be joined.
func (e *encoder) candidate(s symbol, n int) (key uint32, id int32) {
	if e.v.algorithm == BPE {
		return e.v.merge(s.id, e.symbols[s.next].id)
	}
	id = e.textToken(e.text[s.pos : s.pos+n])
	if id == None {
		return 0, None
	}
	return e.v.order(id), id
}

// merge joins neighbours until no two of the symbols can be joined.
func (e *encoder) merge() {
	e.queue = slices.Grow(e.queue[:0], len(e.symbols))
	for i := range len(e.symbols) - 1 {
		e.push(i)
	}
	for len(e.queue) > 0 {
		e.join(e.queue.pop())
	}
}

// escape replaces spaces with U+2581.
func escape(text string) string { return strings.ReplaceAll(text, " ", space) }
