package ir

import "testing"

func TestSameUnitsNeedEqualCountsForAllSizes(t *testing.T) {
	n := Sym(&Symbol{Name: "n", Min: 1, Max: 100})
	part := func(n Dim, granule int64) Partition { return Partition{Mode: PartSplit, N: n, Granule: granule} }
	for _, tt := range []struct {
		name string
		p, q Partition
		want bool
	}{
		{"equal", part(Const(100), 16), part(Const(100), 16), true},
		{"columns and heads", part(Const(2048), 64), part(Const(32), 1), true},
		{"of a symbol", part(n.Mul(Const(64)), 128), part(n, 2), true},
		{"other lengths", part(Const(2048), 64), part(Const(512), 64), false},
		{"fewer heads", part(Const(2048), 64), part(Const(8), 1), false},
		{"as many units, of which the last is larger in one", part(Const(2048), 64), part(Const(63), 2), false},
		{"granules without a whole ratio", part(Const(96), 3), part(Const(64), 2), false},
		{"a product that overflows", part(Const(1<<40), 1), part(Const(0), 1<<48), false},
		{"not divided", Partition{Mode: PartOne}, part(Const(32), 1), false},
	} {
		if tt.p.SameUnits(tt.q) != tt.want || tt.q.SameUnits(tt.p) != tt.want {
			t.Errorf("%s: want %t", tt.name, tt.want)
		}
	}
}
