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

// TwoHalves is the text of a step whose nodes are at the positions first and second, for pins. Both halves read one weight.
const TwoHalves = `symbol n 1 64
weight "norm" : f32[64]
weight "a" : f32[64,64]
weight "b" : f32[64,64]
func @step(%x: f32[n,64]) -> (y: f32[n,64]) {
  %norm = weight "norm" : f32[64]
  %a = weight "a" : f32[64,64]
  %b = weight "b" : f32[64,64]
  %n1 = rms_norm %x, %norm {eps=1e-05} : f32[n,64] pos="first.1"
  %h = matmul %n1, %a : f32[n,64] pos="first.2"
  %n2 = rms_norm %h, %norm {eps=1e-05} : f32[n,64] pos="second.1"
  %y = matmul %n2, %b : f32[n,64] pos="second.2"
  return %y
}
`
