package backend

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// source is the package of a backend that is as it should be.
var source = fmt.Sprintf(`package dsprt

import "github.com/ggmlc/ggmlc/runtime"

const Version, Generation = 2, %d

type (
	Loader struct{}
	Kernel func(e *Env, iteration int)
	Env    struct{ *runtime.Block }
)

func (e *Env) Neg(dst, x runtime.Span, n int) {}
`, runtime.MaxVersion)

// now is the generation of package runtime.
var now = fmt.Sprint("= 2, ", runtime.MaxVersion)

// dsp returns a backend of that name that is as it should be.
func dsp(name string) *Backend {
	return &Backend{
		Target: func() *target.Descriptor {
			return &target.Descriptor{Name: name, Kind: name, Like: name, Spaces: []string{"host"}, Threads: 1, Hint: 1, Align: 64,
				Rows: []target.Row{{Op: ir.OpNeg, Args: []target.Format{target.Plain(dtype.F32)}}}}
		},
		Kernels: map[ir.Op]Kernel{ir.OpNeg: func(n *ir.Node) (Call, error) {
			return Call{"Neg", []Arg{Address(n.Result()), Address(n.Args[0]), Size(n.Result().Type.Elems())}}, nil
		}},
		Module: "example.com/dsp", Package: "example.com/dsp/dsprt",
		Sources: fstest.MapFS{"dsprt/dsp.go": {Data: []byte(source)}},
	}
}

// edited returns the file system of a backend whose source has another text in place of an old one.
func edited(old, replacement string) fstest.MapFS {
	return fstest.MapFS{"dsprt/dsp.go": {Data: []byte(strings.ReplaceAll(source, old, replacement))}}
}

func TestRegisterRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(b *Backend)
		want string
	}{
		{"no sources", func(b *Backend) { b.Sources = nil }, "its Target or its Sources is nil"},
		{"a claim without a kernel", func(b *Backend) { b.Kernels = nil }, "its descriptor has a row for neg, and Kernels has no function"},
		{"a kernel without a claim", func(b *Backend) { b.Kernels[ir.OpAbs] = b.Kernels[ir.OpNeg] }, "its Kernels have a function for abs, which no row"},
		{"an older runtime", func(b *Backend) { b.Sources = edited(now, "= 2, 2") },
			fmt.Sprintf("it is written for generation 2 of package runtime, and this ggmlc has %d: get a newer version of the backend", runtime.MaxVersion)},
		{"a newer runtime", func(b *Backend) { b.Sources = edited(now, "= 2, 9999") },
			fmt.Sprintf("it is written for generation 9999 of package runtime, and this ggmlc has %d: get a newer version of github.com/ggmlc/ggmlc", runtime.MaxVersion)},
		{"no version", func(b *Backend) { b.Sources = edited("const Version, Generation "+now, "") }, "declares no constant Version"},
		{"no environment", func(b *Backend) { b.Sources = edited("Env    struct", "Other struct") }, "declares no type Env"},
		{"files of another folder", func(b *Backend) { b.Package = "example.com/dsp/other" }, "no Go file of example.com/dsp/other is in the folder other of Sources"},
		{"a package of another module", func(b *Backend) { b.Package = "example.com/npu/dsprt" }, "is not in its module"},
		{"a package that is called as another one", func(b *Backend) { b.Package = "example.com/dsp/runtime" }, `"runtime" is not a name for its package`},
		{"another package clause", func(b *Backend) { b.Sources = edited("package dsprt", "package dsp") }, "package dsp, not dsprt"},
		{"a file that is not Go", func(b *Backend) { b.Sources = edited("type (", "type {") }, "dsprt/dsp.go:7"},
		{"an import that programs lack", func(b *Backend) {
			b.Sources = edited(`import "`, "import _ \"golang.org/x/sys/unix\"\nimport \"")
		}, "dsprt/dsp.go: it imports golang.org/x/sys/unix, which is not there when a program is built"},
		{"an import of the compiler", func(b *Backend) {
			b.Sources = edited(`import "`, "import _ \"github.com/ggmlc/ggmlc/codegen\"\nimport \"")
		}, "it imports github.com/ggmlc/ggmlc/codegen"},
		{"cgo", func(b *Backend) { b.Sources = edited(`import "`, "import \"C\"\nimport \"") }, "it imports C: programs are built without cgo"},
		{"threads", func(b *Backend) { change(b, func(d *target.Descriptor) { d.Workers = true }) }, "its descriptor has Workers"},
		{"a name that is no word", func(b *Backend) { change(b, func(d *target.Descriptor) { d.Name = "DSP:0" }) }, `"DSP:0" is not a name for a backend`},
		{"another kind", func(b *Backend) { change(b, func(d *target.Descriptor) { d.Kind = "fake" }) }, `the kind "fake"`},
		{"a built-in name", func(b *Backend) {
			change(b, func(d *target.Descriptor) { d.Name, d.Kind, d.Like = "fake", "fake", "fake" })
		}, "there is a target fake already"},
		{"no memory", func(b *Backend) { change(b, func(d *target.Descriptor) { d.Spaces = nil }) }, "its descriptor has no memory"},
		{"a space that dumps cannot name", func(b *Backend) { change(b, func(d *target.Descriptor) { d.Spaces = []string{"my host"} }) },
			"its descriptor is not read from its text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := dsp("refused")
			c.edit(b)
			r := &registry{byName: make(map[string]*Backend)}
			r.register(b)
			err := errors.Join(r.errs...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if !strings.Contains(err.Error(), "example.com/dsp") || len(r.byName) > 0 || target.Builtin("refused") != nil {
				t.Errorf("%d backends, error %v", len(r.byName), err)
			}
		})
	}
}

// change edits the descriptor of a backend.
func change(b *Backend, edit func(*target.Descriptor)) {
	old := b.Target
	b.Target = func() *target.Descriptor {
		d := old()
		edit(d)
		return d
	}
}

func TestANameIsRegisteredOnce(t *testing.T) {
	r := &registry{byName: make(map[string]*Backend)}
	second := dsp("dsp")
	second.Module, second.Package = "example.com/other", "example.com/other/dsprt"
	third := dsp("third")
	r.register(dsp("dsp"))
	r.register(second)
	r.register(third)
	if len(r.errs) != 2 || r.errs[0].Error() != "backend dsp of example.com/other: example.com/dsp has registered a backend of this name: import one of the two" {
		t.Errorf("errors %v", r.errs)
	}
	if want := "are both called dsprt"; !strings.Contains(r.errs[1].Error(), want) {
		t.Errorf("error %v, want %q", r.errs[1], want)
	}
	if b := r.byName["dsp"]; b.Version() != 2 || b.CallsDriver() || b.LoaderName() != "dspLoader" {
		t.Errorf("%+v", b)
	}
}

// TestRegisteredTargetsAreBuiltIn registers a target, which is then named on command lines and in target files.
func TestRegisteredTargetsAreBuiltIn(t *testing.T) {
	r := &registry{byName: make(map[string]*Backend)}
	if r.register(dsp("builtin")); len(r.errs) > 0 {
		t.Fatal(r.errs)
	}
	l, err := target.Select("builtin:queues=1:memory=1GiB,cpu")
	if err != nil || l.All()[0].Kind != "builtin" || l.All()[0].Queues != 1 {
		t.Fatalf("error %v, targets %v", err, l)
	}
	d, err := target.ParseDescriptor("two like=builtin space=host")
	if err != nil || !d.Has(ir.OpNeg) || d.Kind != "builtin" {
		t.Errorf("error %v, target %v", err, d)
	}
	all := target.Builtins()
	if all[len(all)-1].Name != "cpu" {
		t.Errorf("the last built-in target is %v", all[len(all)-1])
	}
}

func TestCallsNameMethods(t *testing.T) {
	r, b := &registry{byName: make(map[string]*Backend)}, dsp("calls")
	b.Kernels[ir.OpNeg] = func(n *ir.Node) (Call, error) {
		switch n.Attr.(type) {
		case *ir.ScaleAttr:
			return Call{}, errors.New("it has an attribute")
		case *ir.ClampAttr:
			return Call{Method: "Neg", Args: []Arg{Address(new(ir.Value))}}, nil
		case *ir.NormAttr:
			return Call{Method: n.Args[0].Name()}, nil
		case *ir.CastAttr:
			return Call{Method: "Neg", Args: []Arg{{Kind: 9}}}, nil
		}
		return Call{Method: "Negate"}, nil
	}
	if r.register(b); len(r.errs) > 0 {
		t.Fatal(r.errs)
	}
	half := new(ir.Module).AddFunc("f").AddParam("x", ir.Type{DType: dtype.F16, Shape: ir.Dims(4)})
	const none = "the backend calls has no kernel for this neg: "
	for want, n := range map[string]*ir.Node{
		"the backend calls computes neg with Env.Negate, which example.com/dsp/dsprt does not declare":                   {Op: ir.OpNeg},
		"the backend calls has no kernel for this neg: it has an attribute":                                              {Op: ir.OpNeg, Attr: &ir.ScaleAttr{}},
		"the backend calls does not read these operands of neg: calls: neg: operand 0 %x is f16, which it does not read": {Op: ir.OpNeg, Args: []*ir.Value{half}},
		none + "its function panics: runtime error: index out of range":                                                  {Op: ir.OpNeg, Attr: &ir.NormAttr{}},
		none + "argument 0 is the address of ":                                                                           {Op: ir.OpNeg, Attr: &ir.ClampAttr{}},
		none + "argument 0 is of the kind 9, which there is not":                                                         {Op: ir.OpNeg, Attr: &ir.CastAttr{}},
		"the backend calls has no kernel for abs":                                                                        {Op: ir.OpAbs},
	} {
		if _, err := b.Call(n); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
