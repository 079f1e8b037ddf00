package ir

import "sync"

// share is how many nodes are worth a goroutine.
const share = 2048

// later has what shows of a node alone looked at by another goroutine, together with many
// others. Rules run only on a node that has shown no violation since before.
func (v *verifier) later(n *Node, before int) {
	if v.hasty {
		before = 0 // what is found elsewhere is enough
	}
	if len(v.found) > before || n.Func != v.f || !v.hasty && v.m.Props&PropShaped == 0 {
		return
	}
	if v.sound = append(v.sound, n); len(v.sound) == share {
		v.beside.begin(v.part(v.sound), (*verifier).alone)
		v.sound = make([]*Node, 0, share)
	}
}

// part returns a verifier that looks at some nodes of the same module.
func (v *verifier) part(nodes []*Node) *verifier {
	return &verifier{m: v.m, symbols: v.symbols, sound: nodes, hasty: v.hasty, knowsWeights: v.knowsWeights}
}

// alone checks nodes each by itself: whether the types of results are what the rule says. In
// haste it checks all that shows of a node without the others, so that each is visited less
// often: what it has is mostly not in a cache.
func (v *verifier) alone() {
	for _, n := range v.sound {
		v.f, v.node = n.Func, n
		if v.hasty && !v.sane(n) {
			return // all is looked at again
		}
		if v.m.Props&PropShaped != 0 {
			v.inferred(n)
		}
		if v.hasty {
			v.chosen(n)
			v.addresses(n)
		}
	}
}

// addresses checks where the results of a node lie, if there is a plan.
func (v *verifier) addresses(n *Node) {
	if v.m.Props&PropPlaced != 0 && v.m.Plan != nil {
		v.results(n)
	}
}

// sane reports whether operands, attributes and the types of results can be.
func (v *verifier) sane(n *Node) bool {
	v.operands(n)
	for _, r := range n.Results {
		v.typ(r.Type)
	}
	return len(v.found) == 0
}

// parts are what is checked while nodes are still visited.
type parts struct {
	all  []*verifier
	wait sync.WaitGroup
}

// begin runs a check beside whatever else is done.
func (ps *parts) begin(p *verifier, check func(*verifier)) {
	ps.all = append(ps.all, p)
	ps.wait.Go(func() { p.guarded(check) })
}

// finish checks the last nodes and adds what was found, in the order of the nodes.
func (ps *parts) finish(v *verifier) {
	last := v.part(v.sound)
	last.alone()
	ps.wait.Wait()
	v.take(append(ps.all, last))
}

// guarded runs a check in a goroutine; take panics where that did, as who called Verify may
// want to say more of it.
func (v *verifier) guarded(check func(*verifier)) {
	defer func() { v.panicked = recover() }()
	check(v)
}

// take adds what parts have found, in their order.
func (v *verifier) take(parts []*verifier) {
	for _, p := range parts {
		switch {
		case p.panicked == nil:
		case v.hasty: // what it met was found elsewhere, or it panics again
			v.fail("panic", "%v", p.panicked)
		default:
			panic(p.panicked)
		}
		v.found = append(v.found, p.found...)
	}
}
