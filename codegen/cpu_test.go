package codegen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestNamedKernelsExist asks for the kernel of each row of the CPU's descriptor, for every dtype
// and layout that the row claims, and looks for it in kernels/cpu.
func TestNamedKernelsExist(t *testing.T) {
	kernels := exportedFuncs(t, filepath.Join("..", "kernels", "cpu"))
	cpu, asked := target.CPU(), 0
	for _, row := range cpu.Rows {
		for _, n := range nodesOf(row) {
			if ok, _ := cpu.Supports(n); !ok {
				continue // a check of the row refuses this combination
			}
			if n.Op == ir.OpObserve {
				continue // no kernel: a call of the worker
			}
			asked++
			if name := cpuEmitters[n.Op].kernel(n); !kernels[name] {
				t.Errorf("%v of %v: kernels/cpu has no %s", n.Op, typesOf(n), name)
			}
		}
	}
	if asked < 60 {
		t.Errorf("only %d combinations were asked for", asked)
	}
}

// exportedFuncs returns the names of a package's exported functions.
func exportedFuncs(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// nodesOf returns a node for every combination of dtypes and layouts of a row. Shapes are
// such that they fit every op well enough to be asked about.
func nodesOf(row target.Row) []*ir.Node {
	nodes := []*ir.Node{{Op: row.Op, Attr: ir.NewAttr(row.Op)}}
	for _, format := range row.Args {
		var more []*ir.Node
		for _, n := range nodes {
			for _, d := range format.DTypes {
				for _, l := range format.Layouts {
					m := *n
					typ := ir.Type{DType: d, Layout: l, Shape: ir.Dims(32, 32)}
					m.Args = append(append([]*ir.Value(nil), n.Args...), &ir.Value{Type: typ})
					more = append(more, &m)
				}
			}
		}
		nodes = more
	}
	var all []*ir.Node
	for _, n := range nodes {
		all = append(all, withResults(n)...)
	}
	return all
}

// TestBoundedBlocks asks for the kernel of a value that products read, by the products that the module has.
func TestBoundedBlocks(t *testing.T) {
	const head = `weight "a" : q8_0[32,64] = quantize(m["a"], q8_0)
weight "b" : q4_0[32,64] = quantize(m["b"], q4_0)
weight "e" : q8_0[4,32,64] = m["e"]
weight "k" : q4_k[32,256] = m["k"]
`
	tests := []struct{ name, params, body, results, want string }{
		{"bytes", "", "%p = matmul %q, %a", "p: f32[4,32]", "QuantizeQ8ABounded"},
		{"two of bytes", "", "%s = matmul %q, %a\n %p = matmul_swiglu %q, %a, %a", "p: f32[4,32], s: f32[4,32]", "QuantizeQ8ABounded"},
		{"floats", ", %y: f32[40,64]", "%p = matmul %x, %y", "p: f32[4,40], q: q8a[4,64]", "QuantizeQ8A"},
		{"nibbles", "", "%p = matmul %q, %b", "p: f32[4,32]", "QuantizeQ8A"},
		{"both", "", "%s = matmul %q, %b\n %p = matmul %q, %a", "p: f32[4,32], s: f32[4,32]", "QuantizeQ8A"},
		{"another row", ", %y: f32[4,64]", "%r = quantize %y\n %s = matmul %r, %b\n %p = matmul %q, %a", "p: f32[4,32], s: f32[4,32]", "QuantizeQ8A"},
		{"superblocks", ", %y: f32[4,256]", "%r = quantize %y {to=q8a_k}\n %s = matmul %r, %k\n %p = matmul %q, %a", "p: f32[4,32], s: f32[4,32]", "QuantizeQ8ABounded"},
		{"a result", "", "%p = matmul %q, %a", "p: f32[4,32], q: q8a[4,64]", "QuantizeQ8ABounded"},
		{"experts", ", %y: f32[3,1,64], %i: i32[3,2]", "%r = quantize %y\n %s = experts_matmul %r, %e, %i\n %p = matmul %q, %a", "p: f32[4,32], s: f32[3,2,32]", "QuantizeQ8A"},
	}
	for _, tt := range tests {
		var names []string
		for result := range strings.SplitSeq(tt.results, ", ") {
			names = append(names, "%"+result[:1])
		}
		weights := ""
		for _, w := range []string{"a", "b", "e", "k"} {
			if strings.Contains(tt.body, "%"+w) {
				weights += fmt.Sprintf("%%%s = weight %q\n", w, w)
			}
		}
		text := fmt.Sprintf("source m \"none\" 0\n%sfunc @f(%%x: f32[4,64]%s) -> (%s) {\n%s%%q = quantize %%x\n%s\nreturn %s\n}\n",
			head, tt.params, tt.results, weights, tt.body, strings.Join(names, ", "))
		m, err := ir.Parse(tt.name, []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		nodes := m.Funcs[0].Nodes
		q := nodes[slices.IndexFunc(nodes, func(n *ir.Node) bool { return n.Op == ir.OpQuantize && n.Args[0].Name() == "x" })]
		if got := quantizeKernel(q); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// withResults gives a node its result; a cast, and a node that makes activations, has one for each dtype that it makes. It is
// in a module without products, and what makes activations also in one with a product with q8_0.
func withResults(n *ir.Node) []*ir.Node {
	to := []dtype.DType{dtype.F32}
	switch n.Op {
	case ir.OpCast:
		to = []dtype.DType{dtype.F32, dtype.F16, dtype.BF16}
	case ir.OpQuantize:
		to = []dtype.DType{dtype.Q8A, dtype.Q8A_K}
	case ir.OpRMSNormQuantize:
		to = []dtype.DType{dtype.Q8A, dtype.Q8A_K, dtype.BF16}
	}
	var all []*ir.Node
	for _, d := range to {
		m := *n
		switch n.Op {
		case ir.OpCast:
			m.Attr = &ir.CastAttr{To: d}
		case ir.OpQuantize:
			m.Attr = &ir.QuantizeAttr{To: d}
		case ir.OpRMSNormQuantize:
			m.Attr = &ir.NormQuantizeAttr{To: d}
		}
		m.Results = []*ir.Value{{Type: ir.Type{DType: d, Shape: ir.Dims(32, 32)}}}
		m.Func = &ir.Func{Module: &ir.Module{}}
		all = append(all, &m)
		if d == dtype.Q8A {
			beside := m
			weight := &ir.Value{Type: ir.Type{DType: dtype.Q8_0, Shape: ir.Dims(32, 32)}}
			product := &ir.Func{Nodes: []*ir.Node{{Op: ir.OpMatMul, Args: []*ir.Value{m.Result(), weight}}}}
			beside.Func = &ir.Func{Module: &ir.Module{Funcs: []*ir.Func{product}}}
			all = append(all, &beside)
		}
	}
	return all
}

func typesOf(n *ir.Node) []string {
	var types []string
	for _, a := range n.Args {
		types = append(types, a.Type.String())
	}
	return types
}
