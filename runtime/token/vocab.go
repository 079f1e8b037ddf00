package token

import (
	"errors"
	"fmt"
	"math"
)

// Vocab is a loaded vocabulary. It does not change and may be used by several goroutines.
type Vocab struct {
	starts     string // u32 x (m+1)
	scores     string // f32 x n, or nothing
	slots      string // u32 x h
	bytes      string // i32 x 256
	merges     string // u32 x 3r
	mergeSlots string // u32 x q
	attrs      string // u8 x n
	texts      string
	prefixes   prefixes // WPM, UGM, RWKV and PLaMo
	charsmap   charsmap // UGM
	pair       string   // template of EncodePair, or nothing
	dna        dna      // BPE with sequences of bases

	algorithm            Algorithm
	n                    int
	seed, mask           uint32
	mergeSeed, mergeMask uint32
	bos, eos, unk, sep   int32
	unknownScore         float32
	bases                map[rune]rune // WPM that strips accents: the characters without them
	flags                uint32
	steps                []step
	special              special
}

// Load returns the vocabulary of a table written by Table.Encode. The table is not copied. It is a string, because
// embedded files that are strings are in read-only memory.
func Load(table string) (*Vocab, error) {
	if len(table) < headerBytes || table[:4] != tableMagic || !Algorithm(u32(table, 4)).known() {
		return nil, errors.New("token: not a vocabulary table of this version: compile the model again")
	}
	v := &Vocab{
		algorithm: Algorithm(u32(table, 4)), n: int(u32(table, 8)), flags: u32(table, 12), seed: u32(table, 28),
		bos: int32(u32(table, 16)), eos: int32(u32(table, 20)), unk: int32(u32(table, 24)), mergeSeed: u32(table, 56),
		mask: u32(table, 32) - 1, mergeMask: u32(table, 60) - 1,
		unknownScore: math.Float32frombits(u32(table, 72)), sep: int32(u32(table, 76)),
	}
	if err := v.cutParts(table); err != nil {
		return nil, err
	}
	if what := v.check(u32(table, 48)); what != "" {
		return nil, fmt.Errorf("token: damaged table: %s: compile the model again", what)
	}
	v.steps = splits[u32(table, 48)]
	v.special = newSpecial(v)
	if !v.special.tokens.sorted(v) {
		return nil, errors.New("token: damaged table: two special tokens with one text: compile the model again")
	}
	if v.flags&flagDNA != 0 {
		var ok bool
		if v.dna, ok = newDNA(v); !ok {
			v.flags &^= flagDNA
		}
	}
	if v.flags&flagStripAccents != 0 {
		v.bases = accentBases()
	}
	return v, nil
}

// known reports whether this version of the package has the algorithm.
func (a Algorithm) known() bool { return a >= SPM && a < numAlgorithms }

// cutParts sets the strings of v to parts of the table.
func (v *Vocab) cutParts(table string) error {
	m, scores, merges := uint64(u32(table, 40)), uint64(u32(table, 44)), uint64(u32(table, 52))
	var order, chars string
	parts := []struct {
		dst *string
		n   uint64
	}{
		{&v.starts, 4 * (m + 1)}, {&v.scores, 4 * scores}, {&v.slots, 4 * uint64(u32(table, 32))}, {&v.bytes, 4 * 256},
		{&v.merges, 12 * merges}, {&v.mergeSlots, 4 * uint64(u32(table, 60))}, {&order, 4 * uint64(u32(table, 64))},
		{&v.attrs, uint64(v.n)}, {&v.texts, uint64(u32(table, 36))}, {&chars, uint64(u32(table, 68))},
	}
	want := uint64(headerBytes)
	for _, part := range parts {
		want += part.n
	}
	if v.flags&flagPairText != 0 && want < uint64(len(table)) {
		v.pair, table = table[want:], table[:want]
	}
	if uint64(len(table)) != want {
		return fmt.Errorf("token: a table of %d bytes declares %d: compile the model again", len(table), want)
	}
	rest := table[headerBytes:]
	for _, part := range parts {
		*part.dst, rest = rest[:part.n], rest[part.n:]
	}
	v.prefixes, v.charsmap = prefixes(order), charsmap(chars)
	return nil
}

// numTexts returns the number of texts: of tokens and of merges.
func (v *Vocab) numTexts() int { return len(v.starts)/4 - 1 }

// check returns the fault that would lead a later look-up out of bounds or into an endless loop, or "".
func (v *Vocab) check(split uint32) string {
	switch {
	case v.n == 0 || v.numTexts() < v.n || !v.startsRise():
		return "texts out of order or missing"
	case v.flags&flagPairText != 0 && ValidPair(v.pair) != nil:
		return "a template for ranks without places"
	case split >= uint32(numSplits):
		return "an unknown split"
	case len(v.scores) != 0 && len(v.scores) != 4*v.n, len(v.scores) == 0 && v.algorithm.scored():
		return "scores missing"
	case !v.idOrNone(v.bos) || !v.idOrNone(v.eos) || !v.idOrNone(v.unk) || !v.idOrNone(v.sep):
		return "a special token that there is not"
	case v.flags&flagAddBOS != 0 && v.bos == None || v.flags&flagAddEOS != 0 && v.eos == None, v.flags&flagAddSEP != 0 && v.sep == None,
		v.flags&flagPairSEP != 0 && v.sep == None, v.flags&flagPairEOS != 0 && v.eos == None && v.sep == None,
		v.unk == None && (v.algorithm == WPM || v.algorithm == UGM):
		return "a token to be added that there is not"
	}
	for i := 0; i < len(v.bytes); i += 4 {
		if !v.idOrNone(int32(u32(v.bytes, i))) {
			return "a byte token that there is not"
		}
	}
	if !validSlots(v.slots, v.numTexts()) {
		return "a hash table of a wrong size, without an empty slot or with a token that there is not"
	}
	if !v.prefixes.sorted(v) {
		return "tokens out of order"
	}
	return v.checkMerges()
}

// startsRise reports whether the texts follow each other and end at the end.
func (v *Vocab) startsRise() bool {
	end := uint32(0)
	for i := 0; i < len(v.starts); i += 4 {
		s := u32(v.starts, i)
		if s < end || s > uint32(len(v.texts)) {
			return false
		}
		end = s
	}
	return end == uint32(len(v.texts))
}

// checkMerges checks that merges are of texts that there are.
func (v *Vocab) checkMerges() string {
	for i := 0; i < len(v.merges); i += 4 {
		if u32(v.merges, i) >= uint32(v.numTexts()) {
			return "a merge of a text that there is not"
		}
	}
	if v.merges != "" && !validSlots(v.mergeSlots, len(v.merges)/12) {
		return "a hash table of merges of a wrong size, without an empty slot or with a merge that there is not"
	}
	return ""
}

// validSlots reports whether a hash table has an empty slot, at which searches end, and only entries below n.
func validSlots(slots string, n int) bool {
	size := len(slots) / 4
	if size == 0 || size&(size-1) != 0 {
		return false
	}
	empty := false
	for i := 0; i < len(slots); i += 4 {
		entry := u32(slots, i)
		if entry > uint32(n) {
			return false
		}
		empty = empty || entry == 0
	}
	return empty
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

// AddsBOS reports whether the vocabulary wants the beginning-of-text token before each text.
func (v *Vocab) AddsBOS() bool { return v.flags&flagAddBOS != 0 }

// EOS returns the end-of-text token, or None.
func (v *Vocab) EOS() int32 { return v.eos }

// IsEOG reports whether a generation ends with this token: end of text, turn or message.
func (v *Vocab) IsEOG(id int32) bool { return v.Valid(id) && v.attrs[id]&eogBit != 0 }

// HasText reports whether a token has a text, which a control token does not show.
func (v *Vocab) HasText(id int32) bool { return v.TypeOf(id) != Unused && v.Text(id) != "" }

// Single returns the token that a text is as a whole, special tokens included; ok is false if it is several or none.
func (v *Vocab) Single(text string) (id int32, ok bool) {
	ids := v.Encode(nil, text, Options{ParseSpecials: true})
	if len(ids) != 1 {
		return None, false
	}
	return ids[0], true
}

// Suppressed returns the tokens that no text is generated with, such as those that stand for images.
func (v *Vocab) Suppressed() []int32 {
	var ids []int32
	for id := range v.n {
		if v.attrs[id]&suppressedBit != 0 {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

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
	if id := v.piece(text); v.Valid(id) {
		return id
	}
	return None
}

// byteToken returns the token that spells a byte, or the unknown token if there is none.
func (v *Vocab) byteToken(b byte) int32 {
	if id := int32(u32(v.bytes, 4*int(b))); id != None {
		return id
	}
	return v.unk
}
