package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/passes/check/parts"
	"github.com/ggmlc/ggmlc/passes/shard"
)

// layers has a fused product of three segments, a cache, a sum over heads, a feed-forward part and two sums that are
// added up together. On three devices with shares 2, 1 and 1 the last has nothing of "small".
const layers = `ggir 1
props imported,shaped
source m "m.gguf" 0
weight "qkv" : f32[16,8] = m["qkv"] divide "heads" 0 4 [8, 4, 4]
weight "out" : f32[8,8] = m["out"] divide "heads" 1 4 [8]
weight "up" : f32[12,8] = m["up"] divide "ffn" 0 12 [12]
weight "down" : f32[8,12] = m["down"] divide "ffn" 1 12 [12]
weight "small" : f32[2,8] = m["small"] divide "small" 0 2 [2]
weight "grow" : f32[8,2] = m["grow"] divide "small" 1 2 [2]
state "seen" : f32[1,4,8,1] divide "heads" 1 4 [4]
func @f(%x: f32[3,8], %slot: i32[3], %pos: i32[3], %lengths: i32[1]) -> (y: f32[3,8], a: f32[3,12]) {
  %qkv = weight "qkv" : f32[16,8]
  %out = weight "out" : f32[8,8]
  %up = weight "up" : f32[12,8]
  %down = weight "down" : f32[8,12]
  %small = weight "small" : f32[2,8]
  %grow = weight "grow" : f32[8,2]
  %all = matmul %x, %qkv : f32[3,16]
  %q0 = slice %all {axis=1, start=0, len=8} : f32[3,8 strides 16,1]
  %k0 = slice %all {axis=1, start=8, len=4} : f32[3,4 strides 16,1]
  %v0 = slice %all {axis=1, start=12, len=4} : f32[3,4 strides 16,1]
  %q1 = tanh %q0 : f32[3,8]
  %k1 = tanh %k0 : f32[3,4]
  %v1 = add %k1, %v0 : f32[3,4]
  %k = reshape %v1 {shape=[3,4,1]} : f32[3,4,1]
  %seen = state "seen" : f32[1,4,8,1]
  %now = state_write %seen, %k, %slot, %pos : f32[1,4,8,1]
  %q = reshape %k1 {shape=[3,4,1]} : f32[3,4,1]
  %h = attention %q, %now, %now, %slot, %pos, %lengths {scale=1} : f32[3,4,1]
  %h2 = concat %h, %q {axis=2} : f32[3,4,2]
  %h3 = reshape %h2 {shape=[3,8]} : f32[3,8]
  %h4 = mul %h3, %q1 : f32[3,8]
  %o = matmul %h4, %out : f32[3,8]
  %r = add %o, %x : f32[3,8]
  %a = matmul %r, %up : f32[3,12]
  %b = silu %a : f32[3,12]
  %c = matmul %b, %down : f32[3,8]
  %s = matmul %r, %small : f32[3,2]
  %t = tanh %s : f32[3,2]
  %g = matmul %t, %grow : f32[3,8]
  %sum = add %c, %g : f32[3,8]
  %y = add %r, %sum : f32[3,8]
  return %y, %a
}
`

// sharedHeads has 4 heads, with biases by their number, and 2 heads of keys and values; and 4 that read one.
const sharedHeads = `ggir 1
props imported,shaped
source m "m.gguf" 0
weight "q" : f32[8,8] = m["q"] divide "heads" 0 4 [8]
weight "kv" : f32[8,8] = m["kv"] divide "heads" 0 4 [2*2, 2*2]
weight "out" : f32[8,8] = m["out"] divide "heads" 1 4 [8]
weight "one" : f32[12,8] = m["one"] divide "one" 0 4 [8, 1*2, 1*2]
weight "out1" : f32[8,8] = m["out1"] divide "one" 1 4 [8]
state "keys" : f32[1,2,8,2] divide "heads" 1 4 [2*1]
state "values" : f32[1,2,8,2] divide "heads" 1 4 [2*1]
state "keys1" : f32[1,1,8,2] divide "one" 1 4 [1*1]
state "values1" : f32[1,1,8,2] divide "one" 1 4 [1*1]
func @f(%x: f32[3,8], %slot: i32[3], %pos: i32[3], %lengths: i32[1]) -> (y: f32[3,8]) {
  %q = weight "q" : f32[8,8]
  %kv = weight "kv" : f32[8,8]
  %out = weight "out" : f32[8,8]
  %one = weight "one" : f32[12,8]
  %out1 = weight "out1" : f32[8,8]
  %qs = matmul %x, %q : f32[3,8]
  %q3 = reshape %qs {shape=[3,4,2]} : f32[3,4,2]
  %kvs = matmul %x, %kv : f32[3,8]
  %kv3 = reshape %kvs {shape=[3,4,2]} : f32[3,4,2]
  %k0 = slice %kv3 {axis=1, start=0, len=2} : f32[3,2,2 strides 8,2,1]
  %v0 = slice %kv3 {axis=1, start=2, len=2} : f32[3,2,2 strides 8,2,1]
  %k = tanh %k0 : f32[3,2,2]
  %v = tanh %v0 : f32[3,2,2]
  %keys = state "keys" : f32[1,2,8,2]
  %values = state "values" : f32[1,2,8,2]
  %ks = state_write %keys, %k, %slot, %pos : f32[1,2,8,2]
  %vs = state_write %values, %v, %slot, %pos : f32[1,2,8,2]
  %h = attention %q3, %ks, %vs, %slot, %pos, %lengths {scale=1, alibi=8} : f32[3,4,2]
  %h2 = reshape %h {shape=[3,8]} : f32[3,8]
  %o = matmul %h2, %out : f32[3,8]
  %r = add %o, %x : f32[3,8]
  %all = matmul %r, %one : f32[3,12]
  %all3 = reshape %all {shape=[3,6,2]} : f32[3,6,2]
  %q1 = slice %all3 {axis=1, start=0, len=4} : f32[3,4,2 strides 12,2,1]
  %k1 = slice %all3 {axis=1, start=4, len=1} : f32[3,1,2 strides 12,2,1]
  %v1 = slice %all3 {axis=1, start=5, len=1} : f32[3,1,2 strides 12,2,1]
  %q2 = tanh %q1 : f32[3,4,2]
  %k2 = tanh %k1 : f32[3,1,2]
  %v2 = tanh %v1 : f32[3,1,2]
  %keys1 = state "keys1" : f32[1,1,8,2]
  %values1 = state "values1" : f32[1,1,8,2]
  %ks1 = state_write %keys1, %k2, %slot, %pos : f32[1,1,8,2]
  %vs1 = state_write %values1, %v2, %slot, %pos : f32[1,1,8,2]
  %h1 = attention %q2, %ks1, %vs1, %slot, %pos, %lengths {scale=1} : f32[3,4,2]
  %h3 = reshape %h1 {shape=[3,8]} : f32[3,8]
  %o1 = matmul %h3, %out1 : f32[3,8]
  %y = add %o1, %r : f32[3,8]
  return %y
}
`

// writtenOut has attention without the op: products, softmax and products for each head.
var writtenOut = `ggir 1
props imported,shaped
source m "m.gguf" 0
weight "q" : f32[8,8] = m["q"] divide "heads" 0 4 [8]
weight "k" : f32[8,8] = m["k"] divide "heads" 0 4 [8]
weight "v" : f32[8,8] = m["v"] divide "heads" 0 4 [8]
weight "out" : f32[8,8] = m["out"] divide "heads" 1 4 [8]
func @f(%x: f32[3,8], %slot: i32[3], %pos: i32[3], %lengths: i32[1]) -> (y: f32[3,8]) {
  %q = weight "q" : f32[8,8]
  %k = weight "k" : f32[8,8]
  %v = weight "v" : f32[8,8]
  %out = weight "out" : f32[8,8]
  %qs = matmul %x, %q : f32[3,8]
  %ks = matmul %x, %k : f32[3,8]
  %vs = matmul %x, %v : f32[3,8]
` + headsWrittenOut(4) + `  %a = concat %y0, %y1, %y2, %y3 {axis=1} : f32[3,8]
  %o = matmul %a, %out : f32[3,8]
  %y = add %o, %x : f32[3,8]
  return %y
}
`

// headsWrittenOut returns the nodes of that many heads of two elements.
func headsWrittenOut(heads int) string {
	var b strings.Builder
	for h := range heads {
		for _, x := range []string{"q", "k", "v"} {
			fmt.Fprintf(&b, "  %%%s%d = slice %%%ss {axis=1, start=%d, len=2} : f32[3,2 strides 8,1]\n", x, h, x, 2*h)
			fmt.Fprintf(&b, "  %%%st%d = tanh %%%s%d : f32[3,2]\n", x, h, x, h)
		}
		fmt.Fprintf(&b, "  %%z%d = matmul %%qt%d, %%kt%d : f32[3,3]\n", h, h, h)
		fmt.Fprintf(&b, "  %%p%d = softmax %%z%d : f32[3,3]\n", h, h)
		fmt.Fprintf(&b, "  %%w%d = permute %%vt%d {perm=[1,0]} : f32[2,3 strides 1,2]\n", h, h)
		fmt.Fprintf(&b, "  %%c%d = copy %%w%d : f32[2,3]\n", h, h)
		fmt.Fprintf(&b, "  %%y%d = matmul %%p%d, %%c%d : f32[3,2]\n", h, h, h)
	}
	return b.String()
}

// partedModules are what the tests divide.
var partedModules = map[string]string{"layers": layers, "shared heads": sharedHeads, "written out": writtenOut}

// layersOn returns a module with the states of its values, and what it is on the devices.
func layersOn(t *testing.T, text string, shares []float64) (before, after *ir.Module) {
	t.Helper()
	order := ir.SumDirect
	if len(shares) > 2 {
		order = ir.SumFirst
	}
	return layersIn(t, text, shares, order)
}

// layersIn is layersOn with an order of sums.
func layersIn(t *testing.T, text string, shares []float64, order ir.SumOrder) (before, after *ir.Module) {
	t.Helper()
	before, err := ir.Parse("layers", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	given := givenStates(t, before, shares)
	if after, _, err = shard.SpreadIn(before, len(shares), given, order); err != nil {
		t.Fatal(err)
	}
	if before, _, err = shard.Divide(before, len(shares), given, order); err != nil {
		t.Fatal(err)
	}
	return before, after
}

// computed returns the results of two steps of a module: the second reads what the first has written.
func computed(t *testing.T, before, after *ir.Module) ([]float64, error) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(shape ...int) eval.Tensor {
		n := 1
		for _, k := range shape {
			n *= k
		}
		list := make([]float64, n)
		for i := range list {
			list[i] = r.NormFloat64()
		}
		return eval.Of(list, shape...)
	}
	env := &eval.Env{Weights: make(map[string]eval.Tensor), Inputs: make(map[string]eval.Tensor), States: make(map[string]eval.Tensor)}
	for _, w := range before.Weights {
		var shape []int
		for _, d := range w.Type.Shape {
			n, _ := d.IsConst()
			shape = append(shape, int(n))
		}
		env.Weights[w.Name] = random(shape...)
	}
	if err := addParts(after, env); err != nil {
		return nil, err
	}
	var all []float64
	for step := range 2 {
		p := float64(3 * step)
		env.Inputs["x"], env.Inputs["slot"] = random(3, 8), eval.Of([]float64{0, 0, 0}, 3)
		env.Inputs["pos"], env.Inputs["lengths"] = eval.Of([]float64{p, p + 1, p + 2}, 3), eval.Of([]float64{p + 3}, 1)
		got, err := eval.Run(t.Context(), after, "f", env)
		if err != nil {
			return nil, err
		}
		for _, g := range got {
			all = append(all, g.Flat()...)
		}
	}
	return all, nil
}

var groupShares = [][]float64{{1, 1}, {2, 1, 1}, {1, 0, 3}, {1, 1, 1, 1}}

func TestLayersComputeTheSame(t *testing.T) {
	for name, text := range partedModules {
		for _, shares := range append(groupShares, []float64{1, 1, 1, 1, 1, 1, 1, 1}) {
			if name == "layers" && len(shares) == 8 {
				continue // it has heads for 4
			}
			before, after := layersOn(t, text, shares)
			want, err := computed(t, before, before)
			if err != nil {
				t.Fatal(err)
			}
			got, err := computed(t, before, after)
			if err != nil {
				t.Fatal(err)
			}
			if d := distanceOf(got, want); !(d < 1e-12) {
				t.Errorf("%s, shares %v: distance %.3g", name, shares, d)
			}
		}
	}
}

// TestWrittenOutAttentionIsDivided: each head is computed by the device that has it, and only one sum is exchanged.
func TestWrittenOutAttentionIsDivided(t *testing.T) {
	for _, shares := range groupShares {
		m, err := ir.Parse("written out", []byte(writtenOut))
		if err != nil {
			t.Fatal(err)
		}
		after, collectives, err := shard.Spread(m, len(shares), givenStates(t, m, shares))
		if err != nil {
			t.Fatal(err)
		}
		softmaxes := 0
		for _, n := range after.Funcs[0].Nodes {
			if n.Op == ir.OpSoftmax {
				softmaxes++
			}
		}
		moved := slices.DeleteFunc(collectives, func(c shard.Collective) bool { return c.Kind == shard.TakePart })
		if softmaxes != 4 || len(moved) != 1 || moved[0].Kind != shard.AllReduce {
			t.Errorf("shares %v: %d heads, collectives %v", shares, softmaxes, collectives)
		}
	}
}

// TestCheckObjectsToMutants changes written-out modules in all ways of a list: what computes something else has to be
// found without computing it.
func TestCheckObjectsToMutants(t *testing.T) {
	found := make(map[string]int)
	for _, shares := range groupShares[:3] {
		checkLayers(t, layers, shares, found)
	}
	for _, shares := range [][]float64{{1, 1}, {3, 0, 1}, {1, 1, 1, 1}} {
		checkLayers(t, sharedHeads, shares, found)
	}
	for _, shares := range [][]float64{{1, 1}, {1, 0, 3}} {
		checkLayers(t, writtenOut, shares, found)
	}
	t.Logf("reported: %v", found)
	for _, kind := range []string{"operand", "summand", "slice", "weight", "result", "exchange", "head"} {
		if found[kind] == 0 {
			t.Errorf("no mutant of the kind %s is reported", kind)
		}
	}
}

func checkLayers(t *testing.T, text string, shares []float64, found map[string]int) {
	before, after := layersOn(t, text, shares)
	checkMutants(t, before, after, mutants(before, after), fmt.Sprint(shares), found)
}

// checkMutants changes a module on devices, and counts the kinds of changes that are found.
func checkMutants(t *testing.T, before, after *ir.Module, list []mutant, name string, found map[string]int) {
	want, err := computed(t, before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		changed := after.Clone()
		m.change(changed)
		if ir.Verify(changed) != nil {
			continue
		}
		err := parts.Check(before, changed)
		got, runErr := computed(t, before, changed)
		same := runErr == nil && distanceOf(got, want) < 1e-9
		switch {
		case err == nil && !same:
			t.Errorf("%s: %s: it computes something else, and nothing is reported", name, m.what)
		case err != nil:
			found[m.kind]++
		}
	}
}

// mutant is a change of a module.
type mutant struct {
	kind, what string
	change     func(m *ir.Module)
}

// mutants returns changes of a module: operands exchanged for others of the same type, among them sums that are read
// before they are added up and summands that are dropped; slices and parts of weights moved; parts exchanged; other
// results.
func mutants(before, m *ir.Module) (list []mutant) {
	f := m.Funcs[0]
	for i, n := range f.Nodes {
		for k, a := range n.Args {
			for j := range f.Nodes[:i] {
				v := f.Nodes[j].Result()
				if v == a || !v.Type.Equal(a.Type) {
					continue
				}
				list = append(list, mutant{"operand", fmt.Sprintf("%v reads %v in place of %v", n, v, a), func(m *ir.Module) {
					m.Funcs[0].Nodes[i].Args[k] = m.Funcs[0].Nodes[j].Result()
				}})
			}
		}
		switch n.Attr.(type) {
		case *ir.SliceAttr:
			list = append(list, mutant{"slice", fmt.Sprintf("%v begins one later", n), func(m *ir.Module) {
				s := m.Funcs[0].Nodes[i].Attr.(*ir.SliceAttr)
				s.Start = s.Start.Add(ir.Const(1))
			}})
		case *ir.AttentionAttr:
			list = append(list, mutant{"head", fmt.Sprintf("%v has the bias of the next head", n), func(m *ir.Module) {
				a := m.Funcs[0].Nodes[i].Attr.(*ir.AttentionAttr)
				a.Head, a.Heads = (a.Head+1)%4, max(a.Heads, 4)
			}})
		case *ir.ConcatAttr:
			list = append(list, mutant{"exchange", fmt.Sprintf("%v has two parts exchanged", n), func(m *ir.Module) {
				args := m.Funcs[0].Nodes[i].Args
				args[0], args[1] = args[1], args[0]
			}})
		}
		if n.Op == ir.OpAdd && len(n.Result().Name()) > 4 {
			list = append(list, mutant{"summand", fmt.Sprintf("readers of %v read its first operand", n), func(m *ir.Module) { dropSummand(m.Funcs[0], i) }})
		}
	}
	for i, w := range m.Weights {
		if w.Expr.Op == ir.ExprRows || w.Expr.Op == ir.ExprColumns {
			whole := before.Weight(w.Name[:strings.IndexByte(w.Name, '@')])
			limit, _ := whole.Type.Shape[whole.Divide.Axis].IsConst()
			for _, by := range []int64{-1, 1} {
				list = append(list, mutant{"weight", fmt.Sprintf("%q is moved by %d", w.Name, by), func(m *ir.Module) {
					e := m.Weights[i].Expr
					if e.First+by >= 0 && e.First+e.Count+by <= limit {
						e.First += by
					}
				}})
			}
		}
	}
	for i, r := range f.Results {
		for j, n := range f.Nodes {
			if v := n.Result(); v != r && v.Type.Equal(r.Type) {
				list = append(list, mutant{"result", fmt.Sprintf("%v is returned in place of %v", v, r), func(m *ir.Module) {
					m.Funcs[0].Results[i] = m.Funcs[0].Nodes[j].Result()
				}})
			}
		}
	}
	return list
}

// dropSummand makes all readers of an addition read its first operand.
func dropSummand(f *ir.Func, i int) {
	n := f.Nodes[i]
	for _, r := range f.Nodes[i+1:] {
		for k, a := range r.Args {
			if a == n.Result() {
				r.Args[k] = n.Args[0]
			}
		}
	}
	f.Results = slices.Clone(f.Results)
	for k, r := range f.Results {
		if r == n.Result() {
			f.Results[k] = n.Args[0]
		}
	}
}
