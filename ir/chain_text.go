package ir

import (
	"slices"
	"strconv"
	"strings"
)

// The steps of a chain in the text form. Operands are x0, x1, …, results of steps y0, y1, …:
//
//	%y = chain %a, %b {steps=[mul(x0, x1), scale(y0) {scale=0.5}, silu(y1)]}

// String returns the name of the operand in the text form.
func (r ChainRef) String() string {
	if r.Step {
		return "y" + strconv.Itoa(r.Index)
	}
	return "x" + strconv.Itoa(r.Index)
}

// Equal reports whether two steps are equal; attributes are compared as [EqualAttr] does.
func (s ChainStep) Equal(o ChainStep) bool {
	return s.Op == o.Op && slices.Equal(s.Args, o.Args) && EqualAttr(s.Op, s.Attr, o.Attr)
}

// String returns the step in the text form.
func (s ChainStep) String() string {
	names := make([]string, len(s.Args))
	for i, r := range s.Args {
		names[i] = r.String()
	}
	text := s.Op.String() + "(" + strings.Join(names, ", ") + ")"
	if _, braces := AttrText(&Node{Op: s.Op, Attr: s.Attr}); braces != "" {
		text += " " + braces
	}
	return text
}

// chainSteps prints, reads and compares the steps of a chain.
func chainSteps() *attrCodec {
	equal := func(a, b []ChainStep) bool { return slices.EqualFunc(a, b, ChainStep.Equal) }
	return cloning(codecOf(stepsText, (*parser).chainSteps, equal), cloneSteps)
}

func stepsText(steps []ChainStep) string {
	texts := make([]string, len(steps))
	for i, s := range steps {
		texts[i] = s.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func cloneSteps(steps []ChainStep) []ChainStep {
	list := slices.Clone(steps)
	for i, s := range list {
		list[i].Attr, list[i].Args = CloneAttr(s.Op, s.Attr), slices.Clone(s.Args)
	}
	return list
}

// chainSteps parses a list of steps.
func (p *parser) chainSteps() []ChainStep {
	steps := []ChainStep{}
	p.expect("[")
	if p.accept("]") {
		return steps
	}
	p.list(func() { steps = append(steps, p.chainStep()) })
	p.expect("]")
	return steps
}

// chainStep parses one step.
func (p *parser) chainStep() (s ChainStep) {
	at := p.tok
	name := p.ident("the op of a step")
	op, ok := OpByName(name)
	if p.bad {
		return s
	}
	if !ok || !InChain(op) {
		p.errorAt(at, "%s is no elementwise op on f32, which steps of a chain are", name)
		return s
	}
	s.Op, s.Attr = op, NewAttr(op)
	p.expect("(")
	p.list(func() { s.Args = append(s.Args, p.chainRef()) })
	p.expect(")")
	if p.at("{") || s.Attr != nil {
		p.parseAttrs(op, s.Attr)
	}
	return s
}

// chainRef parses the name of an operand of a step.
func (p *parser) chainRef() ChainRef {
	at := p.tok
	text := p.ident("x0, x1, … or y0, y1, …")
	if len(text) > 1 {
		n, _ := strconv.Atoi(text[1:])
		if r := (ChainRef{Step: text[0] == 'y', Index: n}); r.String() == text {
			return r
		}
	}
	p.errorAt(at, "%q is no operand of a step: x0, x1, … are those of the chain, y0, y1, … the earlier steps", text)
	return ChainRef{}
}
