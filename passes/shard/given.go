package shard

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// checkGiven reports states that name nothing, or do not fit.
func checkGiven(m *ir.Module, devices int, given map[string]ir.Sharding) error {
	types := make(map[string]ir.Type)
	for _, w := range m.Weights {
		types[w.Name] = w.Type
	}
	for _, s := range m.States {
		types[s.Name] = s.Type
	}
	for name, s := range given {
		t, ok := types[name]
		if !ok {
			return fmt.Errorf("%q is given a state and is no weight or state of the module", name)
		}
		if err := checkSharding(s, t, devices); err != nil {
			return fmt.Errorf("%q, %v: the state %v %w", name, t, s, err)
		}
		if m.Weight(name) != nil && s.IsSplit() && s.Axis == t.Rank()-1 && !inOneRun(s) {
			return fmt.Errorf("%q, %v: the state %v has separate pieces of rows on a device, which weights cannot: give each device one", name, t, s)
		}
	}
	return nil
}

// checkSharding reports a state that a type cannot have on so many devices.
func checkSharding(s ir.Sharding, t ir.Type, devices int) error {
	if s.Kind == ir.ShardHeld {
		if n := len(s.Counts()); n != devices {
			return fmt.Errorf("has %d parts for %d devices", n, devices)
		}
		return nil
	}
	if !s.IsSplit() {
		if s.Kind != ir.ShardMirrored {
			return fmt.Errorf("cannot be given: split it or mirror it")
		}
		return nil
	}
	if s.Axis < 0 || s.Axis >= t.Rank() {
		return fmt.Errorf("has no such axis: there are %d", t.Rank())
	}
	block := int64(1)
	if s.Axis == t.Rank()-1 {
		block = int64(t.DType.BlockElems())
	}
	sum := int64(0)
	for _, seg := range s.Segments {
		if len(seg.Counts) != devices || seg.Starts != nil && len(seg.Starts) != devices {
			return fmt.Errorf("has %d parts for %d devices", len(seg.Counts), devices)
		}
		for _, n := range seg.Counts {
			if n < 0 || n%block != 0 {
				return fmt.Errorf("cuts blocks of %d elements", block)
			}
		}
		for _, n := range seg.Starts {
			if n < 0 || n%block != 0 {
				return fmt.Errorf("cuts blocks of %d elements", block)
			}
		}
		sum += seg.Times * seg.Len()
	}
	if !t.Shape[s.Axis].Is(sum) {
		return fmt.Errorf("has %d elements of %v", sum, t.Shape[s.Axis])
	}
	return nil
}
