package driver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// A graph written by hand becomes an executable: y = w2·relu(w1·x), whose weights are part
// of the module. examples/mlp does the same with a text and with a generated package.
func Example() {
	f32 := func(shape ...int64) ir.Type { return ir.Type{DType: dtype.F32, Shape: ir.Dims(shape...)} }
	b := ir.NewBuilder("mlp")
	b.Weight("w1", f32(2, 3), &ir.Expr{Op: ir.ExprLiteral, Data: bytesOf(1, 1, 1, -1, -1, -1)})
	b.Weight("w2", f32(1, 2), &ir.Expr{Op: ir.ExprLiteral, Data: bytesOf(1, 1)})
	f := b.Func("abs_sum")
	h := f.ReLU(f.MatMul(f.Param("x", f32(1, 3)), f.Weight("w1")))
	f.Return("y", f.MatMul(h, f.Weight("w2")))
	m, err := b.Finish()
	check(err)

	// All passes, then Go's compiler.
	ctx := context.Background()
	targets, err := target.Select("cpu")
	check(err)
	md := &driver.Model{Path: "mlp", Module: m}
	_, err = driver.Compile(ctx, md, driver.CompileOptions{Targets: targets})
	check(err)
	dir, err := os.MkdirTemp("", "mlp")
	check(err)
	defer os.RemoveAll(dir)
	exe := filepath.Join(dir, "mlp.exe")
	check(driver.Build(ctx, md, driver.OutputOptions{Compiler: "ggmlc", Out: exe}))

	// |4 - 5 - 6| is 7.
	var x bytes.Buffer
	check(runtime.WriteNPY(&x, runtime.Array{Type: dtype.F32, Shape: []int{1, 3}, Data: bytesOf(4, -5, -6)}))
	in := filepath.Join(dir, "x.npy")
	check(os.WriteFile(in, x.Bytes(), 0o666))
	check(exec.Command(exe, "call", "abs_sum", "x="+in, "-o", dir).Run())
	out, err := os.Open(filepath.Join(dir, "y.npy"))
	check(err)
	defer out.Close()
	y, err := runtime.ReadNPY(out, 1<<20)
	check(err)
	fmt.Println(y.Shape, math.Float32frombits(binary.LittleEndian.Uint32(y.Data)))
	// Output: [1 1] 7
}

// bytesOf returns f32 numbers as files hold them.
func bytesOf(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
