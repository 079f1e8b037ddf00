package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// graphTries is how many random modules are tried to find one that the CPU runs. Most have a node for which there is
// no kernel.
const graphTries = 200

// runnable draws the number of a random module that the CPU runs.
func runnable(d draw) (uint64, error) {
	for range graphTries {
		n := d.Uint64N(randomGraphs)
		p, err := irtest.Random(n, graphMoves(n))
		if err != nil {
			return 0, err
		}
		if _, err := passes.Run(context.Background(), p.Module, passes.RunOptions{Targets: processorAlone()}); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("none of %d random modules runs on the processor", graphTries)
}

// processorAlone returns the targets of reference programs.
func processorAlone() *target.List {
	l, err := target.Select("cpu")
	if err != nil {
		panic(err) // the CPU is built in
	}
	return l
}

// graphMoves returns the size of a random module.
func graphMoves(n uint64) int { return int(3 + n%10) }

// randomGraph writes the n-th random module to a folder: the text, the file with its weights, and the arrays of its
// calls.
func randomGraph(n uint64, dir string) (*subject, error) {
	p, err := irtest.Random(n, graphMoves(n))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := writeWeights(p, filepath.Join(dir, "random.gguf")); err != nil {
		return nil, err
	}
	s := &subject{name: fmt.Sprintf("graph%d", n), path: filepath.Join(dir, "random.ggir"), graph: p}
	if err := os.WriteFile(s.path, []byte(p.Module.String()), 0o666); err != nil {
		return nil, err
	}
	for i, c := range p.Calls {
		args := []string{"call", c.Func}
		for _, param := range p.Module.Func(c.Func).Params {
			path := filepath.Join(dir, fmt.Sprintf("%d.%s.npy", i, param.Name()))
			if err := writeArray(path, param.Type.DType, c.Inputs[param.Name()]); err != nil {
				return nil, err
			}
			args = append(args, param.Name()+"="+path)
		}
		s.calls = append(s.calls, call{name: strconv.Itoa(i) + " of " + c.Func, args: args, arrays: true})
	}
	return s, nil
}

// writeWeights writes the tensors of a random module to a GGUF file.
func writeWeights(p *irtest.Program, path string) error {
	w := gguf.NewWriter()
	w.Set("general.architecture", "none")
	for _, weight := range p.Module.Weights {
		t := p.Tensors[weight.Name]
		flat := t.Dense().Flat()
		values := make([]float32, len(flat))
		for i, x := range flat {
			values[i] = float32(x)
		}
		data, err := encode(weight.Type.DType, values)
		if err != nil {
			return err
		}
		typ, err := gguf.TypeOf(weight.Type.DType)
		if err != nil {
			return err
		}
		w.Tensor(weight.Name, typ, t.Shape, func(out io.Writer) error { _, err := out.Write(data); return err })
	}
	return w.WriteFile(path)
}

// writeArray writes the input of a call in the format that programs read.
func writeArray(path string, t dtype.DType, x eval.Tensor) error {
	var data []byte
	for _, v := range x.Dense().Flat() {
		if t == dtype.I32 {
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
		} else {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: t, Shape: x.Shape, Data: data}); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
