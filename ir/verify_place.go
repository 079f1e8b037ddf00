package ir

// Checks of a module that is placed: arenas and addresses.

// placed checks the arenas, and that each value that owns bytes has an address in an arena of its space.
func (v *verifier) placed() {
	v.arenas()
	for _, w := range v.m.Weights {
		v.node = w
		v.member(w.Type, w.Place, ClassWeights)
	}
	for _, s := range v.m.States {
		v.node = s
		v.member(s.Type, s.Place, ClassState)
	}
	for _, f := range v.m.AllFuncs() {
		v.f = f
		v.paramsPlaced()
		for _, n := range f.Nodes {
			v.resultsPlaced(n)
		}
	}
	v.f, v.node = nil, nil
}

// arenas checks the sizes of the plan and of its arenas.
func (v *verifier) arenas() {
	n, steps := v.m.Plan.Threads, v.m.Plan.Pipeline
	v.node = "plan"
	v.must(0 <= steps && steps <= MaxPipeline, "plan", "pipeline=%d: at most %d steps may be under way", steps, MaxPipeline)
	v.must(0 <= n && n <= MaxThreads, "plan", "threads=%d: a program has at most %d workers", n, MaxThreads)
	for i := range v.m.Plan.Arenas {
		a := &v.m.Plan.Arenas[i]
		v.node = a
		v.must(a.Align > 0, "arena", "the alignment %d is not positive", a.Align)
		v.must(a.Bound <= a.Bytes(), "arena", "%d bytes are below the bound %d", a.Bytes(), a.Bound)
		for _, c := range a.Chunks {
			v.must(c >= 0, "arena", "a chunk of %d bytes", c)
		}
	}
}

// member checks the address of a weight or state.
func (v *verifier) member(t Type, p *Place, class Class) {
	if !v.must(p != nil, "placed", "has no address") || !v.within(t, p) {
		return
	}
	got := v.m.Plan.Arenas[p.Arena].Class
	v.must(got == class, "placed", "is among the %v, not the %v", got, class)
}

// paramsPlaced checks the addresses of the current function's parameters. A parameter of a body may have
// none: it has the address of the operand.
func (v *verifier) paramsPlaced() {
	for _, p := range v.f.Params {
		v.node = p
		if p.Place != nil || v.f.Owner == nil {
			v.owner(p)
		}
	}
}

// resultsPlaced checks the addresses of a node's results.
func (v *verifier) resultsPlaced(n *Node) {
	for _, r := range n.Results {
		v.node = r
		switch {
		case n.Op == OpWeight, n.Op == OpState, r.Source() != nil:
			v.must(r.Place == nil, "placed", "has an address of its own, but not bytes of its own")
		default:
			v.owner(r)
		}
	}
}

// owner checks the address of a value that owns its bytes, and that its instances are in one chunk.
func (v *verifier) owner(val *Value) {
	if !v.must(val.Place != nil, "placed", "has no address") || !v.within(val.Type, val.Place) {
		return
	}
	if n := int64(val.Slots()); n > 1 {
		a := &v.m.Plan.Arenas[val.Place.Arena]
		end := val.Place.Offset + (n-1)*a.Stride(val.Place) + val.Place.Bytes
		v.must(end <= a.Chunks[val.Place.Chunk], "placed", "%d instances at %v end outside their chunk", n, val.Place)
	}
}

// within checks that a value of type t at p is within its chunk, aligned, in its space. It reports
// whether chunk and space are right.
func (v *verifier) within(t Type, p *Place) bool {
	arenas := v.m.Plan.Arenas
	if p.Arena < 0 || p.Arena >= len(arenas) {
		v.fail("placed", "arena %d of %d", p.Arena, len(arenas))
		return false
	}
	a := &arenas[p.Arena]
	if p.Chunk < 0 || p.Chunk >= len(a.Chunks) {
		v.fail("placed", "chunk %d of %d", p.Chunk, len(a.Chunks))
		return false
	}
	size := a.Chunks[p.Chunk]
	if p.Bytes < t.MaxBytes() {
		v.fail("placed", "%d bytes for a value of up to %d", p.Bytes, t.MaxBytes())
	}
	if p.Offset < 0 || p.Bytes < 0 || p.Offset > size-p.Bytes {
		v.fail("placed", "%v is outside its chunk of %d bytes", p, size)
	}
	if p.Offset%max(a.Align, 1) != 0 {
		v.fail("placed", "offset %d is no multiple of %d", p.Offset, a.Align)
	}
	if a.Space != t.Space {
		v.fail("placed", "is in space %q, its arena in %q", t.Space, a.Space)
	}
	return a.Space == t.Space
}
