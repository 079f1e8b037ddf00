package shard

import "github.com/ggmlc/ggmlc/ir"

// Part is what one device has of a value, in ggml's terms: dimensions and strides in bytes, the fastest first, and the
// offset in the value that it is a view of.
type Part struct {
	NE, NB [ggmlDims]int64
	Offset int64
}

// State returns the state of a value as its readers see it.
func (d *Division) State(v *ir.Value) ir.Sharding { return flip(d.byVal[v].state) }

// Partial reports whether the value is partial before the devices add up.
func (d *Division) Partial(v *ir.Value) bool { return d.byVal[v].own.Kind == ir.ShardPartial }

// Parts returns what each device has of a value.
func (d *Division) Parts(v *ir.Value) []Part {
	parts := make([]Part, d.Devices)
	for j := range parts {
		parts[j] = d.byVal[v].part(j)
	}
	return parts
}

// part returns what device j has of t. Strides above that of the split dimension shrink with it.
func (t *tensor) part(j int) Part {
	p := Part{NE: t.ne, NB: t.nb, Offset: t.offset}
	if !t.state.IsSplit() {
		return p
	}
	axis, count := t.state.Axis, t.state.Count(j)
	p.NE[axis] = count
	for i, nb := range t.nb {
		if nb > t.nb[axis] {
			p.NB[i] = nb * count / t.ne[axis]
		}
	}
	if t.offset > 0 && !t.offsetInside() {
		p.Offset = t.offset * count / t.ne[axis]
	}
	return p
}

// offsetInside reports whether ggml takes the offset of a split view for one inside of each device's part. Other
// offsets shrink as the part does.
func (t *tensor) offsetInside() bool {
	if t.offset <= t.viewOf.nb[t.viewOf.state.Axis] {
		return true
	}
	for i, n := range t.ne {
		if size := n * t.nb[i]; t.offset <= size && size < t.nb[t.state.Axis] {
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
				d.Off = append(d.Off, [2]int{t.pos, j})
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
