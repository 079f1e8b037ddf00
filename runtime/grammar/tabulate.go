package grammar

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// tableLimits bound a table and the work for it.
type tableLimits struct {
	states int
	bytes  int // of the serial form
	steps  int // bytes of tokens tried
}

// usualLimits are far above what schemas of usual size need: some seconds, and a tenth of a small model.
var usualLimits = tableLimits{states: maxTableStates, bytes: 8 << 20, steps: 1 << 26}

// TooLargeError means that a grammar has no table within the limits. A program then computes states as it reaches them.
type TooLargeError struct{ Why string }

func (e *TooLargeError) Error() string { return "the grammar is too large for a table: " + e.Why }

// Tabulate returns the table of a grammar for a vocabulary in serial form. The error is a *TooLargeError if it has too
// many states, and ErrTooComplex if a program that follows the grammar would soon fail with it.
func (g *Grammar) Tabulate(v *Vocab) ([]byte, error) { return g.tabulate(v, usualLimits) }

func (g *Grammar) tabulate(v *Vocab, limits tableLimits) ([]byte, error) {
	t, err := g.Match(v)
	if err != nil {
		return nil, err
	}
	if len(g.tokens) > 0 {
		return nil, &TooLargeError{"it names tokens, and a table has bytes only"}
	}
	b := &tabulator{Matcher: t, limits: limits, masks: make(map[stateID][]uint64), depth: make(map[stateID]int)}
	if err := b.explore(); err != nil {
		return nil, err
	}
	return b.encode()
}

// tabulator explores the states that tokens lead to.
type tabulator struct {
	*Matcher
	limits tableLimits
	masks  map[stateID][]uint64
	todo   []stateID       // in the order in which they are found
	depth  map[stateID]int // tokens of the shortest text that leads there
	steps  int
}

// maxSure is a number of tokens that texts often have. A grammar that is too complex for a text of fewer is an error;
// for longer ones it has no table, and a program may never meet such a text.
const maxSure = 256

// explore computes the masks of all states that are reached by tokens. State numbers stay, as nothing is forgotten.
func (b *tabulator) explore() error {
	b.todo = append(b.todo, b.at)
	b.masks[b.at] = nil
	for len(b.todo) > 0 {
		at := b.todo[0]
		b.todo = b.todo[1:]
		mask, err := b.follow(at)
		if errors.Is(err, ErrTooComplex) && b.depth[at] >= maxSure {
			err = &TooLargeError{err.Error()}
		}
		if err != nil {
			return err
		}
		b.masks[at] = mask
	}
	return nil
}

// follow tries all tokens in a state. It returns the mask, and queues the states after the tokens.
func (b *tabulator) follow(at stateID) ([]uint64, error) {
	mask := make([]uint64, b.v.words)
	if b.m.complete(at) {
		for _, id := range b.v.ends {
			mask[id/64] |= 1 << (id % 64)
		}
	}
	b.trail = append(b.trail[:0], at)
	for i := range b.v.pieces {
		p := &b.v.pieces[i]
		known := min(len(b.trail), p.common+1)
		ok, err := b.try(p)
		if err != nil {
			return nil, err
		}
		b.steps += len(b.trail) - known
		if len(b.m.states) > b.limits.states {
			return nil, &TooLargeError{fmt.Sprintf("more than %d states", b.limits.states)}
		}
		if b.steps > b.limits.steps {
			return nil, &TooLargeError{fmt.Sprintf("%d states for this vocabulary take too long", len(b.m.states))}
		}
		if !ok {
			continue
		}
		mask[p.id/64] |= 1 << (p.id % 64)
		end := b.trail[len(b.trail)-1]
		if _, seen := b.masks[end]; !seen {
			b.masks[end] = nil
			b.todo = append(b.todo, end)
			b.depth[end] = b.depth[at] + 1
		}
	}
	return mask, nil
}

// encode returns the serial form.
func (b *tabulator) encode() ([]byte, error) {
	classes, columns := b.classes()
	numbers, distinct := b.numberMasks()
	if size := tableHeader + 2*len(b.m.states)*(len(columns)+1) + 8*b.v.words*len(distinct); size > b.limits.bytes {
		return nil, &TooLargeError{fmt.Sprintf("%d states and %d sets of tokens take %d bytes, more than %d", len(b.m.states), len(distinct), size, b.limits.bytes)}
	}
	out := []byte(tableMagic)
	for _, n := range []int{len(b.m.states), len(columns), len(distinct), b.v.ids, int(b.at)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = append(out, classes[:]...)
	for s := range b.m.states {
		for _, c := range columns {
			out = binary.LittleEndian.AppendUint16(out, uint16(b.next(stateID(s), c)))
		}
	}
	for s := range b.m.states {
		out = binary.LittleEndian.AppendUint16(out, numbers[stateID(s)])
	}
	for _, mask := range distinct {
		for _, word := range mask {
			out = binary.LittleEndian.AppendUint64(out, word)
		}
	}
	return out, nil
}

// next returns the state after a byte; dead if no token leads there.
func (b *tabulator) next(s stateID, c byte) stateID {
	if row := b.m.states[s].next; row != nil && row[c] != unknown {
		return row[c]
	}
	return dead
}

// classes returns the class of each byte, and a byte of each class. All states treat bytes of one class alike.
func (b *tabulator) classes() (classes [256]byte, columns []byte) {
	seen := make(map[string]byte)
	var key []byte
	for c := range 256 {
		key = key[:0]
		for s := range b.m.states {
			key = binary.LittleEndian.AppendUint16(key, uint16(b.next(stateID(s), byte(c))))
		}
		class, ok := seen[string(key)]
		if !ok {
			class = byte(len(columns))
			seen[string(key)] = class
			columns = append(columns, byte(c))
		}
		classes[c] = class
	}
	return classes, columns
}

// numberMasks returns the number of each state's mask, from 1, and the different masks.
func (b *tabulator) numberMasks() (numbers map[stateID]uint16, distinct [][]uint64) {
	numbers = make(map[stateID]uint16)
	seen := make(map[string]uint16)
	var key []byte
	for s := range b.m.states {
		mask, ok := b.masks[stateID(s)]
		if !ok {
			continue
		}
		key = key[:0]
		for _, word := range mask {
			key = binary.LittleEndian.AppendUint64(key, word)
		}
		if seen[string(key)] == 0 {
			distinct = append(distinct, mask)
			seen[string(key)] = uint16(len(distinct))
		}
		numbers[stateID(s)] = seen[string(key)]
	}
	return numbers, distinct
}
