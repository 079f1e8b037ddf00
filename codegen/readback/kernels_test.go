package readback_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc"
	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestEachEmitterIsRead demands that readback knows what computes each op that the CPU's
// emitters know.
func TestEachEmitterIsRead(t *testing.T) {
	for op := range ir.Ops {
		if _, reads := readback.KernelOf(op); reads != codegen.HasCPUEmitter(op) && op != ir.OpObserve { // no kernel: a call of the worker
			t.Errorf("%v: cpuEmitters (codegen/cpu.go) has it: %v, kernels (codegen/readback/kernels.go) has it: %v",
				op, codegen.HasCPUEmitter(op), reads)
		}
	}
}

// TestKernelParametersAreTheDeclaredOnes compares what readback calls the parameters of kernels with their
// declarations: of each kernel that a node of some operands can have.
func TestKernelParametersAreTheDeclaredOnes(t *testing.T) {
	declared := make(map[string]string)
	if err := eachKernel(func(d *ast.FuncDecl, _ []string) { declared[d.Name.Name] = parameterNames(d) }); err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for op := range ir.Ops {
		params, ok := readback.KernelOf(op)
		if !ok {
			continue
		}
		exists := false
		for _, n := range nodesOf(op) {
			id := readback.KernelName(n)
			want := declared[id]
			if want == "" {
				continue // operands of formats that the op has no kernel for
			}
			exists, used[id] = true, true
			if params != want {
				t.Errorf("%v: %s is declared with the parameters %s, and read with %s", op, id, want, params)
			}
		}
		if !exists {
			t.Errorf("%v: none of its kernels is declared", op)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(declared)) {
		if !used[id] {
			t.Errorf("no node is computed by %s: add its op to kernels in codegen/readback/kernels.go", id)
		}
	}
}

// TestShapesAreTheDeclaredOnes compares what readback calls the fields of shapes with their declarations.
func TestShapesAreTheDeclaredOnes(t *testing.T) {
	data, err := fs.ReadFile(ggmlc.Sources, "kernels/cpu/shapes.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "shapes.go", data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	declared := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			declared[s.Name.Name] = fieldNames(s.Type.(*ast.StructType).Fields)
		}
		return true
	})
	if !maps.Equal(declared, readback.Shapes) {
		t.Errorf("the shapes %v are declared, and %v are read", declared, readback.Shapes)
	}
}

// TestTransferParametersAreTheDeclaredOnes is TestKernelParametersAreTheDeclaredOnes for the queues' methods that copy.
func TestTransferParametersAreTheDeclaredOnes(t *testing.T) {
	data, err := fs.ReadFile(ggmlc.Sources, "runtime/queues.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "queues.go", data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || readback.Transfers[fn.Name.Name] == "" {
			continue
		}
		found++
		// The label is called what where it is declared.
		if got, want := readback.Transfers[fn.Name.Name], strings.Replace(parameterNames(fn), "what", "label", 1); got != want {
			t.Errorf("%s is declared with the parameters %s, and read with %s", fn.Name.Name, want, got)
		}
	}
	if found != len(readback.Transfers) {
		t.Errorf("%d of %d methods are declared", found, len(readback.Transfers))
	}
}

// parameterNames returns the names of a function's parameters, those of shapes with their types.
func parameterNames(fn *ast.FuncDecl) string {
	names := strings.Fields(fieldNames(fn.Type.Params))
	for _, p := range fn.Type.Params.List {
		if id, ok := p.Type.(*ast.Ident); ok && strings.HasSuffix(id.Name, "Shape") {
			names[slices.Index(names, p.Names[0].Name)] += ":" + id.Name
		}
	}
	return strings.Join(names, " ")
}

// fieldNames returns the names of parameters, or of the fields of a struct.
func fieldNames(fields *ast.FieldList) string {
	var names []string
	for _, p := range fields.List {
		for _, id := range p.Names {
			names = append(names, id.Name)
		}
	}
	return strings.Join(names, " ")
}

// nodesOf returns nodes of an op with operands and results of all formats, as far as names of
// kernels depend on them. They need not be valid.
func nodesOf(op ir.Op) []*ir.Node {
	var list []*ir.Node
	dtypes := []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0}
	for d := range dtype.NumDTypes {
		if d.Scheme() != nil {
			dtypes = append(dtypes, d)
		}
	}
	for _, to := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.Q8A, dtype.Q8A_K} {
		for _, from := range dtypes {
			for _, layout := range []dtype.Layout{dtype.Plain, dtype.R16} {
				for _, oneRow := range []bool{false, true} {
					for _, attr := range attrsOf(op, to) {
						list = append(list, nodeOf(op, attr, from, to, layout, oneRow))
					}
				}
			}
		}
	}
	return list
}

// nodeOf returns a node, in a module with a product with weights of a format.
func nodeOf(op ir.Op, attr any, from, to dtype.DType, layout dtype.Layout, oneRow bool) *ir.Node {
	n := &ir.Node{Op: op, Attr: attr}
	for i := range 6 {
		shape := ir.Dims(4, 8)
		if oneRow && i == 1 {
			shape = ir.Dims(8)
		}
		n.Args = append(n.Args, &ir.Value{Type: ir.Type{DType: from, Layout: layout, Shape: shape}})
	}
	n.Results = []*ir.Value{{Type: ir.Type{DType: to, Shape: ir.Dims(4, 8)}}}
	n.Func = &ir.Func{Nodes: []*ir.Node{n, {Op: ir.OpMatMul, Args: []*ir.Value{n.Result(), n.Args[0]}}}}
	n.Func.Module = &ir.Module{Funcs: []*ir.Func{n.Func}}
	return n
}

// attrsOf returns attributes of an op, as far as names of kernels depend on them.
func attrsOf(op ir.Op, to dtype.DType) []any {
	switch op {
	case ir.OpAttention:
		return []any{&ir.AttentionAttr{}, &ir.AttentionAttr{BF16: true}}
	case ir.OpAttentionSegments:
		return []any{&ir.AttentionSegmentsAttr{}, &ir.AttentionSegmentsAttr{BF16: true}}
	}
	return []any{nil}
}
