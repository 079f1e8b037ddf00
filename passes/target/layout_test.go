package target

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

func TestLayoutTimesPrintAsTheyAreRead(t *testing.T) {
	const text = "cpu like=cpu layouts=gather:q8_0:32000x2048:1:plain:2e-07,gather:q8_0:32000x2048:1:r16:2.5e-06,attention:q8_0:1x8x4096x64:32:r16:0.00012 measured=linux/amd64/avx512vnni"
	d, err := ParseDescriptor(text)
	if err != nil {
		t.Fatal(err)
	}
	if d.String() != text {
		t.Errorf("printed as\n%s\nwant\n%s", d, text)
	}
	use := LayoutUse{ir.OpGather, dtype.Q8_0, "32000x2048", 1}
	if s, ok := d.LayoutSeconds(use, dtype.R16); !ok || s != 2.5e-6 {
		t.Errorf("r16 takes %v, %v", s, ok)
	}
	use.Rows = 2
	if _, ok := d.LayoutSeconds(use, dtype.R16); ok {
		t.Error("two rows were not measured")
	}
}

// TestWrongLayoutTimesAreRefused expects an error that names the mistake.
func TestWrongLayoutTimesAreRefused(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{"layouts=gather:q8_0:64x64:1:plain", "write OP:DTYPE:SHAPE:ROWS:LAYOUT:SECONDS"},
		{"layouts=add:f32:64x64:1:plain:1", `kernels of "add" do not differ`},
		{"layouts=nothing:f32:64x64:1:plain:1", `kernels of "nothing" do not differ`},
		{"layouts=gather:f33:64x64:1:plain:1", "f33"},
		{"layouts=gather:f32:64:1:plain:1", "has 1 dimensions, and the operand 2"},
		{"layouts=attention:f32:64x64:1:plain:1", "has 2 dimensions, and the operand 4"},
		{"layouts=gather:f32:64x-1:1:plain:1", "is not a whole number"},
		{"layouts=gather:f32:64x99999999999999999999:1:plain:1", "is not a whole number"},
		{"layouts=gather:f32:64x64:0:plain:1", "rows"},
		{"layouts=gather:f32:64x64:1:r17:1", `unknown layout "r17"`},
		{"layouts=gather:i32:64x64:1:r16:1", "i32 has no layout r16"},
		{"layouts=gather:f32:64x64:1:plain:-1e-9", "-1e-9 is not a time"},
		{"layouts=gather:f32:64x64:1:plain:0", "0 is not a time"},
		{"layouts=gather:f32:64x64:1:plain:NaN", "NaN is not a time"},
		{"layouts=gather:f32:64x64:1:plain:Inf", "Inf is not a time"},
		{"layouts=gather:f32:64x64:1:plain:1,gather:f32:64x064:1:plain:2", "measured twice"},
		{"layouts=gather:f32:64x64:1:plain:1,", "write OP"},
		{"measured=linux", "GOOS/GOARCH/KERNELS"},
		{"measured=linux//avx2", "GOOS/GOARCH/KERNELS"},
		{"measured=linux/amd64/a,b", "is not a name for a machine"},
	} {
		if _, err := ParseDescriptor("cpu like=cpu " + c.field); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.field, err, c.want)
		}
	}
}

// TestLayoutsAreThoseOfTheRows checks the layouts that the kernels of the CPU and of GPUs read.
func TestLayoutsAreThoseOfTheRows(t *testing.T) {
	cpu, gpu := CPU(), Vulkan()
	for _, c := range []struct {
		d    *Descriptor
		op   ir.Op
		arg  int
		dt   dtype.DType
		want string
	}{
		{cpu, ir.OpMatMul, 1, dtype.Q4_0, "[r16]"},
		{cpu, ir.OpGather, 0, dtype.Q4_0, "[plain r16]"},
		{cpu, ir.OpAttention, 1, dtype.Q8_0, "[r16 plain]"},
		{cpu, ir.OpAdd, 0, dtype.Q4_0, "[]"},
		{cpu, ir.OpCopyExperts, 0, dtype.Q4_0, "[plain r16 planar]"},
		{gpu, ir.OpMatMul, 1, dtype.Q4_0, "[planar plain]"},
		{gpu, ir.OpMatMul, 1, dtype.Q6_K, "[planar plain]"},
		{gpu, ir.OpMatMul, 1, dtype.Q4_K, "[plain]"},
		{gpu, ir.OpMatMul, 1, dtype.F16, "[plain]"},
		{gpu, ir.OpMatMulSwiGLU, 2, dtype.Q8_0, "[planar plain]"},
		{gpu, ir.OpExpertsMatMul, 1, dtype.Q8_0, "[planar plain]"},
		{gpu, ir.OpGather, 0, dtype.Q4_0, "[planar plain]"},
		{gpu, ir.OpAttention, 1, dtype.Q8_0, "[plain]"},
	} {
		var names []string
		for _, l := range c.d.Layouts(c.op, c.arg, c.dt) {
			names = append(names, l.String())
		}
		if got := "[" + strings.Join(names, " ") + "]"; got != c.want {
			t.Errorf("%s: %v reads %v in %s, want %s", c.d.Name, c.op, c.dt, got, c.want)
		}
	}
}
