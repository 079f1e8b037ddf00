package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Pooling is how the states of a text's tokens become one embedding, as the model was trained.
type Pooling int

// The kinds of pooling. The zero Pooling means that prefill returns no states.
const (
	NoEmbeddings Pooling = iota
	PoolNone             // not at all, or the model does not state it
	PoolMean             // the mean of all tokens
	PoolCLS              // the first token
	PoolLast             // the last token
	PoolRank             // scores that a classification head gives to the first token; only of encoders
)

// poolings are the names in the text form, which runtime.Pooling has too.
var poolings = [...]string{"", "none", "mean", "cls", "last", "rank"}

// String returns the name in the text form.
func (p Pooling) String() string {
	if p < 0 || int(p) >= len(poolings) {
		return fmt.Sprintf("Pooling(%d)", int(p))
	}
	return poolings[p]
}

// embeddingsText returns the key of embeddings in the line language; nothing without embeddings.
func (lm *LanguageModel) embeddingsText() string {
	if lm.Pooling == NoEmbeddings {
		return ""
	}
	return fmt.Sprintf(" embeddings=%v(hidden=%d)", lm.Pooling, lm.Hidden)
}

// embeddings reads the key of embeddings.
func (p *parser) embeddings(lm *LanguageModel) {
	lm.Pooling = p.pooling()
	p.expect("(")
	role := p.tok
	if name := p.ident("hidden"); !p.bad && name != "hidden" {
		p.errorAt(role, "%s where hidden is expected", role)
	}
	p.expect("=")
	lm.Hidden = p.natural()
	p.expect(")")
}

// pooling reads a kind of pooling.
func (p *parser) pooling() Pooling {
	at := p.tok
	name := p.ident("a kind of pooling")
	kind := Pooling(max(0, slices.Index(poolings[:], name)))
	if !p.bad && kind == NoEmbeddings {
		p.errorAt(at, "unknown pooling %s: the known kinds are %s", at, strings.Join(poolings[1:], ", "))
	}
	return kind
}

// embeddings checks the result of prefill with the states.
func (v *verifier) embeddings(lm *LanguageModel) {
	f, e := v.m.Func(lm.Prefill.Func), &lm.Prefill
	if lm.Pooling == NoEmbeddings || f == nil {
		return
	}
	v.f = f
	defer func() { v.f, v.node = nil, languageLine }()
	if !v.must(lm.Pooling.String() != "" && lm.Pooling <= PoolLast && lm.Pooling > 0, ruleLanguage, "%v is no kind of pooling", lm.Pooling) ||
		!v.must(lm.Hidden >= 0 && lm.Hidden < len(f.Results), ruleLanguage, "hidden is result %d of %d: name a result by its number, from 0", lm.Hidden, len(f.Results)) {
		return
	}
	r := f.Results[lm.Hidden]
	v.node = r
	t := r.Type
	if !v.must(t.DType == dtype.F32 && t.Layout == dtype.Plain && len(t.Shape) == 2, ruleLanguage, "hidden is %s: it has to be f32 with a row for each token", t.data()) {
		return
	}
	n, ok := t.Inner().IsConst()
	v.must(ok && n > 0, ruleLanguage, "a row of hidden has %v elements: let their number be constant", t.Inner())
	if e.Tokens >= 0 && e.Tokens < len(f.Params) {
		tokens := f.Params[e.Tokens].Type
		v.must(t.Shape[0].Equal(tokens.Inner()), ruleLanguage, "there are %v rows of hidden for %v tokens: let there be one for each token", t.Shape[0], tokens.Inner())
	}
}
