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

// States returns the states of weights and states by name, for devices with these shares: those of the user's rules, and by
// their divisions for the rest. Others are mirrored.
func States(m *ir.Module, share []float64, rules []pass.ShardRule) (map[string]ir.Sharding, error) {
	leaves := leavesOf(m)
	asked, err := askedStates(leaves, share, rules)
	if err != nil {
		return nil, err
	}
	given := make(map[string]ir.Sharding)
	units, err := dividedUnits(leaves, share, asked)
	if err != nil {
		return nil, err
	}
	for _, l := range leaves {
		if s, ok := asked[l.name]; ok {
			given[l.name] = s
		} else if l.divide != nil && units[l.divide.Name] != nil {
			if s := l.split(units[l.divide.Name]); l.state || s.Axis < l.typ.Rank()-1 || inOneRun(s) {
				given[l.name] = s
			} // else every device has the whole bias, and takes the pieces of its segments
		}
	}
	return given, nil
}

// everyMember reports a share that is too small for any part of any weight, and a module of which nothing is divided.
func everyMember(g *pass.Group, share []float64, given map[string]ir.Sharding) error {
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
		return fmt.Errorf("group %s: the model states no weights that can be divided: name some with --shard REGEX=axis0", g.Name)
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

// dividedUnits returns for each dimension how many units each member has. A dimension of which blocks of weights cannot be
// cut between units is missing. So is one whose weights a rule of the user has given other states.
func dividedUnits(leaves []leaf, share []float64, asked map[string]ir.Sharding) (map[string][]int64, error) {
	granules, units := make(map[string]int64), make(map[string]int64)
	for _, l := range leaves {
		d := l.divide
		if _, fixed := asked[l.name]; d == nil || fixed {
			continue
		}
		if units[d.Name] != 0 && units[d.Name] != d.Units {
			return nil, fmt.Errorf("%q: is divided into %d units of %q, and others into %d", l.name, d.Units, d.Name, units[d.Name])
		}
		units[d.Name] = d.Units
		granules[d.Name] = lcm(max(granules[d.Name], 1), l.granule())
	}
	counts := make(map[string][]int64)
	for name, n := range units {
		if n%granules[name] != 0 {
			continue
		}
		c, err := Cut(n, share, granules[name], 0)
		if err != nil {
			return nil, err
		}
		counts[name] = c
	}
	return counts, nil
}

// granule returns the number of units that end at blocks of the weight.
func (l *leaf) granule() int64 {
	if l.divide.Axis != l.typ.Rank()-1 {
		return 1
	}
	g := int64(1)
	for _, size := range l.divide.Sizes {
		unit, block := size/l.divide.Units, int64(l.typ.DType.BlockElems())
		g = lcm(g, block/gcd(block, unit))
	}
	return g
}

// split returns the state in which members have so many units.
func (l *leaf) split(units []int64) ir.Sharding {
	s := ir.SplitOn(l.divide.Axis)
	for _, size := range l.divide.Sizes {
		counts := slices.Clone(units)
		for i := range counts {
			counts[i] *= size / l.divide.Units
		}
		s.Segments = append(s.Segments, ir.Segment{Times: 1, Counts: counts})
	}
	return s
}

// askedStates returns the states that the user's rules give.
func askedStates(leaves []leaf, share []float64, rules []pass.ShardRule) (map[string]ir.Sharding, error) {
	asked := make(map[string]ir.Sharding)
	used := make([]bool, len(rules))
	for _, l := range leaves {
		i := slices.IndexFunc(rules, func(r pass.ShardRule) bool { return r.Match.MatchString(l.name) })
		if i < 0 {
			continue
		}
		used[i] = true
		s, err := l.asked(rules[i].State, share)
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

// asked returns the state that a rule gives: the axis is divided at its units, if the model states them, and otherwise at
// blocks.
func (l *leaf) asked(state ir.Sharding, share []float64) (ir.Sharding, error) {
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
	if d := l.divide; d == nil || d.Axis != state.Axis {
		l = &leaf{l.name, l.typ, &ir.Division{Axis: state.Axis, Units: n, Sizes: []int64{n}}, l.state}
	}
	units, err := Cut(l.divide.Units, share, l.granule(), 0)
	return l.split(units), err
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }
