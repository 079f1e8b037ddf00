package readback_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

var dspSource = fmt.Sprintf(`package dsprt

import "github.com/ggmlc/ggmlc/runtime"

const Version, Generation = 7, %d

type (
	Loader struct{}
	Kernel func(e *Env, iteration int)
	Env    struct{ *runtime.Block }
)

func (e *Env) Scale(dst, x runtime.Span, n int, scale, bias float32)      {}
func (e *Env) MatMul(dst, x, w, residual runtime.Span, in int, fast bool) {}
`, runtime.MaxVersion)

// The backend dsp has memory and a queue of its own.
func init() {
	f32 := target.Plain(dtype.F32)
	backend.Register(backend.Backend{
		Target: func() *target.Descriptor {
			return &target.Descriptor{Name: "dsp", Kind: "dsp", Like: "dsp", Spaces: []string{"dsp"}, Threads: 1, Hint: 1, Queues: 1, Events: true, Align: 64,
				Rows: []target.Row{{Op: ir.OpScale, Args: []target.Format{f32}}, {Op: ir.OpMatMul, Args: []target.Format{f32, f32, f32}}}}
		},
		Kernels: map[ir.Op]backend.Kernel{
			ir.OpScale: func(n *ir.Node) (backend.Call, error) {
				a := n.Attr.(*ir.ScaleAttr)
				return backend.Call{Method: "Scale", Args: []backend.Arg{backend.Address(n.Result()), backend.Address(n.Args[0]),
					backend.Size(n.Result().Type.Elems()), backend.Float(a.Scale), backend.Float(a.Bias)}}, nil
			},
			ir.OpMatMul: func(n *ir.Node) (backend.Call, error) {
				return backend.Call{Method: "MatMul", Args: []backend.Arg{backend.Address(n.Result()), backend.Address(n.Args[0]),
					backend.Address(n.Args[1]), backend.Address(n.Arg(2)), backend.Int(48), backend.Bool(true)}}, nil
			},
		},
		Module: "example.com/dsp", Package: "example.com/dsp/dsprt",
		Sources: fstest.MapFS{"dsprt/dsp.go": {Data: []byte(dspSource)}},
	})
}

const onDSP = `symbol n 1 40
weight "w" : f32[8,48]
func @f(%x: f32[n,48]) -> (y: f32[n,8]) {
  %s = scale %x {scale=-1e-30, bias=0.1}
  %w = weight "w"
  %m = matmul %s, %w
  %y = neg %m
  return %y
}
`

// foreignRefusals are in a program with a backend of another module.
var foreignRefusals = refusals{
	{"another method", "e.Scale(", "e.MatMul(", "MatMul, where Scale of dsp is due"},
	{"a call of the device's environment", "e.Scale(", "e.Run(", "Run, where Scale of dsp is due"},
	{"a call of the processor's kernel", "e.Scale(", "cpu.ScaleF32(", "command that names more nodes than it computes"},
	{"another memory", "e.Scale(runtime.Span{Memory: ", "e.Scale(runtime.Span{Memory: 1+", "argument 0 is memory"},
	{"another offset", "e.MatMul(runtime.Span{Memory: 1, Offset: ", "e.MatMul(runtime.Span{Memory: 1, Offset: 64+", "argument 0 is memory"},
	{"an offset of nothing", "Memory: -1, Offset: 0", "Memory: -1, Offset: 64", "argument 3 is memory -1, offset 64"},
	{"another size", "}, 48*n, ", "}, 47*n, ", "argument 2 is 47*n, not 48*n"},
	{"another number", "-1e-30, ", "-1e-31, ", "argument 3 is"},
	{"another truth", ", 48, true)", ", 48, false)", "argument 5 is false, not true"},
	{"a residual", "Memory: -1,", "Memory: 1,", "argument 3 is memory 1"},
	{"fewer arguments", ", 48, true)", ", 48)", "5 arguments, not 6"},
	{"names in another order", `"%s", "%m"`, `"%m", "%s"`, `the command names it "%m", not "%s"`},
	{"the type of another command", "Kernel: dsprt.Kernel(", "Kernel: fake.Kernel(", "emitted code has no such"},
	{"another loader", "var dspLoader dsprt.Loader", "var dspLoader fake.Loader", "dspLoader is not the loader as it is"},
	{"another version", "7 - dsprt.Version", "6 - dsprt.Version", "the constants are"},
	{"no version", "const _ = runtime.EnforceVersion(dsprt.Version - 7)", "", "the constants are"},
	{"another package", `"example.com/dsp/dsprt"`, `"example.com/dsp/other"`, `import of "example.com/dsp/other"`},
}

// TestForeignCallsAreComparedWithTheirNodes changes a program with a backend of another module.
func TestForeignCallsAreComparedWithTheirNodes(t *testing.T) {
	if err := backend.Err(); err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"main", "story"} {
		s := subjectOf(t, "dsp", onDSP, setting{targets: "dsp,cpu", rules: "ggml-2026", pkg: pkg, pipeline: 2})
		if err := s.check(s.files); err != nil {
			t.Fatal(err)
		}
		for _, r := range foreignRefusals {
			t.Run(pkg+" "+r.name, func(t *testing.T) { s.refuses(t, r.old, r.text, r.want) })
		}
	}
}

// TestProgramsWithoutForeignBackendsDoNotImportThem: that a backend is registered changes no program that lacks it.
func TestProgramsWithoutForeignBackendsDoNotImportThem(t *testing.T) {
	s := subjectOf(t, "odd", odd, setting{pkg: "odd"})
	for _, f := range s.files {
		if strings.Contains(string(f.Data), "dsp") {
			t.Errorf("%s mentions the backend:\n%s", f.Name, f.Data)
		}
	}
	s.refuses(t, `"unsafe"`, `"example.com/dsp/dsprt"`, `import of "example.com/dsp/dsprt"`)
}
