// Package casetest runs sample cases of ops as functions of one emitted program: it joins their modules into one, builds
// the program, and calls its functions with arrays in files. The tests of codegen and the conformance suite of backends
// use it.
package casetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Callable reports whether a case can be called: its arrays are of dtypes and in the layout that callers have, their
// dimensions are linear in the symbols, and it has no states.
func Callable(m *ir.Module) bool {
	f := m.Funcs[0]
	for _, v := range slices.Concat(f.Params, f.Results) {
		if !slices.Contains([]dtype.DType{dtype.F32, dtype.F16, dtype.I32}, v.Type.DType) || v.Type.Layout != dtype.Plain {
			return false
		}
	}
	for _, p := range f.Params {
		for _, d := range p.Type.Shape {
			if _, _, _, linear := d.Linear(); !linear {
				return false
			}
		}
	}
	return len(m.States) == 0
}

// Rename names the function of a case fn and puts fn and an underscore before the names of its weights, so that modules
// of several cases can be joined. The new module is read from text: it shares nothing with the table of cases.
func Rename(c *opcase.Call, fn string) error {
	m, err := ir.Parse(fn, []byte(c.Module.String()))
	if err != nil {
		return err
	}
	m.Sources = append(m.Sources, &ir.Source{Name: "m", Path: "none"})
	prefix := fn + "_"
	c.Module, c.Func, m.Funcs[0].Name = m, fn, fn
	weights := make(map[string]eval.Tensor)
	for _, w := range m.Weights {
		weights[prefix+w.Name] = c.Env.Weights[w.Name]
		w.Name = prefix + w.Name
		w.Expr = ir.Tensor("m", w.Name)
		if w.Type.Layout != dtype.Plain {
			w.Expr = ir.Pack(w.Expr, w.Type.Layout.String())
		}
	}
	for _, n := range m.Funcs[0].Nodes {
		if attr, ok := n.Attr.(*ir.WeightAttr); ok {
			attr.Name = prefix + attr.Name
		}
	}
	c.Env.Weights = weights
	return nil
}

// Join returns one module with the functions of all cases, which [Rename] has named.
func Join(cases []*opcase.Call) (*ir.Module, error) {
	var symbols []string // lines; those of one name are one symbol
	var weights, funcs strings.Builder
	for _, c := range cases {
		text := c.Module.String()
		i := strings.Index(text, "\nfunc ") + 1
		for line := range strings.Lines(text[:i]) {
			switch {
			case strings.HasPrefix(line, "weight "):
				weights.WriteString(line)
			case strings.HasPrefix(line, "symbol ") && !slices.Contains(symbols, line):
				symbols = append(symbols, line)
			}
		}
		funcs.WriteString(text[i:])
	}
	return ir.Parse("cases.ggir", []byte("ggir 1\nmodule \"cases\"\nafter import\nprops imported\nsource m \"none\" 0\n"+
		strings.Join(symbols, "")+weights.String()+funcs.String()))
}

// Tensors are weights with their types as a model file has them, by name. They implement [codegen.Sources].
type Tensors map[string]Tensor

// Tensor is a weight. It implements [codegen.Rows].
type Tensor struct {
	Type ir.Type
	Data eval.Tensor
}

// Weights returns the weights of cases.
func Weights(cases []*opcase.Call) Tensors {
	all := make(Tensors)
	for _, c := range cases {
		for _, w := range c.Module.Weights {
			all[w.Name] = Tensor{w.Type, c.Env.Weights[w.Name]}
		}
	}
	return all
}

// Tensor returns the weight of that name, of any source.
func (ts Tensors) Tensor(_, name string) (codegen.Rows, error) {
	t, ok := ts[name]
	if !ok {
		return nil, fmt.Errorf("no tensor %q", name)
	}
	return t, nil
}

// DType returns the dtype of the elements.
func (t Tensor) DType() dtype.DType { return t.Type.DType }

// Shape returns the tensor's shape as that of a matrix.
func (t Tensor) Shape() (rows, cols int64) {
	n, _ := t.Type.Rows().IsConst()
	k, _ := t.Type.Inner().IsConst()
	return n, k
}

// ReadRows encodes n rows from the first on into dst.
func (t Tensor) ReadRows(_ context.Context, dst []byte, first, n int64) error {
	_, k := t.Shape()
	flat := t.Data.Dense().Flat()[first*k : (first+n)*k]
	values := make([]float32, len(flat))
	for i, x := range flat {
		values[i] = float32(x)
	}
	return dtype.Encode(t.Type.DType, dst, values)
}

// Program is an executable whose functions can be called by name.
type Program struct {
	Dir string // of files that are made for calls
	Exe string
}

// Build makes an executable in dir of a module that was compiled for the targets; nil is the CPU.
func Build(ctx context.Context, dir string, m *ir.Module, src codegen.Sources, targets *target.List) (*Program, error) {
	blob, err := os.Create(filepath.Join(dir, "weights"))
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	hash, err := codegen.PackWeights(ctx, m, src, blob, nil)
	if err != nil {
		return nil, err
	}
	const id = "cases"
	emitted, err := codegen.Emit(m, codegen.Options{Package: "main", Compiler: "ggmlc casetest", Name: m.Name, PlanID: id, WeightsHash: hash, Targets: targets})
	if err != nil {
		return nil, err
	}
	exe := filepath.Join(dir, "program.exe") // the ending that Windows wants
	return &Program{Dir: dir, Exe: exe}, codegen.Build(ctx, emitted, codegen.BuildOptions{
		Out: exe, WeightsFile: blob.Name(), WeightsSize: codegen.WeightsBytes(m), WeightsHash: hash, PlanID: id})
}

// Call calls the function of a case with the case's inputs, and returns its result y.
func (p *Program) Call(ctx context.Context, c *opcase.Call, flags ...string) (eval.Tensor, error) {
	out := filepath.Join(p.Dir, c.Func+".out")
	args := slices.Concat([]string{"call", c.Func}, flags, []string{"-o", out})
	for _, v := range c.Module.Func(c.Func).Params {
		path := filepath.Join(p.Dir, c.Func+"."+v.Name()+".npy")
		if err := WriteArray(path, v.Type.DType, c.Env.Inputs[v.Name()]); err != nil {
			return eval.Tensor{}, err
		}
		args = append(args, v.Name()+"="+path)
	}
	if text, err := exec.CommandContext(ctx, p.Exe, args...).CombinedOutput(); err != nil {
		return eval.Tensor{}, fmt.Errorf("%v: %w\n%s", args, err, text)
	}
	return ReadArray(filepath.Join(out, "y.npy"))
}
