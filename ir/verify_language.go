package ir

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ruleLanguage is the rule of violations of a language model.
const ruleLanguage = "language"

// languageLine is the place of violations that concern no function.
const languageLine = "the line language"

// language checks that the entries of a language model have the form that the runtime expects: it
// writes their parameters and reads their logits without a look at the graph.
func (v *verifier) language() {
	lm := v.m.LM
	if lm == nil {
		return
	}
	before := len(v.found)
	v.f, v.node = nil, languageLine
	for _, e := range lm.entries() {
		v.languageEntry(e.name, e.entry)
	}
	v.embeddings(lm)
	v.jointRows(lm)
	if len(v.found) == before {
		v.sameVocab(lm)
	}
	if len(v.found) == before {
		v.languageUse(lm)
	}
	v.f, v.node = nil, nil
}

// languageEntry checks the roles of an entry against the types of the function.
func (v *verifier) languageEntry(name string, e *LanguageEntry) {
	f := v.m.Func(e.Func)
	if !v.must(f != nil, ruleLanguage, "%s is @%s, which the module does not have: name an entry point", name, quoteName(e.Func)) {
		return
	}
	v.f = f
	v.languageParams(f, e)
	if top := &v.m.LM.Top; e == &top.LanguageEntry {
		v.languageTop(f, top)
	} else {
		v.languageLogits(f, e)
	}
	v.f, v.node = nil, languageLine
}

// languageParams checks that each parameter has one role, and its type.
func (v *verifier) languageParams(f *Func, e *LanguageEntry) {
	taken := make([]string, len(f.Params))
	for role, at := range e.inputs() {
		name := inputRoles[role]
		v.node = languageLine
		switch i := *at; {
		case i == -1:
		case i < 0 || i >= len(f.Params):
			v.fail(ruleLanguage, "%s is parameter %d of %d: name a parameter", name, i, len(f.Params))
		case taken[i] != "":
			v.fail(ruleLanguage, "%v is both %s and %s: give each parameter one role", f.Params[i], taken[i], name)
		default:
			taken[i], v.node = name, f.Params[i]
			v.languageParam(role, e, f)
		}
	}
	v.node = languageLine
	v.must(e.Tokens >= 0, ruleLanguage, "no parameter has the role tokens: add tokens=%%NAME")
	for i, p := range f.Params {
		v.node = p
		v.must(taken[i] != "", ruleLanguage, "it has no role, and a step of a language model sets no other parameters: give it one in the line language, or remove it")
	}
}

// languageParam checks the type of the parameter that has a role.
func (v *verifier) languageParam(role int, e *LanguageEntry, f *Func) {
	p := f.Params[*e.inputs()[role]]
	if !v.must(p.Type.DType == dtype.I32 && p.Type.Layout == dtype.Plain && len(p.Type.Shape) == 1, ruleLanguage,
		"%s is %s: it has to be i32 with one dimension", inputRoles[role], p.Type.data()) {
		return
	}
	n := p.Type.Shape[0]
	switch {
	case role == roleLengths:
		want := v.m.Sequences()
		v.must(n.Is(max(1, want)), ruleLanguage, "lengths has %v elements, and the states have %d sequences: let it have one for each", n, want)
	case role == roleTokens:
		_, ok := stepSymbol(n)
		v.must(ok || n.Is(1), ruleLanguage, "tokens has %v elements: let it have 1, or a symbol of its own whose least value is 1", n)
	case e.Tokens >= 0 && e.Tokens < len(f.Params):
		tokens := f.Params[e.Tokens]
		v.must(tokens.Type.Inner().Equal(n), ruleLanguage, "%s has %v elements, and the tokens %v have %v: let it have as many", inputRoles[role], n, tokens, tokens.Type.Inner())
	}
}

// stepSymbol returns the symbol of an extent that may have any value from 1 to a bound; ok is false for
// other extents.
func stepSymbol(n Dim) (*Symbol, bool) {
	s, scale, offset, ok := n.Linear()
	return s, ok && s != nil && scale == 1 && offset == 0 && s.Min == 1
}

// languageLogits checks the result with the logits.
func (v *verifier) languageLogits(f *Func, e *LanguageEntry) {
	v.node = languageLine
	if !v.must(e.Logits >= 0 && e.Logits < len(f.Results), ruleLanguage, "%s is result %d of %d: name a result by its number, from 0", logitsRole, e.Logits, len(f.Results)) {
		return
	}
	r := f.Results[e.Logits]
	v.node = r
	t := r.Type
	if !v.must(t.DType == dtype.F32 && t.Layout == dtype.Plain && (len(t.Shape) == 1 || len(t.Shape) == 2), ruleLanguage,
		"logits is %s: it has to be f32 with a row of logits, or several", t.data()) {
		return
	}
	n, ok := t.Inner().IsConst()
	v.must(ok && n > 0, ruleLanguage, "a row of logits has %v elements: let it have one for each id of the vocabulary", t.Inner())
	if len(t.Shape) == 2 && !t.Shape[0].Is(1) && e.Tokens >= 0 && e.Tokens < len(f.Params) {
		tokens := f.Params[e.Tokens]
		v.must(t.Shape[0].Equal(tokens.Type.Inner()), ruleLanguage, "there are %v rows of logits for %v tokens: let there be 1, or one for each token", t.Shape[0], tokens.Type.Inner())
	}
}

// jointRows checks that the entry for several sequences distinguishes them: it takes the sequence and the position of
// each token, and returns a row of logits for each.
func (v *verifier) jointRows(lm *LanguageModel) {
	e, f := &lm.Joint, v.m.Func(lm.Joint.Func)
	if !lm.HasJoint() || f == nil {
		return
	}
	v.must(e.Slot >= 0 && e.Pos >= 0, ruleLanguage, "joint takes tokens of several sequences: give parameters of @%s the roles slot and pos", quoteName(e.Func))
	if e.Logits < 0 || e.Logits >= len(f.Results) || e.Tokens < 0 || e.Tokens >= len(f.Params) {
		return // reported with the roles
	}
	rows, tokens := f.Results[e.Logits].Type.Shape, f.Params[e.Tokens].Type
	v.must(len(rows) == 2 && len(tokens.Shape) == 1 && rows[0].Equal(tokens.Shape[0]), ruleLanguage,
		"joint returns %s for %s tokens: let it return a row of logits for each token", f.Results[e.Logits].Type.data(), tokens.data())
	if len(tokens.Shape) == 1 {
		most, want := tokens.Shape[0].Upper(), max(1, v.m.Sequences())
		v.must(most == want, ruleLanguage, "joint takes up to %d tokens, one of each sequence, and the states have %d sequences: let both be as many", most, want)
	}
}

// sameVocab checks that all entries have the same vocabulary, and the source of the tokenizer.
func (v *verifier) sameVocab(lm *LanguageModel) {
	row := func(e *LanguageEntry) Dim { return v.m.Func(e.Func).Results[e.Logits].Type.Inner() }
	for _, e := range lm.entries()[1:] {
		if e.entry == &lm.Top.LanguageEntry {
			v.topWithin(v.m.Func(e.entry.Func).Results[e.entry.Logits].Type.Shape, v.m.Vocab())
			continue
		}
		v.must(row(&lm.Prefill).Equal(row(e.entry)), ruleLanguage, "@%s has %v logits and @%s has %v: let both have one for each id of the vocabulary",
			quoteName(lm.Prefill.Func), row(&lm.Prefill), quoteName(e.entry.Func), row(e.entry))
	}
	declared := lm.Tokenizer == "" || slices.ContainsFunc(v.m.Sources, func(s *Source) bool { return s.Name == lm.Tokenizer })
	v.must(declared, ruleLanguage, "tokenizer=%s is no source of the module: name a source, or leave it out", quoteWord(lm.Tokenizer))
}
