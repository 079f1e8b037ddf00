package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String returns the text form, such as 32, tokens, 64*tokens+1, 8-tokens, (tokens+31)/32. A positive term comes first
// if there is one.
func (d Dim) String() string {
	if d.sum == nil {
		return strconv.FormatInt(d.n, 10)
	}
	terms := slices.Clone(*d.sum)
	slices.Reverse(terms) // the constant term sorts first and is printed last
	if i := slices.IndexFunc(terms, func(t term) bool { return t.coef >= 0 }); i > 0 {
		first := terms[i]
		terms = slices.Insert(slices.Delete(terms, i, i+1), 0, first)
	}
	var b strings.Builder
	for i, t := range terms {
		if t.coef >= 0 && i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(t.String())
	}
	return b.String()
}

func (t term) String() string {
	switch {
	case t.key == "":
		return strconv.FormatInt(t.coef, 10)
	case t.coef == 1:
		return t.key
	}
	factors := t.key
	if len(t.atoms) == 1 && t.atoms[0].op == dimFloorDiv {
		factors = "(" + t.key + ")" // 2*(a/b) is not 2*a/b
	}
	if t.coef == -1 {
		return "-" + factors
	}
	return fmt.Sprintf("%d*%s", t.coef, factors)
}

// factorText returns d as a factor, in brackets unless it is a positive number, a symbol, a minimum or
// a maximum.
func factorText(d Dim) string {
	ts := d.terms()
	switch {
	case d.sum == nil && d.n >= 0,
		len(ts) == 1 && ts[0].coef == 1 && len(ts[0].atoms) == 1 && ts[0].atoms[0].op != dimFloorDiv:
		return d.String()
	}
	return "(" + d.String() + ")"
}

func atomsKey(atoms []atom) string {
	texts := make([]string, len(atoms))
	for i, a := range atoms {
		texts[i] = a.text
		if a.op == dimFloorDiv && len(atoms) > 1 {
			texts[i] = "(" + a.text + ")"
		}
	}
	return strings.Join(texts, "*")
}
