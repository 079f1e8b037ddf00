package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// leaf is a weight or state of a module.
type leaf struct {
	name   string
	typ    ir.Type
	divide *ir.Division
	state  bool
}

func leavesOf(m *ir.Module) []leaf {
	var list []leaf
	for _, w := range m.Weights {
		list = append(list, leaf{w.Name, w.Type, w.Divide, false})
	}
	for _, s := range m.States {
		list = append(list, leaf{s.Name, s.Type, s.Divide, true})
	}
	return list
}

// States returns the states of weights and states by name, for devices with these shares: those of the user's rules,
// and by their divisions for the rest. Others are mirrored.
func States(m *ir.Module, share []float64, rules []pass.ShardRule) (map[string]ir.Sharding, error) {
	return statesIn(m, share, rules, nil)
}

// statesIn returns the states in a combination of ways. Blocks that it does not have are divided.
func statesIn(m *ir.Module, share []float64, rules []pass.ShardRule, ways combination) (map[string]ir.Sharding, error) {
	leaves := leavesOf(m)
	asked, err := askedStates(leaves, share, rules)
	if err != nil {
		return nil, err
	}
	dimensions, err := dimensionsOf(leaves, nil)
	if err != nil {
		return nil, err
	}
	for _, l := range leaves {
		if _, fixed := asked[l.name]; fixed || l.divide == nil {
			continue
		}
		switch ways[blockOf(l.divide)] {
		case WayMirrored:
			asked[l.name] = ir.Mirrored()
		case WayColumns:
			asked[l.name] = ir.Mirrored() // of a bias
			if l.typ.Rank() == 2 {
				if asked[l.name], err = l.asked(ir.SplitOn(1), share, dimensions); err != nil {
					return nil, err
				}
			}
		}
	}
	given := make(map[string]ir.Sharding)
	units, err := dividedUnits(leaves, share, asked)
	if err != nil {
		return nil, err
	}
	for _, l := range leaves {
		if s, ok := asked[l.name]; ok {
			given[l.name] = s
		} else if l.divide != nil && units[l.divide.Name] != nil && !haveOne(units[l.divide.Name]) {
			if s := l.split(units[l.divide.Name]); l.state || s.Axis < l.typ.Rank()-1 || inOneRun(s) {
				given[l.name] = s
			} // else every device has the whole bias, and takes the pieces of its segments
		}
	}
	return given, nil
}

// everyMember reports a share that is too small for any part of any weight, and a module of which nothing is divided.
func everyMember(m *ir.Module, g *pass.Group, pins []pass.Pin, share []float64, given map[string]ir.Sharding) error {
	split := false
	has := make([]bool, len(share))
	for _, s := range given {
		if s.IsSplit() {
			split = true
			for i, n := range s.Counts() {
				has[i] = has[i] || n > 0
			}
		}
	}
	if !split {
		if has = dividing(m, share); !slices.Contains(has, false) {
			if leaf, node := firstPinned(m, pins); leaf != "" {
				return fmt.Errorf("group %s: nothing is left to divide: %q is read by %s: pin less, or leave out --group", g.Name, leaf, node)
			}
			return fmt.Errorf("group %s: nothing is divided: neither the model nor --shard divides a weight: name some with --shard REGEX=axis0", g.Name)
		}
	}
	var errs []error
	for i, ok := range has {
		if !ok && share[i] > 0 {
			errs = append(errs, fmt.Errorf("group %s: the share %g of %s fits no head and no block of a weight: make it larger, or leave %s out",
				g.Name, share[i], g.Members[i], g.Members[i]))
		}
	}
	return errors.Join(errs...)
}

// severalShares reports a group of which one member alone has a share: nothing would be divided, and what is whole is
// computed by the first member.
func severalShares(g *pass.Group, share []float64) error {
	first := slices.IndexFunc(share, func(x float64) bool { return x > 0 })
	if first < 0 || slices.ContainsFunc(share[first+1:], func(x float64) bool { return x > 0 }) {
		return nil
	}
	return fmt.Errorf("group %s: %s alone has a share: give another member one, or name %s in --targets without a group",
		g.Name, g.Members[first], g.Members[first])
}

// dividing reports for each member whether it would have units of every dimension.
func dividing(m *ir.Module, share []float64) []bool {
	has := slices.Repeat([]bool{true}, len(share))
	counts, err := dividedUnits(leavesOf(m), share, nil)
	if err != nil {
		return has // States has reported it
	}
	for _, units := range counts {
		for i, n := range units {
			has[i] = has[i] && n > 0
		}
	}
	return has
}

// dividedUnits returns for each dimension how many units each member has. A dimension of which blocks of weights cannot
// be cut between units is missing.
func dividedUnits(leaves []leaf, share []float64, asked map[string]ir.Sharding) (map[string][]int64, error) {
	dimensions, err := dimensionsOf(leaves, asked)
	if err != nil {
		return nil, err
	}
	counts := make(map[string][]int64)
	for name, d := range dimensions {
		if d.units%d.granule != 0 {
			continue
		}
		if counts[name], err = d.cut(share); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// haveOne reports whether a single device has all units, as of heads that share a block. Every device computes them then.
func haveOne(units []int64) bool {
	with := 0
	for _, n := range units {
		if n > 0 {
			with++
		}
	}
	return with == 1
}

// dimensionsOf returns the divided dimensions of a model. A weight to which a rule of the user has given another state
// does not count.
func dimensionsOf(leaves []leaf, asked map[string]ir.Sharding) (map[string]*dimension, error) {
	dimensions := make(map[string]*dimension)
	for _, l := range leaves {
		d := l.divide
		if _, fixed := asked[l.name]; d == nil || fixed {
			continue
		}
		of := dimensions[d.Name]
		if of == nil {
			of = &dimension{units: d.Units, granule: 1}
			dimensions[d.Name] = of
		}
		if of.units != d.Units {
			return nil, fmt.Errorf("%q: is divided into %d units of %q, and others into %d", l.name, d.Units, d.Name, of.units)
		}
		of.add(&l)
	}
	return dimensions, nil
}

// granule returns the number of units that end at blocks of the weight.
func (l *leaf) granule() int64 {
	if l.divide.Axis != l.typ.Rank()-1 {
		return 1
	}
	g := int64(1)
	for i, size := range l.divide.Sizes {
		pieces := l.divide.PiecesOf(i)
		if block := int64(l.typ.DType.BlockElems()); size/pieces%block != 0 {
			g = lcm(g, l.divide.Units/pieces*(block/gcd(block, size/pieces)))
		}
	}
	return g
}

// split returns the state in which members have so many units, with the pieces that these need.
func (l *leaf) split(units []int64) ir.Sharding {
	s := ir.SplitOn(l.divide.Axis)
	for i, size := range l.divide.Sizes {
		pieces := l.divide.PiecesOf(i)
		shared := l.divide.Units / pieces // units that need one piece
		starts, counts, at := make([]int64, len(units)), make([]int64, len(units)), int64(0)
		for j, n := range units {
			if n > 0 {
				first := at / shared
				starts[j], counts[j] = first*(size/pieces), ((at+n-1)/shared+1-first)*(size/pieces)
			}
			at += n
		}
		s.Segments = append(s.Segments, ir.SegmentAt(starts, counts))
	}
	return s.Normal()
}

// askedStates returns the states that the user's rules give.
func askedStates(leaves []leaf, share []float64, rules []pass.ShardRule) (map[string]ir.Sharding, error) {
	dimensions, err := dimensionsOf(leaves, nil)
	if err != nil {
		return nil, err
	}
	asked := make(map[string]ir.Sharding)
	used := make([]bool, len(rules))
	for _, l := range leaves {
		i := slices.IndexFunc(rules, func(r pass.ShardRule) bool { return r.Match.MatchString(l.name) })
		if i < 0 {
			continue
		}
		used[i] = true
		if rules[i].Cost {
			continue
		}
		s, err := l.asked(rules[i].State, share, dimensions)
		if err != nil {
			return nil, fmt.Errorf("--shard %v: %q, %v: %w", rules[i], l.name, l.typ, err)
		}
		asked[l.name] = s
	}
	for i, ok := range used {
		if !ok {
			return nil, fmt.Errorf("--shard %v: it matches the name of no weight and no state that an earlier rule leaves: ggmlc inspect shows them", rules[i])
		}
	}
	return asked, nil
}

// asked returns the state that a rule gives: the axis is divided at its units, if the model states them, and otherwise
// at blocks.
func (l *leaf) asked(state ir.Sharding, share []float64, dimensions map[string]*dimension) (ir.Sharding, error) {
	if !state.IsSplit() {
		return state, nil
	}
	if state.Axis >= l.typ.Rank() {
		return state, fmt.Errorf("has no axis %d: there are %d", state.Axis, l.typ.Rank())
	}
	n, isConst := l.typ.Shape[state.Axis].IsConst()
	if !isConst {
		return state, fmt.Errorf("the axis %d has no constant extent", state.Axis)
	}
	if n == 0 {
		return state, fmt.Errorf("the axis %d has no elements", state.Axis)
	}
	var d dimension
	if l.divide != nil && l.divide.Axis == state.Axis {
		d = *dimensions[l.divide.Name]
		d.granule = l.granule()
	} else {
		l = &leaf{l.name, l.typ, &ir.Division{Axis: state.Axis, Units: n, Sizes: []int64{n}}, l.state}
		d = dimension{units: n, granule: l.granule()}
	}
	units, err := d.cut(share)
	return l.split(units), err
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }
