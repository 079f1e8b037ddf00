package check_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestUnprovableUnitsGetBarriers: where the proof cannot tell which units bytes belong to, as a stride or
// an offset is a multiple of the units' period by a symbol, the plan has a barrier.
func TestUnprovableUnitsGetBarriers(t *testing.T) {
	for name, text := range map[string]string{
		"the last row of a square": `symbol n 2 9
func @f(%q: f32[n,16]) -> (y: f32[1,n]) {
  %a = matmul %q, %q : f32[n,n]
  %s = slice %a {axis=0, start=n-1, len=1} : f32[1,n]
  return %s
}`,
		"squares": `symbol n 1 2
func @f(%v: f32[2,n,1], %q: f32[n,1]) -> (y: f32[2,n,n]) {
  %a = matmul %v, %q : f32[2,n,n]
  %b = relu %a : f32[2,n,n]
  return %b
}`,
		"the matrix at a symbol": `symbol n 1 9
func @f(%v: f32[16,4,n]) -> (y: f32[1,4,n]) {
  %a = neg %v : f32[16,4,n]
  %s = slice %a {axis=0, start=n, len=1} : f32[1,4,n]
  return %s
}`,
		"permuted": `symbol n 1 4
func @f(%x: f32[n+1,2*n+1,3]) -> (y: f32[3,n+1,2*n+1]) {
  %a = relu %x : f32[n+1,2*n+1,3]
  %p = permute %a {perm=[2,0,1]} : f32[3,n+1,2*n+1 strides 1,6*n+3,3]
  %b = silu %p : f32[3,n+1,2*n+1]
  return %b
}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ir.Parse("test", []byte("ggir 1\nmodule \"t\"\nafter import\nprops imported,shaped\n"+text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			proved(t, m)
		})
	}
}

// proved plans a module for the cpu and proves the plan.
func proved(t *testing.T, m *ir.Module) {
	t.Helper()
	targets := parseTargets(t, onlyCPU)
	err := planned(m, targets)
	if err == nil {
		err = checked(m, targets)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestRandomSymbolicPlansAreProved proves plans of modules whose extents are sums and products of symbols.
func TestRandomSymbolicPlansAreProved(t *testing.T) {
	seeds, refused := uint64(1500), 0
	if testing.Short() {
		seeds = 300
	}
	kinds := []*target.List{parseTargets(t, onlyCPU), parseTargets(t, "target cpu like=cpu barrier=1e-2\n")}
	for seed := range seeds {
		targets := kinds[seed%2]
		m, err := newSymbolic(seed).module()
		if err != nil {
			refused++ // too large
			continue
		}
		text := m.String()
		if err = planned(m, targets); err == nil {
			err = checked(m, targets)
		}
		switch {
		case errors.Is(err, errRefused):
			refused++
		case err != nil:
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
	}
	if refused > int(seeds)/5 {
		t.Errorf("%d of %d modules were refused", refused, seeds)
	}
}

// symbolic makes a random module whose extents are symbolic.
type symbolic struct {
	r       *rand.Rand
	b       *ir.Builder
	f       *ir.FuncBuilder
	extents []ir.Dim
	params  int
}

func newSymbolic(seed uint64) *symbolic {
	g := &symbolic{r: rand.New(rand.NewPCG(seed, 11)), b: ir.NewBuilder("symbolic")}
	most := func() int64 { return []int64{2, 4, 40, 300}[g.r.IntN(4)] }
	n, k := g.b.Symbol("n", 1, most()), g.b.Symbol("k", 1+g.r.Int64N(2), most())
	one := ir.Const(1)
	g.extents = []ir.Dim{n, n.Add(one), n.Add(n).Add(one), n.Mul(k), k, one, ir.Const(2), ir.Const(3), ir.Const(4), ir.Const(16), ir.Const(64)}
	g.f = g.b.Func("f")
	return g
}

// module returns a module of some random steps.
func (g *symbolic) module() (*ir.Module, error) {
	pool := []*ir.Value{g.param(g.shape(2 + g.r.IntN(3)))}
	for range 3 + g.r.IntN(5) {
		x := pool[max(g.r.IntN(len(pool)), g.r.IntN(len(pool)))]
		pool = append(pool, g.step(x))
	}
	g.f.Return("y", pool[len(pool)-1])
	g.f.Return("z", pool[g.r.IntN(len(pool))])
	return g.b.Finish()
}

func (g *symbolic) extent() ir.Dim { return g.extents[g.r.IntN(len(g.extents))] }

func (g *symbolic) shape(rank int) []ir.Dim {
	shape := make([]ir.Dim, rank)
	for i := range shape {
		shape[i] = g.extent()
	}
	return shape
}

func (g *symbolic) param(shape []ir.Dim) *ir.Value {
	g.params++
	return g.f.Param(fmt.Sprintf("x%d", g.params), ir.Type{DType: dtype.F32, Shape: shape})
}

// step adds a random node that reads x.
func (g *symbolic) step(x *ir.Value) *ir.Value {
	if x.Type.Rank() == 0 {
		return x // the builder has failed
	}
	switch rank := x.Type.Rank(); g.r.IntN(9) {
	case 0:
		return g.f.SiLU(x)
	case 1:
		return g.f.Neg(x)
	case 2:
		return g.f.Add(x, x)
	case 3:
		return g.f.Softmax(x)
	case 4:
		return g.f.Permute(x, g.r.Perm(rank)...)
	case 5:
		return g.f.MatMul(x, g.param([]ir.Dim{g.extent(), x.Type.Shape[rank-1]}))
	case 6:
		return g.merged(x)
	default:
		return g.slice(x)
	}
}

// merged makes the first two axes of x one, where nothing is between their elements.
func (g *symbolic) merged(x *ir.Value) *ir.Value {
	shape := x.Type.Shape
	if len(shape) < 3 || !x.Type.Dense() {
		return g.f.Tanh(x)
	}
	return g.f.Reshape(x, append([]ir.Dim{shape[0].Mul(shape[1])}, shape[2:]...)...)
}

// slice cuts an axis of x, if it has one that it may cut as it draws.
func (g *symbolic) slice(x *ir.Value) *ir.Value {
	axis := g.r.IntN(x.Type.Rank())
	n := x.Type.Shape[axis]
	start, length := g.extent().Sub(ir.Const(1)), g.extent()
	switch g.r.IntN(3) {
	case 0:
		start, length = n.Sub(ir.Const(1)), ir.Const(1)
	case 1:
		start = n.Sub(length)
	}
	least, _ := start.Bounds()
	if rest, _ := n.Sub(start).Sub(length).Bounds(); least < 0 || rest < 0 {
		return g.f.Copy(x)
	}
	return g.f.Slice(x, axis, start, length)
}
