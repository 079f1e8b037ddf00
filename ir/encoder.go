package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Encoder names the entry point of a module that makes embeddings of texts, and the parameters and the result that the
// runtime sets and reads. The function takes whole texts, of which each token reads all others. Verify checks it
// against the function.
type Encoder struct {
	Func string // name of the entry point

	// Indexes of parameters, -1 if it has none. For tokens of a text of n tokens, number s of the step, they are set to
	// the ids; to 0, 1, …, n-1; to n-1 everywhere; and to s. Lengths, i32[S], has n for text s, and First, i32[texts],
	// the row of its first token. Without Lengths or Slot, a step takes one text, otherwise at most S.
	Tokens, Pos, Last, Slot, Lengths, First int

	// Hidden is the result that holds the state of each token: f32[n, width]. Pooling is how these become one
	// embedding.
	Hidden  int
	Pooling Pooling

	// Scores is the result that holds the scores of texts: f32[texts, labels]. It is -1 unless Pooling is PoolRank.
	Scores int

	// Tokenizer is the name of the source whose vocabulary the program contains; empty for none.
	Tokenizer string
}

// encoderRoles are the roles of parameters, in the order of the text form.
var encoderRoles = [...]string{"tokens", "pos", "last", "slot", "lengths", "first"}

// Roles of results in the text form.
const (
	hiddenRole = "hidden"
	scoresRole = "scores"
)

// inputs returns the indexes of parameters, in the order of encoderRoles.
func (e *Encoder) inputs() [len(encoderRoles)]*int {
	return [...]*int{&e.Tokens, &e.Pos, &e.Last, &e.Slot, &e.Lengths, &e.First}
}

// clone returns a copy; nil for nil.
func (e *Encoder) clone() *Encoder {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}

// text returns the encoder of m in the text form.
func (e *Encoder) text(m *Module) string {
	f := m.Func(e.Func)
	var roles []string
	for role, at := range e.inputs() {
		if *at == -1 {
			continue
		}
		name := "_"
		if f != nil && *at >= 0 && *at < len(f.Params) {
			name = valueName(f.Params[*at])
		}
		roles = append(roles, encoderRoles[role]+"="+name)
	}
	roles = append(roles, fmt.Sprintf("%s=%d", hiddenRole, e.Hidden))
	if e.Scores >= 0 {
		roles = append(roles, fmt.Sprintf("%s=%d", scoresRole, e.Scores))
	}
	text := fmt.Sprintf("encoder embed=@%s(%s) pooling=%v", quoteName(e.Func), strings.Join(roles, ", "), e.Pooling)
	if e.Tokenizer != "" {
		text += " tokenizer=" + quoteWord(e.Tokenizer)
	}
	return text
}

// encoder reads the line encoder.
func (p *parser) encoder() {
	if p.m.Encoder != nil {
		p.errorf("there is an encoder already: a module has one line encoder")
		return
	}
	e := &Encoder{Tokens: -1, Pos: -1, Last: -1, Slot: -1, Lengths: -1, First: -1, Scores: -1, Pooling: PoolNone}
	p.m.Encoder = e
	once := p.once()
	p.keys(map[string]func(){
		"embed":     func() { once("embed"); p.encoderEntry(e) },
		"pooling":   func() { once("pooling"); e.Pooling = p.pooling() },
		"tokenizer": func() { once("tokenizer"); e.Tokenizer = p.word("the name of a source") },
	})
	if !p.bad && e.Func == "" {
		p.errorf("%s where embed=@FUNCTION(…) is expected: an encoder has an entry point", p.tok)
	}
}

// encoderEntry reads the entry point and the roles of its parameters.
func (p *parser) encoderEntry(e *Encoder) {
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
		at := slices.Index(encoderRoles[:], name)
		switch {
		case name == hiddenRole:
			e.Hidden = p.natural()
		case name == scoresRole:
			e.Scores = p.natural()
		case at < 0:
			p.errorAt(role, "unknown role %s: the known ones are %s, %s, %s", role, strings.Join(encoderRoles[:], ", "), hiddenRole, scoresRole)
		default:
			param := p.tok
			p.roles = append(p.roles, roleText{at: param, fn: &e.Func, index: e.inputs()[at], param: p.take(tokValue, "a parameter")})
		}
	})
	p.expect(")")
}

// encoderLine is the place of violations that concern no function.
const encoderLine = "the line encoder"

// encoder checks that the entry of an encoder has the form that the runtime expects: it writes all parameters and
// reads the states of tokens.
func (v *verifier) encoder() {
	e := v.m.Encoder
	if e == nil {
		return
	}
	defer func() { v.f, v.node = nil, nil }()
	v.f, v.node = nil, encoderLine
	f := v.m.Func(e.Func)
	if !v.must(f != nil, ruleLanguage, "embed is @%s, which the module does not have: name an entry point", quoteName(e.Func)) {
		return
	}
	declared := e.Tokenizer == "" || slices.ContainsFunc(v.m.Sources, func(s *Source) bool { return s.Name == e.Tokenizer })
	v.must(declared, ruleLanguage, "tokenizer=%s is no source of the module: name a source, or leave it out", quoteWord(e.Tokenizer))
	v.must(v.m.LM == nil, ruleLanguage, "the module has the line language too: leave one of them out")
	v.must(e.Pooling == PoolRank || e.First == -1, ruleLanguage, "first is given with pooling=%v: only rank reads it", e.Pooling)
	v.must(e.Pooling > NoEmbeddings && e.Pooling <= PoolRank, ruleLanguage, "%v is no kind of pooling", e.Pooling)
	v.f = f
	if v.encoderParams(f, e) {
		v.encoderUse(f, e)
		v.f, v.node = f, encoderLine
		v.encoderHidden(f, e)
		v.encoderScores(f, e)
	}
}

// encoderParams checks that each parameter has one role, and its type.
func (v *verifier) encoderParams(f *Func, e *Encoder) bool {
	taken, sound := make([]string, len(f.Params)), true
	for role, at := range e.inputs() {
		i, name := *at, encoderRoles[role]
		switch {
		case i == -1:
		case i < 0 || i >= len(f.Params):
			return v.must(false, ruleLanguage, "%s is parameter %d of %d: name a parameter", name, i, len(f.Params))
		default:
			v.node = f.Params[i]
			sound = v.must(taken[i] == "", ruleLanguage, "it is both %s and %s: give each parameter one role", taken[i], name) && sound
			taken[i] = name
		}
	}
	v.node = encoderLine
	if !v.must(e.Tokens >= 0, ruleLanguage, "no parameter has the role tokens: add tokens=%%NAME") {
		return false
	}
	for i, p := range f.Params {
		v.node = p
		want, ok := e.extent(f, i)
		sound = v.must(taken[i] != "", ruleLanguage, "it has no role, and the runtime sets no other parameters: give it one in the line encoder, or remove it") &&
			v.must(p.Type.DType == dtype.I32 && p.Type.Layout == dtype.Plain && len(p.Type.Shape) == 1 && ok, ruleLanguage,
				"%s is %s: it has to be i32 with one dimension, %s", taken[i], p.Type.data(), want) && sound
	}
	return sound
}

// extent returns how many elements the role of parameter i asks for, and whether it has them.
func (e *Encoder) extent(f *Func, i int) (want string, ok bool) {
	n, tokens := f.Params[i].Type.Inner(), f.Params[e.Tokens].Type.Inner()
	s, sized := stepSymbol(n)
	texts, constant := e.texts(f)
	switch i {
	case e.Lengths:
		return "a constant", constant
	case e.First:
		return "1, or a symbol of its own from 1 to at most the elements of lengths", n.Is(1) || sized && constant && s.Max <= texts && !n.Equal(tokens)
	}
	return "that of tokens: 1, or a symbol of its own whose least value is 1", n.Equal(tokens) && (sized || n.Is(1))
}

// texts returns the most texts of a step.
func (e *Encoder) texts(f *Func) (n int64, ok bool) {
	if e.Lengths < 0 || e.Slot < 0 {
		return 1, true
	}
	n, ok = f.Params[e.Lengths].Type.Inner().IsConst()
	return n, ok && n > 0
}

// encoderHidden checks the result with the states of tokens.
func (v *verifier) encoderHidden(f *Func, e *Encoder) {
	v.node = encoderLine
	if !v.must(e.Hidden >= 0 && e.Hidden < len(f.Results), ruleLanguage, "%s is result %d of %d: name a result by its number, from 0", hiddenRole, e.Hidden, len(f.Results)) {
		return
	}
	r := f.Results[e.Hidden]
	v.node = r
	t, n := r.Type, f.Params[e.Tokens].Type.Inner()
	if !v.must(t.DType == dtype.F32 && t.Layout == dtype.Plain && len(t.Shape) == 2 && t.Shape[0].Equal(n), ruleLanguage, "hidden is %s: it has to be f32 with a row for each token", t.data()) {
		return
	}
	width, ok := t.Inner().IsConst()
	v.must(ok && width > 0, ruleLanguage, "a row of hidden has %v elements: let their number be constant", t.Inner())
}

// encoderScores checks the result with the scores of texts.
func (v *verifier) encoderScores(f *Func, e *Encoder) {
	v.node = encoderLine
	if e.Pooling != PoolRank {
		v.must(e.Scores == -1, ruleLanguage, "%s is given with pooling=%v: only rank has scores", scoresRole, e.Pooling)
		return
	}
	if !v.must(e.Scores >= 0 && e.Scores < len(f.Results) && e.Scores != e.Hidden, ruleLanguage,
		"%s is result %d of %d: with pooling=rank, name another result than hidden by its number, from 0", scoresRole, e.Scores, len(f.Results)) {
		return
	}
	r := f.Results[e.Scores]
	v.node = r
	t := r.Type
	rows := Const(1)
	if e.First >= 0 {
		rows = f.Params[e.First].Type.Inner()
	}
	if !v.must(t.DType == dtype.F32 && t.Layout == dtype.Plain && len(t.Shape) == 2 && t.Shape[0].Equal(rows), ruleLanguage, "scores is %s: it has to be f32 with a row for each text", t.data()) {
		return
	}
	labels, ok := t.Inner().IsConst()
	v.must(ok && labels > 0, ruleLanguage, "a row of scores has %v elements: let their number be constant", t.Inner())
}
