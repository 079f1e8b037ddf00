package token

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The table, all little-endian, every part at a multiple of 4 bytes:
//
//	 0  "GGT1"
//	 4  u32 algorithm: 1 is SPM
//	 8  u32 n, the number of tokens
//	12  u32 flags: 1 add BOS, 2 add EOS, 4 add a space before text
//	16  i32 BOS, EOS, unknown; -1 means none
//	28  u32 seed of the hash
//	32  u32 h, the number of hash slots: a power of two, more than n
//	36  u32 t, the bytes of all texts
//	40  u32 x (n+1)  where each text begins; the last entry is t
//	    f32 x n      scores
//	    u32 x h      hash slots: id+1, 0 if empty; collisions go to the next slot
//	    i32 x 256    byte tokens, -1 for none
//	    u8 x n       type, and eogBit for those that end a generation
//	    u8 x t       texts
const (
	tableMagic  = "GGT1"
	headerBytes = 40
	algorithm   = 1

	flagAddBOS   = 1
	flagAddEOS   = 2
	flagAddSpace = 4

	typeMask = 0x0f
	eogBit   = 0x80
)

// None represents a special token that the vocabulary does not have.
const None int32 = -1

// MaxTokenBytes is the longest text of a token. Real ones have some hundred bytes at most. The bound prevents a
// damaged vocabulary from making every merge compare megabytes.
const MaxTokenBytes = 1 << 16

// Type is the purpose of a token (enum llama_token_type in llama.h).
type Type uint8

// The token types.
const (
	Undefined   Type = iota // treated as Normal
	Normal                  // a piece of text
	Unknown                 // for text that has no token; never matched, prints nothing
	Control                 // matched only if special tokens are parsed; prints nothing
	UserDefined             // matched as a whole before everything else
	Unused
	Byte // a single byte, written <0xNN>
	numTypes
)

// Table is a vocabulary in the form that the compiler builds.
type Table struct {
	Tokens []string  // the texts, all different except for empty ones
	Scores []float32 // as many; a higher score is joined first
	Types  []Type    // as many

	BOS, EOS, UNK  int32   // ids or None
	EOG            []int32 // ids that end a generation
	AddBOS, AddEOS bool    // whether Encode adds them
	AddSpace       bool    // whether a space is put before text
}

// Encode encodes the table. It refuses tables that Load would refuse, and vocabularies with equal texts.
func (t *Table) Encode() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	seed, slots, err := t.hashTable()
	if err != nil {
		return nil, err
	}
	n := len(t.Tokens)
	b := make([]byte, 0, 2048+(4+4+1)*n+4*len(slots)+t.textBytes())
	b = binary.LittleEndian.AppendUint32(append(b, tableMagic...), algorithm)
	b = appendInts(b, int32(len(t.Tokens)), t.flags(), t.BOS, t.EOS, t.UNK, int32(seed), int32(len(slots)), int32(t.textBytes()))
	end := int32(0)
	for _, s := range t.Tokens {
		b = appendInts(b, end)
		end += int32(len(s))
	}
	b = appendInts(b, end)
	for _, s := range t.Scores {
		b = appendInts(b, int32(math.Float32bits(s)))
	}
	b = appendInts(b, slots...)
	b = appendInts(b, t.byteTokens()...)
	b = append(b, t.attributes()...)
	for _, s := range t.Tokens {
		b = append(b, s...)
	}
	return b, nil
}

// Check returns the error that Encode would return, without encoding.
func (t *Table) Check() error {
	if err := t.check(); err != nil {
		return err
	}
	_, _, err := t.hashTable()
	return err
}

// appendInts appends numbers as 32 bits each.
func appendInts(b []byte, v ...int32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

// check reports all faults of the table's fields.
func (t *Table) check() error {
	var errs []error
	n := len(t.Tokens)
	if n == 0 || n >= 1<<28 {
		errs = append(errs, fmt.Errorf("%d tokens, where 1 to 2^28 are possible", n))
	}
	if len(t.Scores) != n || len(t.Types) != n {
		errs = append(errs, fmt.Errorf("%d tokens, but %d scores and %d types", n, len(t.Scores), len(t.Types)))
		return errors.Join(errs...)
	}
	for _, id := range append([]int32{t.BOS, t.EOS, t.UNK}, t.EOG...) {
		if id != None && uint32(id) >= uint32(n) {
			errs = append(errs, fmt.Errorf("special token %d is not among the %d tokens", id, n))
		}
	}
	if t.AddBOS && t.BOS == None || t.AddEOS && t.EOS == None {
		errs = append(errs, errors.New("a token is to be added that the vocabulary lacks"))
	}
	if t.textBytes() > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("%d bytes of text", t.textBytes()))
	}
	return errors.Join(append(errs, t.checkTokens()...)...)
}

// checkTokens checks the tokens one by one. It reports the first fault of each kind.
func (t *Table) checkTokens() []error {
	for id, s := range t.Tokens {
		switch {
		case len(s) > MaxTokenBytes:
			return []error{fmt.Errorf("token %d is %d bytes long, at most %d are possible", id, len(s), MaxTokenBytes)}
		case t.Scores[id] != t.Scores[id]:
			return []error{fmt.Errorf("the score of token %d is not a number", id)}
		case t.Types[id] >= numTypes:
			return []error{fmt.Errorf("token %d has the unknown type %d", id, t.Types[id])}
		}
	}
	return nil
}

// textBytes returns the sum of the lengths of all texts.
func (t *Table) textBytes() int {
	n := 0
	for _, s := range t.Tokens {
		n += len(s)
	}
	return n
}

// flags returns the flags of the header.
func (t *Table) flags() int32 {
	f := int32(0)
	if t.AddBOS {
		f |= flagAddBOS
	}
	if t.AddEOS {
		f |= flagAddEOS
	}
	if t.AddSpace {
		f |= flagAddSpace
	}
	return f
}

// attributes returns the bytes that hold types and eogBit.
func (t *Table) attributes() []byte {
	b := make([]byte, len(t.Types))
	for id, typ := range t.Types {
		b[id] = byte(typ)
	}
	for _, id := range t.EOG {
		if id != None {
			b[id] |= eogBit
		}
	}
	return b
}

// byteTokens returns the token of each byte: <0xNN>, or else the token whose text is only that byte, as llama.cpp's
// byte_to_token does.
func (t *Table) byteTokens() []int32 {
	ids := make([]int32, 256)
	for i := range ids {
		ids[i] = None
	}
	for id, s := range t.Tokens {
		if len(s) == 1 && t.Types[id] != Byte && ids[s[0]] == None {
			ids[s[0]] = int32(id)
		}
	}
	for id, s := range t.Tokens {
		if v, ok := ParseByte(s); ok && t.Types[id] == Byte {
			ids[v] = int32(id)
		}
	}
	return ids
}

// ParseByte returns the byte that a text such as "<0x0A>" represents.
func ParseByte(s string) (byte, bool) {
	if len(s) != 6 || s[:3] != "<0x" || s[5] != '>' {
		return 0, false
	}
	hi, lo := hexDigit(s[3]), hexDigit(s[4])
	return byte(hi<<4 | lo), hi|lo >= 0
}

// hexDigit returns the value of a digit, or -1 for any other character.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// maxProbes is the most slots that a search may visit.
const maxProbes = 64

// hashTable builds a hash table with twice as many slots as there are tokens. If a seed leads to long runs of full
// slots, it tries the next one. That hardly ever happens by chance, but can be provoked.
func (t *Table) hashTable() (seed uint32, slots []int32, err error) {
	size := 4
	for size < 2*len(t.Tokens) {
		size *= 2
	}
	for seed := range uint32(16) {
		slots, err := t.fillSlots(seed, size)
		if err != errLongRun {
			return seed, slots, err
		}
	}
	return 0, nil, errLongRun
}

var errLongRun = errors.New("the tokens' texts collide in every hash: the vocabulary is not a natural one")

// fillSlots enters all tokens except empty ones.
func (t *Table) fillSlots(seed uint32, size int) ([]int32, error) {
	slots := make([]int32, size)
	for id, s := range t.Tokens {
		if s == "" {
			continue
		}
		i, probes := hash(seed, s)&uint32(size-1), 0
		for ; slots[i] != 0; i = (i + 1) & uint32(size-1) {
			if t.Tokens[slots[i]-1] == s {
				return nil, fmt.Errorf("tokens %d and %d have the same text %q", slots[i]-1, id, s)
			}
			if probes++; probes > maxProbes {
				return nil, errLongRun
			}
		}
		slots[i] = int32(id) + 1
	}
	return slots, nil
}

// hash is FNV-1a of 32 bits with a seed, followed by a mixing step because only the low bits are used.
func hash(seed uint32, s string) uint32 {
	h := 2166136261 ^ seed*0x9e3779b9
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h ^ h>>15
}
