package ir

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

const verifyText = `ggir 1
props imported,shaped
source m "x.gguf" 1
symbol n 1 8
weight "w" : f32[4,4] = m["w"]
state "s" : f32[1,2,8,4]
func @f(%x: f32[n,4], %i: i32[1]) -> (y: f32[n,4]) {
  %w = weight "w" : f32[4,4]
  %s = state "s" : f32[1,2,8,4]
  %y = matmul %x, %w : f32[n,4]
  %v = reshape %y {shape=[4*n]} : f32[4*n]
  %r = repeat %y, %w, %w {count=2, carried=1, invariant=0} : f32[n,4]
  body @b(%x: f32[n,4], %w: f32[4,4]) -> f32[n,4] {
    %y = matmul %x, %w : f32[n,4]
    return %y
  }
  return %r
}
func @g() -> () {
  return
}
`

// TestVerifyFindsDamage breaks a good module in one place at a time.
func TestVerifyFindsDamage(t *testing.T) {
	const w, y, v, r = 0, 2, 3, 4 // nodes of @f
	tests := []struct {
		name   string
		damage func(m *Module, f *Func)
		want   string
	}{
		{"operand of another function", func(m *Module, f *Func) { f.Nodes[y].Args[0] = f.Nodes[r].Body.Params[0] }, "@f %y: ssa: %x belongs to another function"},
		{"order", func(m *Module, f *Func) { f.Nodes[w], f.Nodes[y] = f.Nodes[y], f.Nodes[w] }, "@f %y: ssa: %w is not defined before it is read"},
		{"node twice", func(m *Module, f *Func) { f.Append(f.Nodes[y]) }, "@f %y: links: the node is twice in the order"},
		{"value twice", func(m *Module, f *Func) {
			f.Append(f.NewNode(OpNeg, nil, f.Params[:1], "")).Results = f.Nodes[y].Results
		}, "does not lead back"},
		{"function of a node", func(m *Module, f *Func) { f.Nodes[y].Func = m.Funcs[1] }, "@f %y: links: the node belongs to another function"},
		{"function of a value", func(m *Module, f *Func) { f.Nodes[y].Results[0].Func = m.Funcs[1] }, "@f %y: links: %y does not lead back"},
		{"id of a value", func(m *Module, f *Func) { f.Nodes[y].Results[0].ID = f.Params[0].ID }, "@f %y: links: the id 0 of %y"},
		{"id of a node", func(m *Module, f *Func) { f.Nodes[y].ID = 99 }, "@f %y: links: the id 99"},
		{"owner", func(m *Module, f *Func) { f.Nodes[r].Body.Owner = f.Nodes[y] }, "@b: links: the function's owner"},
		{"module", func(m *Module, f *Func) { f.Module = &Module{} }, "@f: links: the function belongs to another module"},
		{"id of a function", func(m *Module, f *Func) { f.Nodes[r].Body.ID = f.ID }, "@b: links: the function's id 0"},
		{"no body", func(m *Module, f *Func) { f.Nodes[r].Body = nil }, "@f %r: op: repeat has no body"},
		{"a body too many", func(m *Module, f *Func) { f.Nodes[y].Body = f.Nodes[r].Body }, "@f %y: op: matmul has a body"},
		{"op", func(m *Module, f *Func) { f.Nodes[y].Op = NumOps }, fmt.Sprintf("@f %%y: op: %d is not an operation", NumOps)},
		{"attributes", func(m *Module, f *Func) { f.Nodes[v].Attr = nil }, "@f %v: attributes: reshape: needs attributes"},
		{"symbol in attributes", func(m *Module, f *Func) {
			f.Nodes[v].Attr.(*ReshapeAttr).Shape[0] = Sym(&Symbol{"n", 1, 8}).Mul(Const(4))
		}, "@f %v: symbols: n in 4*n is not a symbol of the module"},
		{"symbol in a type", func(m *Module, f *Func) { f.Params[0].Type.Shape[0] = Sym(&Symbol{"n", 1, 8}) }, "symbols: n in n"},
		{"operands", func(m *Module, f *Func) { f.Nodes[y].Args = f.Nodes[y].Args[:1] }, "@f %y: operands: matmul: operand w is missing"},
		{"type", func(m *Module, f *Func) { f.Params[0].Type.DType = 0 }, "@f: type: the dtype is missing"},
		{"shape", func(m *Module, f *Func) { f.Nodes[y].Results[0].Type.Shape = Dims(4, 4) }, "@f %y: shape: declared f32[4,4], inferred f32[n,4]"},
		{"nil result", func(m *Module, f *Func) { f.Results[0] = nil }, "@f return: ssa: a result is nil"},
		{"nil result of a body", func(m *Module, f *Func) { f.Nodes[r].Body.Results[0] = nil }, "@b return: ssa: a result is nil"},
		{"nil value", func(m *Module, f *Func) { f.Nodes[y].Results[0] = nil }, "@f matmul: links: a result is nil"},
		{"result names", func(m *Module, f *Func) { f.ResultNames = nil }, "@f return: links: 0 names for 1 result"},
		{"weight name", func(m *Module, f *Func) { m.Weights = append(m.Weights, m.Weights[0]) }, `weight "w": names: the name is taken`},
		{"empty name", func(m *Module, f *Func) { m.States[0].Name = "" }, `state "": names: the name is empty`},
		{"source", func(m *Module, f *Func) { m.Sources = nil }, `weight "w": source: source m is not declared`},
		{"symbol name", func(m *Module, f *Func) { m.Symbols[0].Name = "max" }, `symbol "max": names: a symbol cannot`},
		{"epochs", func(m *Module, f *Func) { m.Props |= PropPartitioned; f.Epochs = 1 << 30 }, "@f: epoch: 1073741824 epochs, and the last node is of epoch 0"},
		{"symbol bounds", func(m *Module, f *Func) { m.Symbols[0].Min = 9 }, `symbol "n": symbols: bounds 9 to 8`},
		{"function name", func(m *Module, f *Func) { m.Funcs[1].Name = "f" }, `function "f": names: the name is taken`},
		{"no plan", func(m *Module, f *Func) { m.Props |= PropPlaced }, "placed: there is no plan"},
		{"backend", func(m *Module, f *Func) { m.Props |= PropAssigned }, "@f %y: assigned: matmul has no backend"},
		{"space of a parameter", func(m *Module, f *Func) { m.Props |= PropAssigned }, "assigned: %x is in no space"},
		{"steps under way", func(m *Module, f *Func) { m.Props |= PropPlaced; m.Plan = &Plan{Pipeline: 65} }, "plan: plan: pipeline=65: at most 64 steps"},
		{"split", func(m *Module, f *Func) { m.Props |= PropSplit }, "@f %y: split: matmul belongs to no split"},
		{"epoch", func(m *Module, f *Func) { m.Props |= PropPartitioned; f.Nodes[y].Epoch = 3 }, "@f %y: epoch: epoch 3 is outside"},
		{"division", func(m *Module, f *Func) {
			m.Props |= PropPartitioned
			f.Nodes[y].Part = Partition{Mode: PartSplit, Axis: 1, N: Const(3), Granule: 1}
		}, "@f %y: partition: 3 elements of axis 1"},
		{"granule", func(m *Module, f *Func) {
			m.Props |= PropPartitioned
			f.Nodes[y].Part = Partition{Mode: PartSplit, Axis: 0, N: f.Nodes[y].Results[0].Type.Shape[0], Granule: math.MaxInt64}
		}, "@f %y: partition: the granule 9223372036854775807 is outside 1 to 281474976710656"},
		{"address", func(m *Module, f *Func) { m.Props |= PropPlaced; m.Plan = &Plan{} }, "@f %y: placed: has no address"},
		{"arena", func(m *Module, f *Func) {
			m.Props |= PropPlaced
			m.Plan, f.Nodes[y].Results[0].Place = &Plan{}, &Place{Arena: 5}
		}, "@f %y: placed: arena 5 of 0"},
		{"event", func(m *Module, f *Func) { f.Nodes[y].Submitted().Waits = []Wait{{Event: 7}} }, "@f %y: event: it waits for event 7"},
		{"event number", func(m *Module, f *Func) { f.Nodes[y].Submitted().Event = math.MaxInt32 }, "@f %y: event: the event 2147483647 is outside 1 to 68: number events from 1 on"},
		{"call", func(m *Module, f *Func) { f.Append(f.NewNode(OpCall, &CallAttr{Func: "f"}, nil, "")) }, "@f: call: @f calls itself"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			m := mustParse(t, verifyText)
			if err := Verify(m); err != nil {
				t.Fatal(err)
			}
			tt.damage(m, m.Funcs[0])
			err := Verify(m)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
			_ = m.String() // what is broken must still be printed
		})
	}
}

func TestAllViolationsAreReported(t *testing.T) {
	m := mustParse(t, verifyText)
	m.Funcs[0].Params[0].Type.DType = 0
	m.Weights[0].Name = ""
	var e *VerifyError
	if err := Verify(m); !errors.As(err, &e) || len(e.Violations) < 3 {
		t.Errorf("got %v", err)
	}
}

func TestEqualNamesTheDifference(t *testing.T) {
	tests := []struct {
		change func(m *Module)
		want   string
	}{
		{func(m *Module) { m.Name = "x" }, "module name"},
		{func(m *Module) { m.Weights[0].Type.Space = "host" }, `weight "w": f32[4,4] is not f32[4,4] @host`},
		{func(m *Module) { m.Weights[0].Expr.Tensor = "u" }, `m["w"] is not m["u"]`},
		{func(m *Module) { m.States = nil }, "number of states: 1 is not 0"},
		{func(m *Module) { m.States[0].Place = &Place{} }, `place of state "s"`},
		{func(m *Module) { m.Funcs[0].Nodes[2].Backend = "cpu" }, "@f: %y: backend:  is not cpu"},
		{func(m *Module) { m.Funcs[0].Nodes[2].Cause(Cause{Rule: "r"}) }, "@f: %y: number of causes"},
		{func(m *Module) { m.Funcs[0].Nodes[3].Attr.(*ReshapeAttr).Shape = nil }, "{shape=[4*n]} is not {shape=[]}"},
		{func(m *Module) { m.Funcs[0].Nodes[4].Body.Nodes[0].Op = OpAdd }, "@f: %r: @b: %y: op: matmul is not add"},
		{func(m *Module) { m.Plan = &Plan{} }, "plan: false is not true"},
		{func(m *Module) { m.LM = &LanguageModel{} }, "language model: false is not true"},
	}
	for _, tt := range tests {
		m, n := mustParse(t, verifyText), mustParse(t, verifyText)
		tt.change(n)
		if equal, diff := Equal(m, n); equal || !strings.Contains(diff, tt.want) {
			t.Errorf("got %q, want %q", diff, tt.want)
		}
		if Hash(m) == Hash(n) {
			t.Errorf("%s: the hash stays", tt.want)
		}
	}
}

func TestSameNodesHaveTheSameHash(t *testing.T) {
	m := mustParse(t, `func @f(%x: f32[4], %y: f32[4]) -> () {
  %a = add %x, %y
  %b = add %x, %y pos="b"
  %c = add %y, %x
  %d = scale %x {scale=1}
  %e = scale %x {scale=2}
  return
}`)
	n := m.Funcs[0].Nodes
	if !SameNode(n[0], n[1]) || HashNode(n[0]) != HashNode(n[1]) {
		t.Error("a and b compute the same")
	}
	for _, pair := range [][2]*Node{{n[0], n[2]}, {n[3], n[4]}, {n[0], n[3]}} {
		if SameNode(pair[0], pair[1]) || HashNode(pair[0]) == HashNode(pair[1]) {
			t.Errorf("%v and %v do not compute the same", pair[0], pair[1])
		}
	}
}

// TestVerifiedPropsAreThoseThatVerifyChecks: of a module that holds nothing but its form, only the properties that the
// verifier looks into are missed.
func TestVerifiedPropsAreThoseThatVerifyChecks(t *testing.T) {
	b := NewBuilder("m")
	f := b.Func("f")
	f.Return("y", f.Neg(f.Param("x", f32Type(Const(4)))))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m.Funcs[0].Nodes[0].Epoch = 7 // of none
	for i, name := range propNames {
		p := Props(1) << i
		if p == PropShaped {
			continue // it holds
		}
		m.Props = PropImported | PropShaped | p
		if err := Verify(m); (err != nil) != (p&VerifiedProps != 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
