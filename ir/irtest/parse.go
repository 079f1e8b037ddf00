package irtest

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// Parse returns the module of a text, and fails the test where there is none.
func Parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SmallModule is the text of a module with a product and a residual, as import leaves it.
const SmallModule = `ggir 1
module "small"
after import
props imported
weight "w" : q8_0[16,32]
func @f(%x: f32[4,32], %r: f32[4,16]) -> (y: f32[4,16]) {
  %w = weight "w" : q8_0[16,32]
  %p = matmul %x, %w : f32[4,16]
  %y = add %p, %r : f32[4,16]
  return %y
}
`
