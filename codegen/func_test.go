package codegen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// chain returns a placed module of n nodes in a row, as if passes had run: each node works
// on the same bytes in an epoch of its own.
func chain(t *testing.T, n int) *ir.Module {
	t.Helper()
	var b strings.Builder
	b.WriteString("ggir 1\nmodule \"chain\"\nafter import\nprops imported\nfunc @f(%v0: f32[64]) -> (y: f32[64]) {\n")
	for i := range n {
		fmt.Fprintf(&b, "  %%v%d = relu %%v%d : f32[64]\n", i+1, i)
	}
	fmt.Fprintf(&b, "  return %%v%d\n}\n", n)
	m, err := ir.Parse("chain", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Funcs[0]
	place := &ir.Place{}
	f.Params[0].Place = place
	for i, node := range f.Nodes {
		node.Backend, node.Epoch = "cpu", i
		node.Result().Place = place
	}
	f.Epochs = n
	m.Plan = &ir.Plan{
		Arenas: []ir.Arena{{Space: "host", Class: ir.ClassIO, Chunks: []int64{256}}},
		Funcs:  []ir.FuncPlan{{Func: "f", Nodes: int64(n), Barriers: int64(n - 1)}},
	}
	m.Props |= ir.PropPlaced | ir.PropChecked
	return m
}

// TestLongFunctionsAreSplit counts calls in the functions of a long chain: none has more
// than maxCalls, none of the nodes is lost, and each part ends with a call of the next.
func TestLongFunctionsAreSplit(t *testing.T) {
	for _, n := range []int{1, maxCalls, maxCalls + 1, 5*maxCalls + 7} {
		p, err := Emit(chain(t, n), Options{Package: "tiny", Compiler: "test", Name: "chain"})
		if err != nil {
			t.Fatal(err)
		}
		calls := callsOf(t, p)
		total := 0
		for name, c := range calls {
			total += c["ReLUF32"]
			if c["ReLUF32"] > maxCalls {
				t.Errorf("%d nodes: %s has %d calls", n, name, c["ReLUF32"])
			}
		}
		if parts := (n + maxCalls - 1) / maxCalls; total != n || len(calls) != parts {
			t.Errorf("%d nodes: %d calls in %d functions", n, total, len(calls))
		}
		if barriers := sum(calls, "Barrier"); barriers != n-1 {
			t.Errorf("%d nodes: %d barriers, want %d", n, barriers, n-1)
		}
		for part := 2; part <= len(calls); part++ {
			if next := fmt.Sprintf("fPart%d", part); sum(calls, next) != 1 {
				t.Errorf("%d nodes: %s is called %d times", n, next, sum(calls, next))
			}
		}
	}
}

// callsOf counts what each function of steps.go calls.
func callsOf(t *testing.T, p *Package) map[string]map[string]int {
	t.Helper()
	counts := make(map[string]map[string]int)
	for _, f := range p.Files {
		if f.Name != "steps.go" {
			continue
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), f.Name, bytes.NewReader(f.Data), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				counts[fn.Name.Name] = countCalls(fn)
			}
		}
	}
	return counts
}

func countCalls(fn *ast.FuncDecl) map[string]int {
	c := make(map[string]int)
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				c[f.Sel.Name]++
			case *ast.Ident:
				c[f.Name]++
			}
		}
		return true
	})
	return c
}

func sum(calls map[string]map[string]int, name string) int {
	n := 0
	for _, c := range calls {
		n += c[name]
	}
	return n
}

func TestEmitWantsACheckedPlan(t *testing.T) {
	m := chain(t, 1)
	m.Props &^= ir.PropChecked
	if _, err := Emit(m, Options{Package: "tiny"}); err == nil || !strings.Contains(err.Error(), "no checked plan") {
		t.Errorf("got %v", err)
	}
}
