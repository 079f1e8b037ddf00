package token

import (
	"errors"
	"fmt"
	"math"
)

// Vocab is a loaded vocabulary. It does not change and may be used by several goroutines.
type Vocab struct {
	starts string // u32 x (n+1)
	scores string // f32 x n
	slots  string // u32 x h
	bytes  string // i32 x 256
	attrs  string // u8 x n
	texts  string

	n             int
	seed, mask    uint32
	bos, eos, unk int32
	flags         uint32
	special       special
}

// Load returns the vocabulary of a table written by Table.Encode. The table is not copied. It is a string, because
// embedded files that are strings are in read-only memory.
func Load(table string) (*Vocab, error) {
	if len(table) < headerBytes || table[:4] != tableMagic || u32(table, 4) != algorithm {
		return nil, errors.New("token: not a vocabulary table of this version: compile the model again")
	}
	v := &Vocab{
		n: int(u32(table, 8)), flags: u32(table, 12), seed: u32(table, 28),
		bos: int32(u32(table, 16)), eos: int32(u32(table, 20)), unk: int32(u32(table, 24)),
	}
	h, texts := u32(table, 32), u32(table, 36)
	v.mask = h - 1
	want := uint64(headerBytes) + 4*(uint64(v.n)+1) + 4*uint64(v.n) + 4*uint64(h) + 4*256 + uint64(v.n) + uint64(texts)
	if uint64(len(table)) != want {
		return nil, fmt.Errorf("token: a table of %d bytes declares %d: compile the model again", len(table), want)
	}
	rest := table[headerBytes:]
	for _, part := range []struct {
		dst *string
		n   int
	}{{&v.starts, 4 * (v.n + 1)}, {&v.scores, 4 * v.n}, {&v.slots, 4 * int(h)}, {&v.bytes, 4 * 256}, {&v.attrs, v.n}, {&v.texts, int(texts)}} {
		*part.dst, rest = rest[:part.n], rest[part.n:]
	}
	if what := v.check(); what != "" {
		return nil, fmt.Errorf("token: damaged table: %s: compile the model again", what)
	}
	v.special = newSpecial(v)
	return v, nil
}

// check returns the fault that would lead a later look-up out of bounds or into an endless loop, or "".
func (v *Vocab) check() string {
	end := uint32(0)
	for i := 0; i < len(v.starts); i += 4 {
		if s := u32(v.starts, i); s < end || s > uint32(len(v.texts)) {
			return "texts out of order"
		} else {
			end = s
		}
	}
	if v.n == 0 || end != uint32(len(v.texts)) {
		return "texts missing"
	}
	for _, id := range []int32{v.bos, v.eos, v.unk} {
		if !v.idOrNone(id) {
			return "a special token that there is not"
		}
	}
	if v.flags&flagAddBOS != 0 && v.bos == None || v.flags&flagAddEOS != 0 && v.eos == None {
		return "a token to be added that there is not"
	}
	for i := 0; i < len(v.bytes); i += 4 {
		if !v.idOrNone(int32(u32(v.bytes, i))) {
			return "a byte token that there is not"
		}
	}
	return v.checkSlots()
}

// checkSlots checks that the hash table has an empty slot, at which searches end, and only valid ids.
func (v *Vocab) checkSlots() string {
	if v.mask&(v.mask+1) != 0 || len(v.slots) == 0 {
		return "hash table of a wrong size"
	}
	empty := 0
	for i := 0; i < len(v.slots); i += 4 {
		id := u32(v.slots, i)
		if id > uint32(v.n) {
			return "a token in the hash table that there is not"
		}
		if id == 0 {
			empty++
		}
	}
	if empty == 0 {
		return "hash table without an empty slot"
	}
	return ""
}

// idOrNone reports whether id is valid or None.
func (v *Vocab) idOrNone(id int32) bool { return id == None || v.Valid(id) }

// u32 reads a number at a byte offset.
func u32(s string, i int) uint32 {
	s = s[i : i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// Size returns the number of tokens.
func (v *Vocab) Size() int { return v.n }

// Valid reports whether id is the id of a token.
func (v *Vocab) Valid(id int32) bool { return uint32(id) < uint32(v.n) }

// BOS returns the beginning-of-text token, or None.
func (v *Vocab) BOS() int32 { return v.bos }

// EOS returns the end-of-text token, or None.
func (v *Vocab) EOS() int32 { return v.eos }

// IsEOG reports whether a generation ends with this token: end of text, turn or message.
func (v *Vocab) IsEOG(id int32) bool { return v.Valid(id) && v.attrs[id]&eogBit != 0 }

// Text returns a token's text as the vocabulary stores it, with U+2581 for spaces. The id must be valid.
func (v *Vocab) Text(id int32) string {
	i := 4 * int(id)
	return v.texts[u32(v.starts, i):u32(v.starts, i+4)]
}

// TypeOf returns a token's type. The id must be valid.
func (v *Vocab) TypeOf(id int32) Type { return Type(v.attrs[id] & typeMask) }

// score returns a token's score.
func (v *Vocab) score(id int32) float32 { return math.Float32frombits(u32(v.scores, 4*int(id))) }

// Lookup returns the token of any type with exactly this text, or None.
func (v *Vocab) Lookup(text string) int32 {
	for i := hash(v.seed, text) & v.mask; ; i = (i + 1) & v.mask {
		id := int32(u32(v.slots, 4*int(i))) - 1
		if id == None || v.Text(id) == text {
			return id
		}
	}
}

// byteToken returns the token that spells a byte, or the unknown token if there is none.
func (v *Vocab) byteToken(b byte) int32 {
	if id := int32(u32(v.bytes, 4*int(b))); id != None {
		return id
	}
	return v.unk
}
