package driver

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Fallback returns a copy of the model that is not compiled yet, and the options to compile it for one of the targets
// alone, which has to run everything. It shares the model's files. Limits, pins and denials of other targets do not
// concern it.
func (md *Model) Fallback(name string, o CompileOptions) (*Model, CompileOptions, error) {
	last := o.Targets.Last()
	switch {
	case last.Name != name:
		return nil, o, optionf("fallback %s: it has to be the last target, which runs everything: that is %s", name, last.Name)
	case len(o.Targets.All()) == 1:
		return nil, o, optionf("fallback %s: it is the only target: leave out --fallback, or add others before it", name)
	case md.Module.Props&ir.PropAssigned != 0:
		return nil, o, optionf("fallback %s: the backends of this module are chosen already: start from the model file", name)
	}
	alone, err := target.NewList(last)
	if err != nil {
		return nil, o, err
	}
	copied := *md
	copied.Module = md.Module.Clone()
	copied.Module.Headers = slices.DeleteFunc(copied.Module.Headers, func(h ir.Header) bool { return h.Key == "target" })
	copied.Module.Headers = append(copied.Module.Headers, ir.Header{Key: "target", Text: strings.TrimPrefix(last.String(), "target ")})
	o.Targets, o.Pinned, o.Done = alone, nil, nil
	o.Passes.Deny, o.Passes.Group, o.Passes.Shard = nil, nil, nil
	o.Passes.Pins = slices.DeleteFunc(slices.Clone(o.Passes.Pins), func(p pass.Pin) bool { return p.Backend != name })
	o.Passes.MaxMemory = maps.Clone(o.Passes.MaxMemory)
	maps.DeleteFunc(o.Passes.MaxMemory, func(limited string, _ int64) bool { return limited != name && !last.Addresses(limited) })
	return &copied, o, nil
}

// fallback is the second model of an executable, with its packed weights. It is nil if there is none.
type fallback struct {
	model   *Model
	weights *blob
}

// packFallback packs the weights of the fallback, if there is one.
func packFallback(ctx context.Context, o OutputOptions) (*fallback, error) {
	if o.Fallback == nil {
		return nil, nil
	}
	w, err := packWeights(ctx, o.Fallback, filepath.Dir(o.Out), o)
	if err != nil {
		return nil, err
	}
	return &fallback{o.Fallback, w}, nil
}

func (f *fallback) remove() {
	if f != nil {
		f.weights.remove()
	}
}

// bytes returns the size of the weights.
func (f *fallback) bytes() int64 {
	if f == nil {
		return 0
	}
	return f.weights.size
}

// join returns a package with the fallback, and the fallback's weights.
func (f *fallback) join(pkg *codegen.Package, o OutputOptions, where codegen.Where) (*codegen.Package, *codegen.Packed, error) {
	if f == nil {
		return pkg, nil, nil
	}
	second, planID, err := emit(f.model, o, "main", f.weights, where)
	if err != nil {
		return nil, nil, err
	}
	both, err := codegen.WithFallback(pkg, second)
	return both, &codegen.Packed{File: f.weights.path, Size: f.weights.size, Hash: f.weights.hash, PlanID: planID}, err
}
