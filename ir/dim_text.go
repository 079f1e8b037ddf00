package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String returns the text form, such as 32, tokens, 64*tokens+1, (tokens+31)/32.
func (d Dim) String() string {
	if d.sum == nil {
		return strconv.FormatInt(d.n, 10)
	}
	var b strings.Builder
	for i, t := range slices.Backward(*d.sum) { // the constant term sorts first and is printed last
		if t.coef >= 0 && i != len(*d.sum)-1 {
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
