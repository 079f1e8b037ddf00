package ir_test

import (
	"fmt"
	"os"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// A perceptron with one hidden layer, for any number of rows up to 32.
func ExampleBuilder() {
	b := ir.NewBuilder("mlp")
	rows := b.Symbol("rows", 1, 32)
	f32 := func(shape ...ir.Dim) ir.Type { return ir.Type{DType: dtype.F32, Shape: shape} }
	b.Source("m", "mlp.gguf", 5440)
	b.Weight("up", f32(ir.Const(64), ir.Const(16)), ir.Tensor("m", "up"))
	b.Weight("up.bias", f32(ir.Const(64)), ir.Tensor("m", "up.bias"))
	b.Weight("down", f32(ir.Const(4), ir.Const(64)), ir.Tensor("m", "down"))

	f := b.Func("classify")
	x := f.Param("x", f32(rows, ir.Const(16)))
	f.At("layer.0")
	h := f.Named("h", f.ReLU(f.Add(f.MatMul(x, f.Weight("up")), f.Weight("up.bias"))))
	f.At("layer.1")
	f.Return("scores", f.Softmax(f.MatMul(h, f.Weight("down"))))

	m, err := b.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ir.Print(os.Stdout, m, ir.PrintOptions{Show: ir.ShowAll}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ggir 1
	// module "mlp"
	// after import
	// props imported,shaped
	// source m "mlp.gguf" 5440
	// symbol rows 1 32
	// weight "up" : f32[64,16] = m["up"]
	// weight "up.bias" : f32[64] = m["up.bias"]
	// weight "down" : f32[4,64] = m["down"]
	// func @classify(%x: f32[rows,16]) -> (scores: f32[rows,4]) {
	//   %up = weight "up" : f32[64,16] pos="layer.0"
	//   %v2 = matmul %x, %up : f32[rows,64] pos="layer.0"
	//   %up.bias = weight "up.bias" : f32[64] pos="layer.0"
	//   %v4 = add %v2, %up.bias : f32[rows,64] pos="layer.0"
	//   %h = relu %v4 : f32[rows,64] pos="layer.0"
	//   %down = weight "down" : f32[4,64] pos="layer.1"
	//   %v7 = matmul %h, %down : f32[rows,4] pos="layer.1"
	//   %v8 = softmax %v7 : f32[rows,4] pos="layer.1"
	//   return %v8
	// }
}
