package token

import (
	"encoding/binary"
	"math"
	"strings"
)

// The table, all little-endian:
//
//	 0  "GGT2"
//	 4  u32 algorithm
//	 8  u32 n, the number of tokens
//	12  u32 flags
//	16  i32 BOS, EOS, unknown; -1 means none
//	28  u32 seed of the hash
//	32  u32 h, the number of hash slots: a power of two, more than m
//	36  u32 t, the bytes of all texts
//	40  u32 m, the number of texts: those of the tokens, and other texts in merges
//	44  u32 c, the number of scores: n or 0
//	48  u32 split
//	52  u32 r, the number of merges
//	56  u32 seed of the hash of merges
//	60  u32 q, the number of its slots: a power of two, more than r, or 0 if r is 0
//	64  u32 p, the number of tokens in order
//	68  u32 d, the bytes of the map of characters
//	72  f32 score of unknown characters
//	76  i32 separator, or -1
//	80  u32 x (m+1)  where each text begins; the last entry is t
//	    f32 x c      scores
//	    u32 x h      hash slots: index of a text+1, 0 if empty; collisions go to the next slot
//	    i32 x 256    byte tokens, -1 for none
//	    u32 x 3r     merges by rank: left, right and joined text
//	    u32 x q      hash slots of merges: rank+1, 0 if empty
//	    u32 x p      tokens in the order of their texts
//	    u8 x n       type, and the bits below
//	    u8 x t       texts
//	    u8 x d       map of characters
//	    u8 x rest    template of query and document, if the flag is set
const (
	tableMagic  = "GGT2"
	headerBytes = 80

	flagAddBOS       = 1 << 0
	flagAddEOS       = 1 << 1
	flagAddSpace     = 1 << 2 // a space before text
	flagEscape       = 1 << 3 // BPE: U+2581 for spaces
	flagRaw          = 1 << 4 // BPE: tokens are text, not spelled bytes
	flagIgnoreMerges = 1 << 5
	flagNewlines     = 1 << 6 // BPE: a word of newlines is looked up before merges
	flagAddSEP       = 1 << 7
	flagLower        = 1 << 8  // WPM and BPE: text becomes lower case
	flagStripAccents = 1 << 9  // WPM
	flagMergeSpaces  = 1 << 10 // UGM: several spaces are one, and none begins or ends a text
	flagDropBlanks   = 1 << 11 // BPE: words of white space have no tokens
	flagPairEOS      = 1 << 12 // EncodePair ends both texts, though Encode ends none
	flagPairSEP      = 1 << 13 // EncodePair puts the separator between them
	flagPairText     = 1 << 14 // EncodePair fills a template
	flagDNA          = 1 << 15 // BPE: sequences of bases have tokens of their own

	typeMask      = 0x0f
	suppressedBit = 0x10
	stripLeftBit  = 0x20
	stripRightBit = 0x40
	eogBit        = 0x80
)

// Algorithm is a way to turn text into tokens.
type Algorithm uint32

// The algorithms.
const (
	SPM   Algorithm = iota + 1 // SentencePiece's BPE with scores
	BPE                        // byte-level BPE with merges
	WPM                        // WordPiece
	UGM                        // SentencePiece's unigram models with scores
	RWKV                       // RWKV World's longest tokens, of any bytes
	PLaMo                      // PLaMo-2's unigram models with scores
	numAlgorithms
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
	Algorithm Algorithm // 0 is SPM

	Tokens []string  // the texts, all different except for empty ones
	Scores []float32 // SPM, UGM and PLaMo: as many; a higher score is preferred
	Types  []Type    // as many

	BOS, EOS, UNK int32   // ids or None
	SEP           int32   // id or None; only used with AddSEP, PairEOS and PairSEP
	AddSEP        bool    // whether Encode adds it at the end
	EOG           []int32 // ids that end a generation
	Suppressed    []int32 // ids that no text is generated with

	StripLeft, StripRight []int32 // special tokens to which the white space before or after them belongs

	AddBOS, AddEOS bool   // whether Encode adds them
	PairEOS        bool   // whether EncodePair ends both texts with EOS, or else SEP, even without AddEOS
	PairSEP        bool   // whether EncodePair puts SEP between both texts
	Pair           string // what EncodePair encodes in place of that: a text with {query} and {document}, or nothing
	AddSpace       bool   // whether a space is put before text

	Lower        bool   // WPM and BPE: text becomes lower case
	StripAccents bool   // WPM: text loses its accents
	MergeSpaces  bool   // UGM: several spaces are one, and none begins or ends a text
	Charsmap     string // UGM: SentencePiece's map of characters, or nothing

	// The rest is for BPE.

	Split        Split
	Merges       []string // two texts with a space between them each; the first is made first
	Raw          bool     // tokens are UTF-8 and bytes are <0xNN>; otherwise each byte is spelled as a character
	Escape       bool     // spaces are U+2581
	IgnoreMerges bool     // a word that is a token becomes it, whatever the merges
	DropBlanks   bool     // words of white space have no tokens
	Newlines     bool     // a word of newlines that is a token becomes it
	DNA          bool     // each six bases between <dna> and </dna> become a token, if the vocabulary has these and <oov>
}

// cutMerge returns the two texts of a merge: what is before and after the first space, but the first byte may itself be
// a space.
func cutMerge(merge string) (left, right string, ok bool) {
	if merge == "" {
		return "", "", false
	}
	at := strings.IndexByte(merge[1:], ' ') + 1
	if at == 0 || at+1 == len(merge) {
		return "", "", false
	}
	return merge[:at], merge[at+1:], true
}

// ValidMerge reports whether a text is a merge: two texts with a space between them.
func ValidMerge(merge string) bool {
	_, _, ok := cutMerge(merge)
	return ok && len(merge) <= MaxTokenBytes
}

// Encode encodes the table. It refuses tables that Load would refuse, and vocabularies with equal texts.
func (t *Table) Encode() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	texts, merges, err := t.allTexts()
	if err != nil {
		return nil, err
	}
	seed, slots, err := hashTexts(texts)
	if err != nil {
		return nil, err
	}
	mergeSeed, mergeSlots, err := hashMerges(merges)
	if err != nil {
		return nil, err
	}
	n, total, order := len(t.Tokens), totalBytes(texts), t.order()
	b := make([]byte, 0, 2048+9*n+4*(len(texts)+len(slots)+len(merges)+len(mergeSlots))+len(order)+total+len(t.Charsmap))
	b = binary.LittleEndian.AppendUint32(append(b, tableMagic...), uint32(t.algorithm()))
	b = appendInts(b, int32(n), t.flags(), t.BOS, t.EOS, t.UNK, int32(seed), int32(len(slots)), int32(total))
	b = appendInts(b, int32(len(texts)), int32(len(t.Scores)), int32(t.Split), int32(len(merges)/3), int32(mergeSeed), int32(len(mergeSlots)))
	b = appendInts(b, int32(len(order)/4), int32(len(t.Charsmap)), int32(math.Float32bits(t.unknownScore())), t.sep())
	b = appendStarts(b, texts)
	for _, s := range t.Scores {
		b = appendInts(b, int32(math.Float32bits(s)))
	}
	b = appendInts(b, slots...)
	b = appendInts(b, t.byteTokens()...)
	b = appendInts(b, merges...)
	b = appendInts(b, mergeSlots...)
	b = append(append(b, order...), t.attributes()...)
	for _, s := range texts {
		b = append(b, s...)
	}
	return append(append(b, t.Charsmap...), t.Pair...), nil
}

// order returns the tokens in order that WPM, UGM, RWKV and PLaMo search for in text.
func (t *Table) order() prefixes {
	switch t.algorithm() {
	case WPM:
		return newPrefixes(t.Tokens, func(id int32) bool { return t.Types[id] != Control && t.Types[id] != Unknown })
	case UGM:
		return newPrefixes(t.Tokens, func(id int32) bool {
			return t.Types[id] == Normal || t.Types[id] == UserDefined || t.Types[id] == Unused
		})
	case RWKV:
		return newPrefixes(t.Tokens, func(int32) bool { return true })
	case PLaMo:
		return newPrefixes(t.Tokens, func(id int32) bool { return t.Types[id] != Byte })
	}
	return ""
}

// unknownScore returns the score of a character without a token: less than that of any token, as in SentencePiece
// (unigram_model.cc, kUnkPenalty).
func (t *Table) unknownScore() float32 {
	const penalty = 10
	if t.algorithm() != UGM {
		return 0
	}
	lowest := float32(math.MaxFloat32)
	for id, score := range t.Scores {
		if t.Types[id] == Normal {
			lowest = min(lowest, score)
		}
	}
	return lowest - penalty
}

// sep returns the separator where Encode or EncodePair adds it.
func (t *Table) sep() int32 {
	if t.AddSEP || t.PairSEP || t.PairEOS {
		return t.SEP
	}
	return None
}

// algorithm returns the algorithm; the zero value is SPM.
func (t *Table) algorithm() Algorithm { return max(t.Algorithm, SPM) }

// allTexts returns the tokens and the other texts in merges, and the merges as triples of indexes of texts: left,
// right, joined.
func (t *Table) allTexts() (texts []string, merges []int32, err error) {
	if len(t.Merges) == 0 {
		return t.Tokens, nil, nil
	}
	seed, slots, err := hashTexts(t.Tokens)
	if err != nil {
		return nil, nil, err
	}
	texts = t.Tokens[:len(t.Tokens):len(t.Tokens)]
	others := make(map[string]int32) // most vocabularies have none
	index := func(left, right string) int32 {
		if id := find(t.Tokens, seed, slots, left, right); id != None {
			return id
		}
		id, ok := others[left+right]
		if !ok {
			id = int32(len(texts))
			texts = append(texts, left+right)
			others[texts[id]] = id
		}
		return id
	}
	merges = make([]int32, 0, 3*len(t.Merges))
	for _, m := range t.Merges {
		left, right, _ := cutMerge(m)
		merges = append(merges, index(left, ""), index(right, ""), index(left, right))
	}
	return texts, merges, nil
}

// appendStarts appends where each text begins, and where the last one ends.
func appendStarts(b []byte, texts []string) []byte {
	end := int32(0)
	for _, s := range texts {
		b = appendInts(b, end)
		end += int32(len(s))
	}
	return appendInts(b, end)
}

// appendInts appends numbers as 32 bits each.
func appendInts(b []byte, v ...int32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

// flags returns the flags of the header.
func (t *Table) flags() int32 {
	f := int32(0)
	for _, b := range []struct {
		set  bool
		flag int32
	}{
		{t.AddBOS, flagAddBOS}, {t.AddEOS, flagAddEOS}, {t.AddSpace, flagAddSpace}, {t.Escape, flagEscape},
		{t.Raw, flagRaw}, {t.IgnoreMerges, flagIgnoreMerges}, {t.Newlines, flagNewlines}, {t.DropBlanks, flagDropBlanks}, {t.AddSEP, flagAddSEP},
		{t.Lower, flagLower}, {t.StripAccents, flagStripAccents}, {t.MergeSpaces, flagMergeSpaces}, {t.PairEOS, flagPairEOS}, {t.PairSEP, flagPairSEP}, {t.Pair != "", flagPairText},
		{t.DNA, flagDNA},
	} {
		if b.set {
			f |= b.flag
		}
	}
	return f
}

// attributes returns the bytes that hold types and bits.
func (t *Table) attributes() []byte {
	b := make([]byte, len(t.Types))
	for id, typ := range t.Types {
		b[id] = byte(typ)
	}
	setBit(b, t.EOG, eogBit)
	setBit(b, t.Suppressed, suppressedBit)
	setBit(b, t.StripLeft, stripLeftBit)
	setBit(b, t.StripRight, stripRightBit)
	return b
}

// setBit sets a bit of some tokens.
func setBit(attributes []byte, ids []int32, bit byte) {
	for _, id := range ids {
		if id != None {
			attributes[id] |= bit
		}
	}
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
