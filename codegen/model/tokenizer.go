package model

import "github.com/ggmlc/ggmlc/runtime/token"

//api:if tokenizer

// NoToken is the id of a token that the vocabulary does not have.
const NoToken int32 = -1

// Tokenizer makes token ids of texts, and texts of token ids. It may be used by several goroutines at once, also after
// the model was closed.
type Tokenizer struct{ v *token.Vocab }

// NewTokenizer returns the model's tokenizer without opening the model: it needs no weights.
func NewTokenizer() (*Tokenizer, error) {
	v, err := token.Load(program.Tokenizer)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{v}, nil
}

// Tokenizer returns the model's tokenizer.
func (m *Model) Tokenizer() *Tokenizer { return &Tokenizer{m.m.Vocab()} }

// EncodeOptions configure how a text is encoded. The zero options are for a text that begins a sequence, such as the
// first prompt of a session.
type EncodeOptions struct {
	// Bare adds no tokens before and after the text: for a text that continues a sequence.
	Bare bool

	// Special reads names of special tokens in the text, such as "</s>", as these tokens. Text of users must not be
	// able to do that.
	Special bool
}

// Encode returns the tokens of a text.
func (t *Tokenizer) Encode(text string, o EncodeOptions) []int32 {
	return t.v.Encode(nil, text, token.Options{Specials: !o.Bare, ParseSpecials: o.Special})
}

// Count returns how many tokens Encode makes of a text.
func (t *Tokenizer) Count(text string, o EncodeOptions) int { return len(t.Encode(text, o)) }

// Decode returns the text of tokens. Special tokens, and ids that are not in the vocabulary, add nothing to it. Tokens
// that end within a character give a text that is not valid UTF-8.
func (t *Tokenizer) Decode(ids []int32) string { return t.v.Decode(ids) }

// Size returns the number of tokens; their ids are 0 to Size-1.
func (t *Tokenizer) Size() int { return t.v.Size() }

// BOS returns the token that begins a text, or NoToken.
func (t *Tokenizer) BOS() int32 { return t.v.BOS() }

// EOS returns the token that ends a text, or NoToken.
func (t *Tokenizer) EOS() int32 { return t.v.EOS() }

// IsEnd reports whether generation ends with a token: EOS, or the end of a turn or a message.
func (t *Tokenizer) IsEnd(id int32) bool { return t.v.IsEOG(id) }

// IsSpecial reports whether a token is for control, or unknown, and adds nothing to a text.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return t.v.Valid(id) && (t.v.TypeOf(id) == token.Control || t.v.TypeOf(id) == token.Unknown)
}

// Specials returns the ids of all special tokens.
func (t *Tokenizer) Specials() (ids []int32) {
	for id := range int32(t.v.Size()) {
		if t.IsSpecial(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Name returns a token as the vocabulary spells it, such as "</s>"; "" for an id that is not in it.
func (t *Tokenizer) Name(id int32) string {
	if !t.v.Valid(id) {
		return ""
	}
	return t.v.Text(id)
}

// Lookup returns the token of a name, or NoToken.
func (t *Tokenizer) Lookup(name string) int32 { return t.v.Lookup(name) }

//api:end
