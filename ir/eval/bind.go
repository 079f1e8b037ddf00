package eval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// bind checks the inputs of f and returns the sizes of symbols.
func bind(f *ir.Func, env *Env) (map[string]int64, error) {
	b := &binder{sizes: maps.Clone(env.Sizes)}
	if b.sizes == nil {
		b.sizes = make(map[string]int64)
	}
	for name := range env.Inputs {
		if f.Param(name) == nil {
			b.errorf("there is no parameter %%%s", name)
		}
	}
	for _, p := range f.Params {
		in, ok := env.Inputs[p.Name()]
		if !ok {
			b.errorf("parameter %v has no input", p)
			continue
		}
		b.param(p, in)
	}
	for _, s := range f.Module.Symbols {
		if n, ok := b.sizes[s.Name]; ok && (n < s.Min || n > s.Max) {
			b.errorf("symbol %s is %d: it must be in [%d,%d]", s.Name, n, s.Min, s.Max)
		}
	}
	slices.SortFunc(b.errs, func(x, y error) int { // the names of inputs come from a map
		return strings.Compare(x.Error(), y.Error())
	})
	return b.sizes, errors.Join(b.errs...)
}

// binder collects the sizes of symbols, and errors.
type binder struct {
	sizes map[string]int64
	errs  []error
}

func (b *binder) errorf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *binder) param(p *ir.Value, in Tensor) {
	if in.Rank() != p.Type.Rank() {
		b.errorf("parameter %v has rank %d, its input shape %v", p, p.Type.Rank(), in.Shape)
		return
	}
	for i, d := range p.Type.Shape {
		b.solve(p, d, int64(in.Shape[i]))
	}
	if p.Type.DType.IsInt() && slices.ContainsFunc(in.Flat(), func(x float64) bool { return x != float64(int64(x)) }) {
		b.errorf("parameter %v is %v, its input holds fractions", p, p.Type.DType)
	}
}

// solve computes the size of a symbol from an extent that is linear in it. Constants and other extents
// are checked when the function runs.
func (b *binder) solve(p *ir.Value, d ir.Dim, n int64) {
	sym, scale, offset, ok := d.Linear()
	if !ok || sym == nil {
		return
	}
	size := (n - offset) / scale
	if size*scale+offset != n {
		b.errorf("parameter %v: an extent of %d cannot be %v", p, n, d)
		return
	}
	if known, ok := b.sizes[sym.Name]; ok && known != size {
		b.errorf("parameter %v: symbol %s is %d here and %d elsewhere", p, sym.Name, size, known)
		return
	}
	b.sizes[sym.Name] = size
}
