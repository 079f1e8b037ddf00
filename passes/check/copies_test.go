package check_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// chosenExperts is a block whose experts are in the host's memory. Its two products choose by
// different indices.
const chosenExperts = `weight "up" : f32[8,64,32] @host
weight "down" : f32[8,32,64] @host
func @f(%x: f32[1,1,32], %a: f32[1,8], %b: f32[1,8]) -> f32[1,2,32] {
  %i = top_k %a {k=2}
  %j = top_k %b {k=2}
  %up = weight "up"
  %h = experts_matmul %x, %up, %i
  %down = weight "down"
  %y = experts_matmul %h, %down, %j
  return %y
}
`

// TestOnlyCopiedExpertsAreRead demands that a plan in which only chosen experts are copied is proved, and
// that it is refused if others are read, or if the copying backend cannot read the indices.
func TestOnlyCopiedExpertsAreRead(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *ir.Func)
		want   string // empty where the plan is good
	}{
		{"as planned", func(*ir.Func) {}, ""},
		{"other indices", func(f *ir.Func) {
			up, down := products(f)
			up.Args[2], down.Args[2] = down.Args[2], up.Args[2]
		}, "those that"},
		{"another reader", func(f *ir.Func) {
			up, _ := products(f)
			for _, n := range f.Nodes {
				if n.Op == ir.OpCopyExperts && n.Result() != up.Args[1] {
					n.Args[0] = up.Args[1]
				}
			}
		}, "only some experts are copied"},
		{"as a result", func(f *ir.Func) {
			up, _ := products(f)
			f.Results[0] = up.Args[1]
		}, "is a result"},
		{"indices elsewhere", func(f *ir.Func) {
			up, _ := products(f)
			up.Args[1].Def.Args[1] = up.Args[2]
		}, "its indices"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ir.Parse("experts", []byte(chosenExperts))
			if err != nil {
				t.Fatal(err)
			}
			targets := parseTargets(t, "target gpu space=dev ops=*\ntarget cpu space=host ops=*\n")
			if err := planned(m, targets); err != nil {
				t.Fatal(err)
			}
			tt.change(m.Funcs[0])
			err = checked(m, targets)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// products returns the two nodes that multiply with experts.
func products(f *ir.Func) (up, down *ir.Node) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpExpertsMatMul {
			up, down = down, n
		}
	}
	return up, down
}

// TestCopyBetweenStagedDevices plans a copy from one device to another, and checks the plan for devices that only copy
// to and from the processor's memory.
func TestCopyBetweenStagedDevices(t *testing.T) {
	m, err := ir.Parse("test", []byte(`ggir 1
props imported
func @f(%x: f32[2,4]) -> (y: f32[2,4]) {
  %a = exp %x
  %y = neg %a
  return %y
}
`))
	if err != nil {
		t.Fatal(err)
	}
	text := func(field string) string {
		return "target a space=a ops=exp\ntarget b space=b ops=neg" + field + "\ntarget cpu space=host workers=true threads=64 ops=*\n"
	}
	if err := planned(m, parseTargets(t, text(""))); err != nil {
		t.Fatal(err)
	}
	if err := checked(m, parseTargets(t, text(""))); err != nil {
		t.Error(err)
	}
	err = checked(m, parseTargets(t, text(" staged=true")))
	if err == nil || !strings.Contains(err.Error(), "copies from a to b, and between these two copies go by way of the processor's memory") {
		t.Errorf("error %v", err)
	}
}
