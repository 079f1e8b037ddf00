package token

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// space replaces spaces in tokens: U+2581.
const space = "\u2581"

// Options of Encode.
type Options struct {
	// Specials adds the tokens that the vocabulary wants before and after a text.
	Specials bool
	// ParseSpecials also matches control tokens that are written out in the text, such as "</s>". It is for
	// templates. Text from users must not be able to do that.
	ParseSpecials bool
}

// Encode appends the tokens of a text to dst. Time and memory grow as n log n with the length of any text.
func (v *Vocab) Encode(dst []int32, text string, o Options) []int32 {
	if o.Specials && v.flags&flagAddBOS != 0 {
		dst = append(dst, v.bos)
	}
	e := encoder{v: v, out: dst}
	pos := 0
	for _, m := range v.special.find(v, text, o) {
		if pos < m.pos {
			e.fragment(text[pos:m.pos])
		}
		e.out = append(e.out, m.id)
		pos = m.pos + m.n
	}
	if pos < len(text) {
		e.fragment(text[pos:])
	}
	if o.Specials && v.flags&flagAddEOS != 0 {
		e.out = append(e.out, v.eos)
	}
	return e.out
}

// encoder is the work space of one Encode.
type encoder struct {
	v       *Vocab
	out     []int32
	text    string
	symbols []symbol
	queue   []pair
}

// symbol is a piece of the text. Pieces form a list in the order of the text. A piece that was joined to its left
// neighbour has no bytes.
type symbol struct {
	pos, n     int
	prev, next int // -1 at the ends
}

// pair is two neighbours that together are a token. It is out of date if either has changed since, which its size
// shows.
type pair struct {
	score float32
	size  int32
	left  int
}

// before reports whether p is joined before q: the higher score first, then the one further left.
func (p pair) before(q pair) bool {
	return p.score > q.score || p.score == q.score && p.left < q.left
}

// fragment encodes text without special tokens. A fragment is at the beginning of the whole text or follows a special
// token. Both get a space in front if the vocabulary wants one.
func (e *encoder) fragment(text string) {
	if e.v.flags&flagAddSpace != 0 {
		text = " " + text
	}
	e.text = strings.ReplaceAll(text, " ", space)
	e.cut()
	e.queue = slices.Grow(e.queue[:0], len(e.symbols))
	for i := range len(e.symbols) - 1 {
		e.push(i)
	}
	for len(e.queue) > 0 {
		e.join(e.pop())
	}
	for i := 0; i >= 0; i = e.symbols[i].next {
		e.emit(e.symbols[i])
	}
}

// cut makes a symbol of each character, and of each byte that is not part of a character. (In llama.cpp, an invalid
// first byte includes the bytes after it, even those of escaped spaces, which are then not restored.)
func (e *encoder) cut() {
	e.symbols = slices.Grow(e.symbols[:0], len(e.text))
	for pos := 0; pos < len(e.text); {
		_, n := utf8.DecodeRuneInString(e.text[pos:])
		i := len(e.symbols)
		e.symbols = append(e.symbols, symbol{pos: pos, n: n, prev: i - 1, next: i + 1})
		pos += n
	}
	e.symbols[len(e.symbols)-1].next = -1
}

// push queues the symbol at left and the one after it if they are a token together.
func (e *encoder) push(left int) {
	s := e.symbols[left]
	if s.next < 0 {
		return
	}
	n := s.n + e.symbols[s.next].n
	if n > MaxTokenBytes {
		return
	}
	id := e.v.textToken(e.text[s.pos : s.pos+n])
	if id == None {
		return
	}
	e.queue = append(e.queue, pair{e.v.score(id), int32(n), left})
	e.up(len(e.queue) - 1)
}

// textToken returns the token of a piece of text, or None. Control and unknown tokens do not count, as no text may
// become one.
func (v *Vocab) textToken(text string) int32 {
	id := v.Lookup(text)
	if id == None {
		return None
	}
	switch v.TypeOf(id) {
	case Control, Unknown, Byte:
		return None
	}
	return id
}

// join makes one symbol of a pair and queues it with its new neighbours.
func (e *encoder) join(p pair) {
	left := &e.symbols[p.left]
	if left.n == 0 || left.next < 0 || left.n+e.symbols[left.next].n != int(p.size) {
		return
	}
	right := &e.symbols[left.next]
	left.n += right.n
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

// emit appends the token of a symbol, or the tokens of its bytes.
func (e *encoder) emit(s symbol) {
	text := e.text[s.pos : s.pos+s.n]
	if id := e.v.textToken(text); id != None {
		e.out = append(e.out, id)
		return
	}
	for i := range len(text) {
		id := e.v.byteToken(text[i])
		if id == None {
			continue
		}
		e.out = append(e.out, id)
		if id == e.v.unk { // one for the character, not one for each byte
			return
		}
	}
}

// pop removes the first pair from the queue, which is a heap.
func (e *encoder) pop() pair {
	q := e.queue
	first := q[0]
	last := len(q) - 1
	q[0] = q[last]
	e.queue = q[:last]
	e.down()
	return first
}

// up moves the pair at i to its place among its ancestors.
func (e *encoder) up(i int) {
	q := e.queue
	for i > 0 {
		parent := (i - 1) / 2
		if !q[i].before(q[parent]) {
			return
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
}

// down moves the pair at the root to its place among its descendants.
func (e *encoder) down() {
	q := e.queue
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q[child+1].before(q[child]) {
			child++
		}
		if !q[child].before(q[i]) {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
