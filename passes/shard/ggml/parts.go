package ggml

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// at returns the tensor of a value.
func (d *Division) at(v *ir.Value) *tensor { return d.of(d.graph.Of[v]) }

// State returns the state of a value as its readers see it.
func (d *Division) State(v *ir.Value) ir.Sharding { return foreign.Flip(d.at(v).state) }

// Partial reports whether the value is partial before the devices add up.
func (d *Division) Partial(v *ir.Value) bool { return d.at(v).own.Kind == ir.ShardPartial }

// Parts returns what each device has of a value.
func (d *Division) Parts(v *ir.Value) []foreign.Part {
	parts := make([]foreign.Part, d.Devices)
	for j := range parts {
		parts[j] = d.at(v).part(j)
	}
	return parts
}

// part returns what device j has of t. Strides above that of the split dimension shrink with it.
func (t *tensor) part(j int) foreign.Part {
	p := foreign.Part{NE: t.NE, NB: t.NB, Offset: t.Offset}
	if !t.state.IsSplit() {
		return p
	}
	axis, count := t.state.Axis, t.state.Count(j)
	p.NE[axis] = count
	for i, nb := range t.NB {
		if nb > t.NB[axis] {
			p.NB[i] = nb * count / t.NE[axis]
		}
	}
	if t.Offset > 0 && !t.offsetInside() {
		p.Offset = t.Offset * count / t.NE[axis]
	}
	return p
}

// offsetInside reports whether ggml takes the offset of a split view for one inside of each device's part. Other
// offsets shrink as the part does.
func (t *tensor) offsetInside() bool {
	if t.Offset <= t.ViewOf.NB[t.d.of(t.ViewOf).state.Axis] {
		return true
	}
	for i, n := range t.NE {
		if size := n * t.NB[i]; t.Offset <= size && size < t.NB[t.state.Axis] {
			return true
		}
	}
	return false
}

// off finds the nodes that devices skip, as they have nothing of a source.
func (d *Division) off() {
	for _, t := range d.nodes {
		for j := range d.Devices {
			if t.skips(j) {
				d.Off = append(d.Off, [2]int{t.Pos, j})
			}
		}
	}
}

// skips reports whether device j has nothing of a split source.
func (t *tensor) skips(j int) bool {
	for _, s := range t.sources() {
		if s.state.IsSplit() && s.state.Count(j) == 0 {
			return true
		}
	}
	return false
}

// Skips returns Off. Sums returns Reduce. Package passes/check/group reads them.
func (d *Division) Skips() [][2]int { return d.Off }

// Sums returns Reduce.
func (d *Division) Sums() []*ir.Value { return d.Reduce }
