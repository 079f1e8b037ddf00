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
	v.must(largest.Type.Inner().Is(1), ruleLanguage, "the largest logit is %s: it has to be f32[1,1]", largest.Type.data())
}

// topResult returns the result that has a role; nil if it is not a row of constant length and that type.
func (v *verifier) topResult(f *Func, role string, i int, d dtype.DType) *Value {
	v.node = languageLine
	if !v.must(i >= 0 && i < len(f.Results), ruleLanguage, "%s is result %d of %d: name a result by its number, from 0", role, i, len(f.Results)) {
		return nil
	}
	r := f.Results[i]
	v.node = r
	t := r.Type
	n := Dim{}
	if len(t.Shape) == 2 {
		n = t.Inner()
	}
	k, constant := n.IsConst()
	if !v.must(t.DType == d && t.Layout == dtype.Plain && len(t.Shape) == 2 && t.Shape[0].Is(1) && constant && k > 0, ruleLanguage,
		"%s is %s: it has to be %v[1,k], with k of 1 or more", role, t.data(), d) {
		return nil
	}
	return r
}

// topWithin checks that the tokens of top are not more than the vocabulary has.
func (v *verifier) topWithin(k, vocab Dim) {
	v.must(k.Upper() <= vocab.Upper(), ruleLanguage, "top returns %v tokens of a vocabulary of %v: let it return as many at most", k, vocab)
}
