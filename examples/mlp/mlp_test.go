package mlp_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/examples/mlp"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// questions are all rows of four bits, answers their parity.
func questions() (x, y []float32) {
	for i := range mlp.Rows {
		for b := range mlp.Inputs {
			x = append(x, float32(i>>b&1))
		}
		y = append(y, float32(bits.OnesCount(uint(i))%2))
	}
	return x, y
}

func TestTextIsTheGraph(t *testing.T) {
	m, err := mlp.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != mlp.Text {
		t.Errorf("mlp.ggir is not what Build makes, which is:\n%s", got)
	}
}

// TestThreeWays runs the network as an executable of the hand-written graph, as one of the
// text, and as a generated package.
func TestThreeWays(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	x, want := questions()
	m, err := mlp.Build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := driver.Load(t.Context(), "mlp.ggir", driver.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	generated, err := driver.Load(t.Context(), "mlp.ggir", driver.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name string
		run  func() []float32
	}{
		{"builder and call", func() []float32 { return callProgram(t, &driver.Model{Path: "mlp", Module: m}, x) }},
		{"text and call", func() []float32 { return callProgram(t, text, x) }},
		{"generated package", func() []float32 { return runPackage(t, generated, x) }},
	} {
		if got := way.run(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", way.name, got, want)
		}
	}
}

func compileOptions(t *testing.T) driver.CompileOptions {
	t.Helper()
	targets, err := target.Select("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return driver.CompileOptions{Targets: targets}
}

// callProgram builds an executable and calls parity with arrays in files.
func callProgram(t *testing.T, md *driver.Model, x []float32) []float32 {
	t.Helper()
	dir := t.TempDir()
	exe := filepath.Join(dir, "mlp.exe") // the ending that Windows wants
	if _, err := driver.Compile(t.Context(), md, compileOptions(t)); err != nil {
		t.Fatal(err)
	}
	if err := driver.Build(t.Context(), md, driver.OutputOptions{Compiler: "ggmlc", Out: exe}); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "x.npy")
	writeArray(t, in, x)
	if out, err := exec.Command(exe, "call", "parity", "x="+in, "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return readArray(t, filepath.Join(dir, "y.npy"))
}

func writeArray(t *testing.T, path string, x []float32) {
	t.Helper()
	a := runtime.Array{Type: dtype.F32, Shape: []int{len(x) / mlp.Inputs, mlp.Inputs}}
	for _, v := range x {
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(v))
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, a); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readArray(t *testing.T, path string) []float32 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := runtime.ReadNPY(f, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float32, len(a.Data)/4)
	if err := dtype.DecodeFloat32(a.Type, y, a.Data); err != nil {
		t.Fatal(err)
	}
	return y
}

// user is a program that uses the generated package: floats in and out as JSON.
const user = `package main

import (
	"context"
	"encoding/json"
	"os"

	"user/parity"
)

func main() {
	var in parity.ParityInputs
	check(json.NewDecoder(os.Stdin).Decode(&in))
	m, err := parity.Open(parity.Options{})
	check(err)
	defer m.Close()
	s, err := m.NewSession()
	check(err)
	out, err := s.Parity(context.Background(), in)
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(out))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// runPackage generates the package into a module of its own and runs a program that uses it.
func runPackage(t *testing.T, md *driver.Model, x []float32) []float32 {
	t.Helper()
	dir := t.TempDir()
	if err := codegen.WriteSources(filepath.Join(dir, "ggmlc")); err != nil {
		t.Fatal(err)
	}
	mod := "module user\n\ngo 1.26\n\nrequire " + codegen.ModulePath + " v0.0.0\n\nreplace " + codegen.ModulePath + " => ./ggmlc\n"
	for name, text := range map[string]string{"go.mod": mod, "main.go": user} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := driver.OutputOptions{Compiler: "ggmlc", Out: filepath.Join(dir, "parity"), Package: "parity"}
	if err := driver.Gen(t.Context(), md, compileOptions(t), o); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string][]float32{"X": x})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(in), os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var y struct{ Y []float32 }
	if err := json.Unmarshal(out, &y); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return y.Y
}
