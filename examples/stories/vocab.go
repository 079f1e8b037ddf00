package main

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token ids that every vocabulary of this tool has, in the order of
// SentencePiece's llama models: unknown, begin, end, then the 256 bytes.
const (
	unknownID   = 0
	beginID     = 1
	endID       = 2
	firstByteID = 3
	firstPiece  = firstByteID + 256
)

// Token types of GGUF's tokenizer.ggml.token_type.
const (
	typeNormal  = 1
	typeUnknown = 2
	typeControl = 3
	typeByte    = 6
)

const space = "▁" // U+2581, how SentencePiece writes a space

// Vocab is a SentencePiece vocabulary of the BPE kind. It encodes as llama.cpp's
// SPM tokenizer does: the adjacent pair whose union has the highest score is
// merged first, the leftmost of equals.
type Vocab struct {
	Pieces []string
	Scores []float32
	Types  []int32

	ids   map[string]int32
	words map[string][]int32 // what encodeWord found
}

// newVocab returns the vocabulary whose pieces after the bytes are given, best first.
func newVocab(pieces []string) *Vocab {
	v := &Vocab{ids: map[string]int32{}, words: map[string][]int32{}}
	v.add("<unk>", 0, typeUnknown)
	v.add("<s>", 0, typeControl)
	v.add("</s>", 0, typeControl)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), 0, typeByte)
	}
	for rank, piece := range pieces {
		v.ids[piece] = int32(len(v.Pieces))
		v.add(piece, -float32(rank), typeNormal)
	}
	return v
}

func (v *Vocab) add(piece string, score float32, kind int32) {
	v.Pieces = append(v.Pieces, piece)
	v.Scores = append(v.Scores, score)
	v.Types = append(v.Types, kind)
}

// Encode returns the ids of a text, with the begin token before them. A space
// is put before the text, as SentencePiece does.
func (v *Vocab) Encode(text string) []int32 {
	ids := []int32{beginID}
	if text == "" {
		return ids
	}
	for _, word := range splitWords(text) {
		ids = append(ids, v.encodeWord(word)...)
	}
	return ids
}

// splitWords cuts the text before every space: no piece has a space inside,
// so no merge crosses such a place and each word can be encoded by itself.
func splitWords(text string) []string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = space + word
	}
	return words
}

func (v *Vocab) encodeWord(word string) []int32 {
	if ids, ok := v.words[word]; ok {
		return ids
	}
	parts := strings.Split(word, "") // one per UTF-8 character
	for {
		best, score := -1, math.Inf(-1)
		for i := range len(parts) - 1 {
			id, ok := v.ids[parts[i]+parts[i+1]]
			if ok && float64(v.Scores[id]) > score {
				best, score = i, float64(v.Scores[id])
			}
		}
		if best < 0 {
			break
		}
		parts[best] += parts[best+1]
		parts = append(parts[:best+1], parts[best+2:]...)
	}
	var ids []int32
	for _, part := range parts {
		ids = v.appendPiece(ids, part)
	}
	v.words[word] = ids
	return ids
}

// appendPiece appends the id of a piece, or those of its bytes if it has none.
func (v *Vocab) appendPiece(ids []int32, piece string) []int32 {
	if id, ok := v.ids[piece]; ok {
		return append(ids, id)
	}
	for i := range len(piece) {
		ids = append(ids, firstByteID+int32(piece[i]))
	}
	return ids
}

// DecodeText is Decode for ids that begin a text. It removes the space that Encode has put
// there.
func (v *Vocab) DecodeText(ids []int32) string {
	return strings.TrimPrefix(v.Decode(ids), " ")
}

// Decode returns the text of the ids, without control tokens.
func (v *Vocab) Decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		switch v.Types[id] {
		case typeNormal:
			b.WriteString(v.Pieces[id])
		case typeByte:
			b.WriteByte(byte(id - firstByteID))
		}
	}
	return strings.ReplaceAll(b.String(), space, " ")
}

// mergeable reports whether a piece may be in the vocabulary: letters or
// punctuation, not both, with or without a space before them.
func mergeable(piece string) bool {
	piece = strings.TrimPrefix(piece, space)
	first, _ := utf8.DecodeRuneInString(piece)
	for _, r := range piece {
		if string(r) == space || unicode.IsLetter(r) != unicode.IsLetter(first) {
			return false
		}
	}
	return true
}
