package arch

import (
	"bytes"
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestProgramsOfEncoders builds a program of an encoder. Its embeddings of the prompts are near llama.cpp's.
func TestProgramsOfEncoders(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	model := archtest.Encoders()[1]
	path := filepath.Join(dir, model.Name+".gguf")
	e2etest.WriteModel(t, path, model)
	exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, "--ctx", "256")
	for i, prompt := range archtest.Prompts() {
		n := len(prompt)
		pos, last := make([]int32, n), make([]int32, n)
		for k := range pos {
			pos[k], last[k] = int32(k), int32(n-1)
		}
		args := []string{"call", "embed", "-o", dir}
		for name, list := range map[string][]int32{"tokens": prompt, "pos": pos, "last": last, "slot": make([]int32, n), "lengths": {int32(n)}} {
			file := filepath.Join(dir, name+".npy")
			e2etest.WriteFile(t, file, e2etest.Array{DType: dtype.I32, Shape: []int{len(list)}, Ints: list}.NPY(t))
			args = append(args, name+"="+file)
		}
		if out, err := exec.Command(exe, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		y, err := runtime.ReadNPY(bytes.NewReader(e2etest.ReadFile(t, filepath.Join(dir, "embedding.npy"))), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, len(y.Data)/4)
		for k := range got {
			got[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(y.Data[4*k:])))
		}
		if d := e2etest.Relative(got, e2etest.ArchitectureReference(t)[model.Name][i]); !(d <= e2etest.MaxRounding) {
			t.Errorf("prompt %d: distance %.3g from llama.cpp's embedding", i, d)
		}
	}
}
