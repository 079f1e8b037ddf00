package ir

import (
	"fmt"
	"slices"
	"strings"
)

// The line "language" of the text form, which declares how the module generates tokens.

// text returns the language model of m in the text form.
func (lm *LanguageModel) text(m *Module) string {
	text := "language"
	for _, e := range lm.entries() {
		var more []string
		if e.entry == &lm.Top.LanguageEntry {
			more = []string{fmt.Sprintf("%s=%d", idsRole, lm.Top.IDs), fmt.Sprintf("%s=%d", largestRole, lm.Top.Largest)}
		}
		text += " " + e.name + "=" + e.entry.text(m.Func(e.entry.Func), more)
	}
	text += lm.embeddingsText()
	if lm.Tokenizer != "" {
		text += " tokenizer=" + quoteWord(lm.Tokenizer)
	}
	return text
}

// text returns the entry in the text form, with more roles at the end; f is its function, or nil.
func (e *LanguageEntry) text(f *Func, more []string) string {
	var roles []string
	for role, at := range e.inputs() {
		if *at == -1 {
			continue
		}
		name := "_"
		if f != nil && *at >= 0 && *at < len(f.Params) {
			name = valueName(f.Params[*at])
		}
		roles = append(roles, inputRoles[role]+"="+name)
	}
	if e.Logits != -1 {
		roles = append(roles, fmt.Sprintf("%s=%d", logitsRole, e.Logits))
	}
	return "@" + quoteName(e.Func) + "(" + strings.Join(append(roles, more...), ", ") + ")"
}

// roleText is a role as read: that of a parameter, or the function of an entry. It is resolved once all
// functions have been read.
type roleText struct {
	at    token
	fn    *string // the name of the function
	index *int    // set to the index of the parameter; nil for the function
	param string  // the name of the parameter
}

// language reads the line language.
func (p *parser) language() {
	if p.m.LM != nil {
		p.errorf("there is a language model already: a module has one line language")
		return
	}
	lm := &LanguageModel{Prefill: NewLanguageEntry(""), Decode: NewLanguageEntry("")}
	p.m.LM = lm
	once := p.once()
	p.keys(map[string]func(){
		"prefill":    func() { once("prefill"); p.languageEntry(&lm.Prefill, nil) },
		"decode":     func() { once("decode"); p.languageEntry(&lm.Decode, nil) },
		"embeddings": func() { once("embeddings"); p.embeddings(lm) },
		"joint":      func() { once("joint"); lm.Joint = NewLanguageEntry(""); p.languageEntry(&lm.Joint, nil) },
		"top":        func() { once("top"); lm.Top = NewTopEntry(""); p.languageEntry(&lm.Top.LanguageEntry, &lm.Top) },
		"tokenizer":  func() { once("tokenizer"); lm.Tokenizer = p.word("the name of a source") },
	})
	for _, e := range lm.entries() {
		if !p.bad && e.entry.Func == "" {
			p.errorf("%s where %s=@FUNCTION(…) is expected: a language model has an entry point for each of prefill and decode", p.tok, e.name)
		}
	}
}

// once returns a function that reports a key that occurs twice.
func (p *parser) once() func(key string) {
	seen := make(map[string]bool)
	return func(key string) {
		if seen[key] {
			p.errorf("%s is given twice", key)
		}
		seen[key] = true
	}
}

// languageEntry reads an entry point and the roles of its parameters and results; top is nil for all but the entry top.
func (p *parser) languageEntry(e *LanguageEntry, top *TopEntry) {
	at := p.tok
	e.Func = p.take(tokAt, "@ and the name of an entry point")
	p.roles = append(p.roles, roleText{at: at, fn: &e.Func})
	p.expect("(")
	once := p.once()
	p.list(func() {
		role := p.tok
		name := p.ident("a role")
		once(name)
		p.expect("=")
		switch {
		case name == logitsRole:
			e.Logits = p.natural()
		case name == idsRole && top != nil:
			top.IDs = p.natural()
		case name == largestRole && top != nil:
			top.Largest = p.natural()
		default:
			p.languageRole(e, role, name)
		}
	})
	p.expect(")")
}

// languageRole reads the parameter of a role.
func (p *parser) languageRole(e *LanguageEntry, at token, name string) {
	role := slices.Index(inputRoles[:], name)
	if role < 0 {
		p.errorAt(at, "unknown role %s: the known ones are %s, %s", at, strings.Join(inputRoles[:], ", "), logitsRole)
		return
	}
	param := p.tok
	p.roles = append(p.roles, roleText{at: param, fn: &e.Func, index: e.inputs()[role], param: p.take(tokValue, "a parameter")})
}

// resolveLanguage finds the parameters that the line language names, after all functions have been
// read.
func (p *parser) resolveLanguage() {
	if p.failed() {
		return // a function may be missing because of the errors
	}
	for _, r := range p.roles {
		p.bad = false
		f := p.m.Func(*r.fn)
		switch {
		case f == nil && r.index == nil:
			p.errorAt(r.at, "there is no function %s: the module has %s", r.at, p.m.entryNames())
		case f == nil, r.index == nil:
		default:
			if v := f.Param(r.param); v != nil {
				*r.index = v.Index
				continue
			}
			p.errorAt(r.at, "@%s has no parameter %s: it has %s", quoteName(f.Name), r.at, valueNames(f.Params))
		}
	}
	p.bad = false
}
