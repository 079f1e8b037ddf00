package backendtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/runtime"
)

// rename gives the module's function the name of the case, and its weights that name as a prefix, so that modules can
// be joined. The new module is read from text: it shares nothing with the table of cases.
func (c *opCase) rename() error {
	m, err := ir.Parse(c.fn, []byte(c.call.Module.String()))
	if err != nil {
		return err
	}
	m.Sources = append(m.Sources, &ir.Source{Name: "m", Path: "none"})
	prefix := c.fn + "_"
	c.call.Module, c.call.Func, m.Funcs[0].Name = m, c.fn, c.fn
	weights := make(map[string]eval.Tensor)
	for _, w := range m.Weights {
		weights[prefix+w.Name] = c.call.Env.Weights[w.Name]
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
	c.call.Env.Weights = weights
	return nil
}

// joined collects the declarations and functions of several modules.
type joined struct {
	symbols        []string // lines; those of one name are one symbol
	weights, funcs strings.Builder
}

func (j *joined) add(m *ir.Module) {
	text := m.String()
	i := strings.Index(text, "\nfunc ") + 1
	for line := range strings.Lines(text[:i]) {
		switch {
		case strings.HasPrefix(line, "weight "):
			j.weights.WriteString(line)
		case strings.HasPrefix(line, "symbol ") && !slices.Contains(j.symbols, line):
			j.symbols = append(j.symbols, line)
		}
	}
	j.funcs.WriteString(text[i:])
}

func (j *joined) String() string {
	return "ggir 1\nmodule \"cases\"\nafter import\nprops imported\nsource m \"none\" 0\n" +
		strings.Join(j.symbols, "") + j.weights.String() + j.funcs.String()
}

// tensors are the weights of all cases, as codegen.Sources.
type tensors map[string]tensor

// tensor is a weight, as codegen.Rows.
type tensor struct {
	typ  ir.Type
	data eval.Tensor
}

func tensorsOf(cases []*opCase) tensors {
	all := make(tensors)
	for _, c := range cases {
		for _, w := range c.call.Module.Weights {
			all[w.Name] = tensor{w.Type, c.call.Env.Weights[w.Name]}
		}
	}
	return all
}

// Tensor implements codegen.Sources.
func (ts tensors) Tensor(_, name string) (codegen.Rows, error) {
	t, ok := ts[name]
	if !ok {
		return nil, fmt.Errorf("no tensor %q", name)
	}
	return t, nil
}

// DType implements codegen.Rows.
func (t tensor) DType() dtype.DType { return t.typ.DType }

// Shape implements codegen.Rows.
func (t tensor) Shape() (rows, cols int64) {
	n, _ := t.typ.Rows().IsConst()
	k, _ := t.typ.Inner().IsConst()
	return n, k
}

// ReadRows implements codegen.Rows.
func (t tensor) ReadRows(_ context.Context, dst []byte, first, n int64) error {
	_, k := t.Shape()
	flat := t.data.Dense().Flat()[first*k : (first+n)*k]
	values := make([]float32, len(flat))
	for i, x := range flat {
		values[i] = float32(x)
	}
	return dtype.Encode(t.typ.DType, dst, values)
}

// call calls the function of a case with its inputs in files, and returns its result.
func (p *program) call(t *testing.T, c *opCase) (eval.Tensor, error) {
	args := []string{"call", c.fn}
	for _, v := range c.call.Module.Funcs[0].Params {
		path := filepath.Join(p.dir, c.fn+"."+v.Name()+".npy")
		if err := writeArray(path, v.Type.DType, c.call.Env.Inputs[v.Name()]); err != nil {
			return eval.Tensor{}, err
		}
		args = append(args, v.Name()+"="+path)
	}
	out := filepath.Join(p.dir, c.fn+".out")
	args = append(args, "-o", out)
	if text, err := exec.CommandContext(t.Context(), p.exe, args...).CombinedOutput(); err != nil {
		return eval.Tensor{}, fmt.Errorf("%v: %w\n%s", args, err, text)
	}
	return readArray(filepath.Join(out, "y.npy"))
}

func writeArray(path string, dt dtype.DType, x eval.Tensor) error {
	var data []byte
	for _, v := range x.Dense().Flat() {
		switch dt {
		case dtype.I32:
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
		case dtype.F16:
			data = binary.LittleEndian.AppendUint16(data, dtype.F32ToF16(float32(v)))
		default:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: dt, Shape: x.Shape, Data: data}); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

func readArray(path string) (eval.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return eval.Tensor{}, err
	}
	defer f.Close()
	a, err := runtime.ReadNPY(f, 1<<30)
	if err != nil {
		return eval.Tensor{}, err
	}
	return eval.Decode(a.Type, a.Data, a.Shape...)
}
