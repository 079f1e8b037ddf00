package driver_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// TestLeavesMoveWithTheirCopies copies a constant of fake:0 to fake:1, where the copy moves to an earlier split than
// that of the constant's first reader. The dump is an input.
func TestLeavesMoveWithTheirCopies(t *testing.T) {
	const text = `ggir 1
module "m"
props imported
func @f(%x: f32[4], %z: f32[4]) -> (y: f32[4]) {
  %k = constant "0000803f0000004000004040000080c0" : f32[4]
  %b = mul %x, %k : f32[4]
  %a = mul %b, %z : f32[4]
  %c = mul %a, %k : f32[4]
  return %c
}
`
	pins := []pass.Pin{{Match: regexp.MustCompile("^b$"), Backend: "fake:0"}, {Match: regexp.MustCompile("^[ac]$"), Backend: "fake:1"}}
	m, err := compileText(t, text, driver.CompileOptions{To: "split", Passes: pass.Options{Pins: pins}})
	if err != nil {
		t.Fatal(err)
	}
	dump := strings.Replace(m.String(), `f32[4] @"fake:1" split=0`, `f32[4] @"fake:0" split=0`, 1)
	if m, err = compileText(t, dump, driver.CompileOptions{}); err != nil {
		t.Fatalf("%v\n%s", err, dump)
	}
	if !strings.Contains(m.String(), "order.overlap") {
		t.Errorf("no copy has moved\n%v", m)
	}
	if _, err := compileText(t, m.String(), driver.CompileOptions{}); err != nil {
		t.Errorf("%v\n%v", err, m)
	}
}
