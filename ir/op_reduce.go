package ir

var (
	reduceSumInfo = func() OpInfo {
		info := reduction("reduce_sum", "y = Σ x", "", needRow)
		info.Ways = reduceSumWays
		return info
	}()
	reduceMeanInfo = reduction("reduce_mean", "y = Σ x / n", "n >= 1. ", needFullRow).linear([]int{0})
	reduceMaxInfo  = reduction("reduce_max", "y = max x; NaN where one is NaN", "n >= 1. ", needFullRow)
)

func reduction(name, formula, limit string, need func(n *Node) error) OpInfo {
	return OpInfo{
		Name:   name,
		Doc:    name + "(x[…,n] f32): " + formula + " over the innermost dimension, which stays with extent 1. " + limit + "Result f32[…,1], dense.",
		Args:   []Arg{{Name: "x", Kinds: Float}},
		Traits: Pure | Reduces,
		Infer: func(n *Node) (Type, error) {
			if err := need(n); err != nil {
				return Type{}, err
			}
			return denseF32(replaceInner(n.Args[0].Type.Shape, Const(1))), nil
		},
		Cost: func(n *Node) Cost {
			c := moved(n)
			c.FLOPs = n.Args[0].Type.Elems()
			return c
		},
		Axes:  rowAxes,
		Cases: unaryCases1,
		Tol:   summed,
	}
}
