package partition

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// classTest makes nodes and their classes.
type classTest struct {
	f *ir.FuncBuilder
	x *ir.Value
}

func newClassTest() *classTest {
	f := ir.NewBuilder("m").Func("f")
	return &classTest{f, f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(1, 64)})}
}

func (t *classTest) node() *ir.Node { return t.f.Neg(t.x).Def }

func alone(n *ir.Node, granule int64) *class {
	return aloneClass(n, &ir.Axis{Axis: 1, Granule: granule}, flow.Effort{})
}

func TestGranulesOfAClassKeepTheirRatios(t *testing.T) {
	b := newClassTest()
	x, y, z := b.node(), b.node(), b.node()
	xy := joinClasses(alone(x, 16), x, alone(y, 3), y, flow.Rational{Num: 1, Den: 4})
	if xy.granule(x) != 48 || xy.granule(y) != 12 {
		t.Fatalf("granules %d and %d, want 48 and 12", xy.granule(x), xy.granule(y))
	}
	all := joinClasses(xy, y, alone(z, 8), z, flow.Rational{Num: 1, Den: 3})
	if all.granule(x) != 96 || all.granule(y) != 24 || all.granule(z) != 8 || all.units() != 1 {
		t.Errorf("granules %d, %d, %d and %d units, want 96, 24, 8 and 1", all.granule(x), all.granule(y), all.granule(z), all.units())
	}
	if !all.hasRatio(x, z, flow.Rational{Num: 1, Den: 12}) {
		t.Error("the ratio of the first to the last member is not the product of the ratios between")
	}
	if all.hasRatio(x, z, flow.Rational{Num: 1, Den: 6}) {
		t.Error("two members have two ratios")
	}
	if got := all.enlarge(z, 16).granule(x); got != 192 {
		t.Errorf("the first granule is %d after the last one doubled, want 192", got)
	}
}

// TestClassOfHeads is the example of class: products and rope grow to whole heads, then to the groups of attention.
func TestClassOfHeads(t *testing.T) {
	b := newClassTest()
	q, r, a := b.node(), b.node(), b.node()
	perHead := flow.Rational{Num: 1, Den: 64}
	heads := joinClasses(alone(q, 16), q, alone(r, 1), r, perHead)
	if heads.granule(q) != 64 || heads.granule(r) != 1 {
		t.Errorf("granules %d and %d, want 64 columns and 1 head", heads.granule(q), heads.granule(r))
	}
	groups := joinClasses(heads, q, alone(a, 4), a, perHead)
	if groups.granule(q) != 256 || groups.granule(r) != 4 || groups.granule(a) != 4 {
		t.Errorf("granules %d, %d and %d, want 256 columns, 4 heads and 4 heads", groups.granule(q), groups.granule(r), groups.granule(a))
	}
}
