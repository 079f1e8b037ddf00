package ir

import "github.com/ggmlc/ggmlc/ir/dtype"

// languageTop checks the parameters and results of the entry that returns the most probable tokens only.
func (v *verifier) languageTop(f *Func, e *TopEntry) {
	v.node = languageLine
	if e.Tokens >= 0 && e.Tokens < len(f.Params) {
		n := f.Params[e.Tokens].Type.Shape
		v.must(len(n) == 1 && n[0].Is(1), ruleLanguage, "top takes %s tokens: let it take one, as decode does", f.Params[e.Tokens].Type.data())
	}
	logits, ids := v.topResult(f, logitsRole, e.Logits, dtype.F32), v.topResult(f, idsRole, e.IDs, dtype.I32)
	largest := v.topResult(f, largestRole, e.Largest, dtype.F32)
	v.node = languageLine
	if logits == nil || ids == nil || largest == nil {
		return // reported
	}
	v.must(logits.Type.Inner().Equal(ids.Type.Inner()), ruleLanguage, "top returns %s logits and %s ids: let there be a logit for each id", logits.Type.data(), ids.Type.data())
	v.must(largest.Type.Inner().Is(1), ruleLanguage, "the largest logits are %s: they have to be f32[p,1]", largest.Type.data())
	v.must(logits.Type.Shape[0].Equal(ids.Type.Shape[0]) && largest.Type.Shape[0].Equal(ids.Type.Shape[0]), ruleLanguage,
		"top returns %s ids, %s logits and %s largest ones: let all have a row for each part of the vocabulary", ids.Type.data(), logits.Type.data(), largest.Type.data())
}

// topResult returns the result that has a role; nil if it is not rows of constant number and length and that type.
func (v *verifier) topResult(f *Func, role string, i int, d dtype.DType) *Value {
	v.node = languageLine
	if !v.must(i >= 0 && i < len(f.Results), ruleLanguage, "%s is result %d of %d: name a result by its number, from 0", role, i, len(f.Results)) {
		return nil
	}
	r := f.Results[i]
	v.node = r
	t := r.Type
	parts, k := int64(0), int64(0)
	if len(t.Shape) == 2 {
		parts, _ = t.Shape[0].IsConst()
		k, _ = t.Shape[1].IsConst()
	}
	if !v.must(t.DType == d && t.Layout == dtype.Plain && parts > 0 && k > 0, ruleLanguage,
		"%s is %s: it has to be %v[p,k], with constants of 1 or more", role, t.data(), d) {
		return nil
	}
	return r
}

// topWithin checks that the parts of top divide the vocabulary, and that each has as many tokens as it returns.
func (v *verifier) topWithin(logits []Dim, vocab int64) {
	parts, k := logits[0].Upper(), logits[1].Upper()
	v.must(vocab%parts == 0 && k <= vocab/parts, ruleLanguage, "top returns %d tokens for each of %d parts of a vocabulary of %d: let the parts be equal, and have as many tokens", k, parts, vocab)
}
