package grammar

import (
	"errors"
	"fmt"
	"math"
)

// A table is the automaton of a grammar for one vocabulary, computed before the program runs: the transitions of all
// states that texts of tokens lead to, and the tokens that each state allows. Only grammars have one whose states are
// few, as without recursion, or with recursion at the end of rules alone.
//
// Its serial form has little-endian numbers:
//
//	magic                            4 bytes
//	states, classes, masks, ids, start   u32 each
//	class of each byte               256 bytes
//	next state, by state and class   u16 x states x classes; state 0 is dead
//	mask of each state, from 1       u16 x states; 0 is none, for states within a token
//	masks                            u64 x masks x ceil(ids/64)
const (
	tableMagic  = "\x00gt1"
	tableHeader = len(tableMagic) + 5*4 + 256
)

// maxTableStates bounds the states of a table, whose numbers have 16 bits.
const maxTableStates = 1 << 14

// IsTable reports whether data begins as a table does. No grammar in GBNF does.
func IsTable(data string) bool {
	return len(data) >= len(tableMagic) && data[:len(tableMagic)] == tableMagic
}

// Table is a loaded table. It does not change and may be used by several goroutines.
type Table struct {
	v                                    Vocabulary
	states, columns, masks, words, start int
	classes, next, maskOf, sets          string
}

// errTable means that a table is damaged.
var errTable = errors.New("damaged table of a grammar: compile the model again")

// LoadTable returns the table in serial form for its vocabulary. The data is not copied.
func LoadTable(data string, v Vocabulary) (*Table, error) {
	if !IsTable(data) || len(data) < tableHeader {
		return nil, errTable
	}
	number := func(i int) int { return int(u32(data, len(tableMagic)+4*i)) }
	t := &Table{v: v, states: number(0), columns: number(1), masks: number(2), words: (v.Size() + 63) / 64, start: number(4)}
	if number(3) != v.Size() || t.states > maxTableStates+1 || t.columns > 256 || t.masks > t.states || t.start >= t.states {
		return nil, errTable
	}
	rest := data[tableHeader-256:]
	for _, part := range []struct {
		to *string
		n  int
	}{{&t.classes, 256}, {&t.next, 2 * t.states * t.columns}, {&t.maskOf, 2 * t.states}, {&t.sets, 8 * t.masks * t.words}} {
		if part.n > len(rest) {
			return nil, errTable
		}
		*part.to, rest = rest[:part.n], rest[part.n:]
	}
	if rest != "" || !t.valid() {
		return nil, errTable
	}
	return t, nil
}

// valid reports whether all numbers are within bounds.
func (t *Table) valid() bool {
	for i := range t.classes {
		if int(t.classes[i]) >= t.columns {
			return false
		}
	}
	for i := 0; i < len(t.next); i += 2 {
		if u16(t.next, i) >= t.states {
			return false
		}
	}
	for i := 0; i < len(t.maskOf); i += 2 {
		if u16(t.maskOf, i) > t.masks {
			return false
		}
	}
	return true
}

func u16(s string, i int) int { return int(s[i]) | int(s[i+1])<<8 }

func u32(s string, i int) uint32 { return uint32(u16(s, i)) | uint32(u16(s, i+2))<<16 }

func u64(s string, i int) uint64 { return uint64(u32(s, i)) | uint64(u32(s, i+4))<<32 }

// States returns the number of states, and of different sets of tokens that they allow.
func (t *Table) States() (states, sets int) { return t.states, t.masks }

// Match returns a Walker for an empty text.
func (t *Table) Match() *Walker { return &Walker{t: t, at: t.start} }

// Walker follows one text with a table, as a Matcher does with a grammar. Only one goroutine may use it at a time.
type Walker struct {
	t    *Table
	at   int
	text []byte // reused
}

// Limit is that of Matcher.
func (w *Walker) Limit(logits []float32) error {
	set := u16(w.t.maskOf, 2*w.at) - 1
	if set < 0 {
		return ErrNoToken
	}
	sets, left := w.t.sets[8*w.t.words*set:], uint64(0)
	for i := range w.t.words {
		left |= u64(sets, 8*i)
	}
	if left == 0 {
		return ErrNoToken
	}
	for i := 0; len(logits) > 0; i += 8 {
		n := min(64, len(logits))
		if word := u64(sets, i); word != math.MaxUint64 {
			limitWord(logits[:n], word)
		}
		logits = logits[n:]
	}
	return nil
}

// limitWord excludes the tokens of at most 64 logits that a word of a mask lacks.
func limitWord(logits []float32, word uint64) {
	for i := range logits {
		if word>>i&1 == 0 {
			logits[i] = float32(math.Inf(-1))
		}
	}
}

// Accept is that of Matcher.
func (w *Walker) Accept(id int32) error {
	if w.t.v.IsEOG(id) {
		return nil
	}
	w.text = w.t.v.AppendPiece(w.text[:0], id)
	at := w.at
	for _, b := range w.text {
		at = u16(w.t.next, 2*(at*w.t.columns+int(w.t.classes[b])))
	}
	if w.at = at; at == int(dead) {
		return fmt.Errorf("token %d does not follow the grammar", id)
	}
	return nil
}
