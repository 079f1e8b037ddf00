package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// checkSizes reports symbols of an entry point whose size no caller tells: not by the shape of
// an input and, where the sizes of a step follow from positions, not by these. The program
// would run with some size that was left from before.
func (g *generator) checkSizes(f *ir.Func) error {
	told := shapedBy(f)
	for _, r := range reaches(f) {
		told[r.symbol] = true
	}
	var missing []string
	for _, s := range usedSymbols(f) {
		if !told[s] {
			missing = append(missing, s.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("@%s: the shape of no input tells how large %s is: let an input have it as a dimension, or give it one size", f.Name, strings.Join(missing, ", "))
	}
	return nil
}

// usedSymbols returns the symbols in the types of the values of f and of the bodies in it, each once.
func usedSymbols(f *ir.Func) []*ir.Symbol {
	var used []*ir.Symbol
	add := func(s *ir.Symbol) {
		if !slices.Contains(used, s) {
			used = append(used, s)
		}
	}
	addShapes := func(vs []*ir.Value) {
		for _, v := range vs {
			for _, d := range v.Type.Shape {
				d.Symbols(add)
			}
		}
	}
	addShapes(f.Params)
	for _, n := range f.Nodes {
		addShapes(n.Results)
		if n.Body != nil {
			for _, s := range usedSymbols(n.Body) {
				add(s)
			}
		}
	}
	return used
}

// checkLengths reports inputs of a typed method whose lengths do not tell all sizes, as
// runtime.Session.Call finds them: a length tells one symbol that occurs once, if the others
// of its shape are known.
func checkLengths(f *ir.Func) error {
	known := make(map[*ir.Symbol]bool)
	for progress := true; progress; {
		progress = false
		for _, p := range f.Params {
			if open := openSymbols(p, known); len(open) == 1 {
				known[open[0]], progress = true, true
			}
		}
	}
	for _, p := range f.Params {
		if open := openSymbols(p, known); len(open) > 0 {
			return fmt.Errorf("@%s: the length of %v does not tell its shape %s: let another input have one of its sizes alone", f.Name, p, shapeText(p))
		}
	}
	return nil
}

// openSymbols returns the symbols of a shape that are not known, as often as they occur.
func openSymbols(v *ir.Value, known map[*ir.Symbol]bool) []*ir.Symbol {
	var open []*ir.Symbol
	for _, d := range v.Type.Shape {
		d.Symbols(func(s *ir.Symbol) {
			if !known[s] {
				open = append(open, s)
			}
		})
	}
	return open
}
